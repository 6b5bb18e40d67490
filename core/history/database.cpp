#include "history/database.h"

#include <cmath>
#include <limits>

#include "base/error.h"

#ifdef PESUITE_HAS_SQLITE
#include <sqlite3.h>
#endif

namespace pesuite {

#ifndef PESUITE_HAS_SQLITE

bool databases_are_built_in() {
  return false;
}
Database::Database(const fs::path&, Open) {
  fail(Exit::usage,
       "this needs SQLite, which this build does not have; install libsqlite3-dev (Debian) and "
       "build again");
}
Database::~Database() = default;
void Database::run(const std::string&) {}
Database::Statement::Statement(Database& d, const std::string&) : database_(d) {}
Database::Statement::~Statement() = default;
Database::Statement& Database::Statement::bind(std::string_view) {
  return *this;
}
Database::Statement& Database::Statement::bind(std::int64_t) {
  return *this;
}
Database::Statement& Database::Statement::bind(double) {
  return *this;
}
Database::Statement& Database::Statement::bind_null() {
  return *this;
}
bool Database::Statement::next() {
  return false;
}
void Database::Statement::done() {}
std::string Database::Statement::text(int) const {
  return {};
}
std::int64_t Database::Statement::integer(int) const {
  return 0;
}
double Database::Statement::real(int) const {
  return 0;
}

#else

namespace {

sqlite3* db(void* handle) {
  return static_cast<sqlite3*>(handle);
}
sqlite3_stmt* statement(void* handle) {
  return static_cast<sqlite3_stmt*>(handle);
}
constexpr int patience_ms = 30'000;  // while another process writes

}  // namespace

bool databases_are_built_in() {
  return true;
}

void Database::refuse(const std::string& what) const {
  fail(Exit::data, "{}: cannot {}: {}", file_.string(), what,
       handle_ != nullptr ? sqlite3_errmsg(db(handle_)) : "out of memory");
}

Database::Database(const fs::path& file, Open how) : file_(file) {
  if (how == Open::read && !fs::exists(file))
    fail(Exit::data, "there is no database {}", file.string());
  std::error_code ignored;
  if (how == Open::create && file.has_parent_path())
    fs::create_directories(file.parent_path(), ignored);
  sqlite3* opened = nullptr;
  const int flags =
      how == Open::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  handle_ = opened;
  if (code != SQLITE_OK) {
    const std::string why = opened != nullptr ? sqlite3_errmsg(opened) : "out of memory";
    sqlite3_close(opened);
    fail(Exit::data, "cannot open the database {}: {}", file.string(), why);
  }
  sqlite3_busy_timeout(opened, patience_ms);
}

Database::~Database() {
  sqlite3_close(db(handle_));
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(db(handle_), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    refuse("use the database");
}

Database::Statement::Statement(Database& d, const std::string& sql) : database_(d) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db(d.handle_), sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
    d.refuse("use the database");
  handle_ = made;
}
Database::Statement::~Statement() {
  sqlite3_finalize(statement(handle_));
}
Database::Statement& Database::Statement::bind(std::string_view text) {
  sqlite3_bind_text(statement(handle_), ++bound_, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}
Database::Statement& Database::Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(statement(handle_), ++bound_, number);
  return *this;
}
Database::Statement& Database::Statement::bind(double number) {
  if (!std::isfinite(number)) return bind_null();
  sqlite3_bind_double(statement(handle_), ++bound_, number);
  return *this;
}
Database::Statement& Database::Statement::bind_null() {
  sqlite3_bind_null(statement(handle_), ++bound_);
  return *this;
}
bool Database::Statement::next() {
  const int code = sqlite3_step(statement(handle_));
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.refuse("read or write");
  return code == SQLITE_ROW;
}
void Database::Statement::done() {
  while (next()) {
  }
  sqlite3_reset(statement(handle_));
  bound_ = 0;
}
std::string Database::Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement(handle_), column);
  return bytes != nullptr ? reinterpret_cast<const char*>(bytes) : "";
}
std::int64_t Database::Statement::integer(int column) const {
  return sqlite3_column_int64(statement(handle_), column);
}
double Database::Statement::real(int column) const {
  if (sqlite3_column_type(statement(handle_), column) == SQLITE_NULL)
    return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement(handle_), column);
}

#endif

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {  // the database says so again where it matters
  }
}
void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace pesuite
