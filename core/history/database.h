// SQLite, which may be missing from a build. The one place that knows its interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace pesuite {

bool databases_are_built_in();

class Database {
 public:
  enum class Open { read, create };  // create: also what is there already
  // Error (usage) without SQLite; (data) where the file is missing, damaged or no database.
  Database(const fs::path& file, Open);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  void run(const std::string& sql);  // without results

  class Statement {
   public:
    Statement(Database&, const std::string& sql);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    // Values for the question marks, in order; NaN and infinities become NULL.
    Statement& bind(std::string_view text);
    Statement& bind(std::int64_t number);
    Statement& bind(double number);
    Statement& bind_null();
    bool next();  // steps to the next row
    void done();  // runs it, and makes it ready for other values
    std::string text(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;  // NaN for NULL

   private:
    Database& database_;
    void* handle_ = nullptr;
    int bound_ = 0;
  };

 private:
  friend class Statement;
  [[noreturn]] void refuse(const std::string& what) const;
  fs::path file_;
  void* handle_ = nullptr;
};

// All that happens in its life is written at once by commit(), or not at all.
class Transaction {
 public:
  explicit Transaction(Database& d) : database_(d) { d.run("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace pesuite
