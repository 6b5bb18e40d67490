// Records as tables: CSV and SQLite.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "exports/exports.h"
#include "history/database.h"

namespace pesuite {

namespace {

const std::vector<std::string>& first_columns() {
  static const std::vector<std::string> all = {"run",
                                               "suite",
                                               "cell",
                                               "part",
                                               "series",
                                               "encoding.id",
                                               "model",
                                               "task",
                                               "seed",
                                               "split",
                                               "metric",
                                               "unit",
                                               "direction",
                                               "value",
                                               "status",
                                               "stderr",
                                               "low",
                                               "high",
                                               "chance",
                                               "n",
                                               "sum",
                                               "count",
                                               "step",
                                               "coords.train_len",
                                               "coords.eval_len",
                                               "coords.protocol"};
  return all;
}

void flatten(const Json& j, const std::string& prefix, std::map<std::string, Json>& out) {
  for (const auto& [key, value] : j.items()) {
    if (value.is_object())
      flatten(value, prefix + key + ".", out);
    else
      out[prefix + key] = value.is_array() ? Json(value.dump()) : value;
  }
}

struct Flat {
  std::vector<std::string> columns;
  std::vector<std::map<std::string, Json>> rows;
};

Flat flat(const std::vector<ExportedRun>& runs) {
  Flat out;
  out.columns = first_columns();
  std::set<std::string> more;
  for (const ExportedRun& run : runs)
    for (const Json& r : run.records) {
      out.rows.emplace_back();
      flatten(r, "", out.rows.back());
      out.rows.back()["run"] = run.name;
      for (const auto& [name, value] : out.rows.back()) more.insert(name);
    }
  for (const std::string& name : more)
    if (std::find(out.columns.begin(), out.columns.end(), name) == out.columns.end())
      out.columns.push_back(name);
  return out;
}

std::string plain(const Json& v) {
  return v.is_null() ? "" : v.is_string() ? v.get<std::string>() : v.dump();
}

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string records_csv(const std::vector<ExportedRun>& runs) {
  const Flat all = flat(runs);
  std::vector<std::vector<std::string>> rows = {all.columns};
  for (const auto& r : all.rows) {
    rows.emplace_back();
    for (const std::string& c : all.columns) {
      const auto it = r.find(c);
      rows.back().push_back(it == r.end() ? "" : plain(it->second));
    }
  }
  return csv_table(rows);
}

void records_sqlite(const std::vector<ExportedRun>& runs, const fs::path& file) {
  if (fs::exists(file))
    fail(Exit::usage, "{} is there already; remove it, or name another file", file.string());
  const Flat all = flat(runs);
  std::string columns, marks;
  for (const std::string& c : all.columns) {
    columns += (columns.empty() ? "" : ", ") + quoted(c);
    marks += marks.empty() ? "?" : ", ?";
  }
  Database db(file, Database::Open::create);
  Transaction whole(db);
  db.run("CREATE TABLE records (" + columns + ")");
  Database::Statement insert(db, "INSERT INTO records VALUES (" + marks + ")");
  for (const auto& r : all.rows) {
    for (const std::string& c : all.columns) {
      const auto it = r.find(c);
      const Json v = it == r.end() ? Json() : it->second;
      if (v.is_null())
        insert.bind_null();
      else if (v.is_number_integer())
        insert.bind(v.get<std::int64_t>());
      else if (v.is_number())
        insert.bind(v.get<double>());
      else
        insert.bind(plain(v));
    }
    insert.done();
  }
  db.run("CREATE INDEX by_metric ON records (metric, task, \"encoding.id\", seed)");
  whole.commit();
}

}  // namespace pesuite
