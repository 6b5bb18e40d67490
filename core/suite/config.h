// TOML with memory: values as JSON, and for each the file, line and column or the flag it came
// from. Problems are collected, so that a user sees all of a file's errors at once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toml.h"

namespace pesuite {

namespace fs = std::filesystem;

class Problems {
 public:
  void add(const std::string& where, const std::string& what,
           Exit code = Exit::usage);  // the same again changes nothing
  bool empty() const { return list_.empty(); }
  const std::vector<std::string>& list() const { return list_; }
  // Error with all of them, one a line; usage, unless all have another code.
  void throw_if_any() const;

 private:
  Exit code_ = Exit::done;
  std::vector<std::string> list_;
};

// A tree of values with origins. Paths join keys with dots: "train.optimizer.lr". Elements of an
// array of tables are named by their `id` (or what stands for it), else by their number.
class Config {
 public:
  static Config from_toml(const fs::path& file, Problems&);
  static Config from_toml_text(std::string_view text, const std::string& name, Problems&);

  const Json& root() const { return root_; }
  // "suites/x.toml:12:3", with " (profile ci)" behind it where a profile says so; a flag such as
  // "--set train.steps"; or "".
  std::string origin(const std::string& path) const;

  // Lays `over` on top: tables are merged, everything else is replaced. Where this has an array of
  // tables and `over` a table, its keys name elements by id.
  void merge(const Config& over, Problems&);
  // The subtree at a key of the root, as a config of its own; empty when there is none.
  Config extract(const std::string& key);
  // The value at a path of tables, which goes; null where there is none. Its origins stay.
  Json take(const std::string& path);
  // Puts for each element of the array of tables at a key of the root, or for each table in the
  // table there, others in its place, each with its name. They come from where it came.
  using Variants = std::vector<std::pair<std::string, Json>>;
  void spread(const std::string& key,
              const std::function<Variants(const std::string& name, const Json& element)>&);
  // "a.b=v" from the command line. v is a TOML value, else plain text.
  void set(const std::string& assignment, Problems&);
  // The same for a flag that stands for a key.
  void set(const std::string& path, const Json& value, const std::string& origin, Problems&);
  // Says more of where all of it comes from.
  void came_by(const std::string& how);

 private:
  void merge_value(Json& target, const Json& value, const std::string& path, const Config& over,
                   const std::string& over_path, Problems&);
  Json root_ = Json::object();
  std::map<std::string, std::string> origins_;
};

// A value as it was read, and where it came from.
struct ReadValue {
  std::string path;
  Json value;
  std::string origin;  // as Config::origin(), "default", or what stands for it, as "preset nano"
};

// Reads one table of a Config key by key; keys that were not read are reported as unknown when the
// reader is finished.
class Reader {
 public:
  Reader(const Config& config, const Json& table, std::string path, Problems& problems)
      : config_(config), table_(table), path_(std::move(path)), problems_(problems) {}

  bool has(const std::string& key) const { return table_.contains(key); }
  const Json* find(const std::string& key);  // marks it as known
  // Notes every value that is read, defaults among them, here and in the tables below.
  void note_into(std::vector<ReadValue>* notes) { notes_ = notes; }
  // What values come from that the table does not hold; "": they are not noted.
  void defaults_are(const std::string& origin) { otherwise_ = origin; }
  // Notes what is read by find() and has a default: call it where the table does not hold the key.
  void note_default(const std::string& key, const Json& value);
  // Takes such a note back, where another key says the same.
  void drop_default(const std::string& key);

  std::string text(const std::string& key, const std::string& otherwise);
  bool flag(const std::string& key, bool otherwise);
  std::int64_t integer(const std::string& key, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high);
  double number(const std::string& key, double otherwise, double low, double high);
  // One of `names`; its index.
  std::size_t choice(const std::string& key, const std::vector<std::string>& names,
                     std::size_t otherwise);
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& otherwise);
  std::vector<double> numbers(const std::string& key, const std::vector<double>& otherwise);
  // Calls body for the table at `key`, if there is one.
  void table(const std::string& key, const std::function<void(Reader&)>& body);
  // The same, but where there is no table all its keys have their defaults.
  void settings(const std::string& key, const std::function<void(Reader&)>& body);
  // Calls body for each element of the array of tables at `key`, with its name.
  void tables(const std::string& key,
              const std::function<void(Reader&, const std::string& name)>& body);
  // Calls body for each table in the table at `key`, with its key.
  void named_tables(const std::string& key,
                    const std::function<void(Reader&, const std::string& name)>& body);

  void problem(const std::string& key, const std::string& what);
  std::string where(const std::string& key) const;
  const Json& json() const { return table_; }
  const std::string& path() const { return path_; }
  // Reports keys that were not read, each with the nearest known name.
  void finish();

 private:
  std::string join(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void wrong_type(const std::string& key, const char* wanted);
  std::string read_text(const std::string& key, const std::string& otherwise);
  double read_number(const std::string& key, double otherwise, double low, double high);
  Reader inner(const Json& table, const std::string& path) const;

  const Config& config_;
  const Json& table_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string> known_;
  std::vector<ReadValue>* notes_ = nullptr;
  std::string otherwise_ = "default";
};

}  // namespace pesuite
