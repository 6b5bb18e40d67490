#include "suite/config.h"

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/file.h"

namespace pesuite {

void Problems::add(const std::string& where, const std::string& what, Exit code) {
  code_ = list_.empty() || code_ == code ? code : Exit::usage;
  std::string line = where.empty() ? what : where + ": " + what;
  if (std::find(list_.begin(), list_.end(), line) == list_.end()) list_.push_back(std::move(line));
}

void Problems::throw_if_any() const {
  if (list_.empty()) return;
  throw Error(code_, pesuite::join(list_, "\n"));
}

std::string element_name(const Json& element, std::size_t number) {
  for (const char* key : {"id", "expr", "task", "name"})
    if (element.is_object() && element.contains(key) && element[key].is_string())
      return element[key].get<std::string>();
  return std::to_string(number);
}

namespace {

bool is_array_of_tables(const Json& j) {
  return j.is_array() && !j.empty() &&
         std::all_of(j.begin(), j.end(), [](const Json& e) { return e.is_object(); });
}

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// TOML to JSON, noting where each value stands.
class Converter {
 public:
  Converter(const std::string& file, std::map<std::string, std::string>& origins,
            Problems& problems)
      : file_(file), origins_(origins), problems_(problems) {}

  Json convert(const toml::node& node, const std::string& path) {
    const toml::source_position at = node.source().begin;
    origins_[path] = fmt::format("{}:{}:{}", file_, at.line, at.column);
    if (const auto* table = node.as_table()) {
      Json j = Json::object();
      std::vector<std::pair<toml::source_position, const toml::key*>> order;
      for (const auto& [key, value] : *table) order.emplace_back(value.source().begin, &key);
      // as written, so that tables and figures list things in the user's order
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
      });
      for (const auto& [position, key] : order) {
        const std::string name(key->str());
        j[name] = convert(*table->get(key->str()), joined(path, name));
        // an unknown key is better pointed at than its value
        const toml::source_position k = key->source().begin;
        if (k.line > 0)
          origins_[joined(path, name)] = fmt::format("{}:{}:{}", file_, k.line, k.column);
      }
      return j;
    }
    if (const auto* array = node.as_array()) {
      Json j = Json::array();
      for (const toml::node& element : *array)
        j.push_back(convert(element, fmt::format("{}.#{}", path, j.size())));
      if (is_array_of_tables(j)) rename_elements(j, path);
      return j;
    }
    if (const auto* v = node.as_string()) return v->get();
    if (const auto* v = node.as_integer()) return v->get();
    if (const auto* v = node.as_floating_point()) return v->get();
    if (const auto* v = node.as_boolean()) return v->get();
    problems_.add(origins_[path], fmt::format("'{}' is a date, which means nothing here", path));
    return nullptr;
  }

 private:
  // Origins of "task.#0.length" become those of "task.ledger.length".
  void rename_elements(const Json& array, const std::string& path) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      const std::string from = fmt::format("{}.#{}", path, i);
      const std::string to = joined(path, element_name(array[i], i));
      std::vector<std::pair<std::string, std::string>> moved;
      for (auto it = origins_.lower_bound(from);
           it != origins_.end() && it->first.starts_with(from);) {
        if (it->first.size() == from.size() || it->first[from.size()] == '.') {
          moved.emplace_back(to + it->first.substr(from.size()), it->second);
          it = origins_.erase(it);
        } else {
          ++it;
        }
      }
      for (auto& [key, origin] : moved) origins_[key] = std::move(origin);
    }
  }

  const std::string& file_;
  std::map<std::string, std::string>& origins_;
  Problems& problems_;
};

}  // namespace

Config Config::from_toml_text(std::string_view text, const std::string& name, Problems& problems) {
  Config c;
  try {
    const toml::table table = toml::parse(text, name);
    c.root_ = Converter(name, c.origins_, problems).convert(table, "");
  } catch (const toml::parse_error& e) {
    problems.add(fmt::format("{}:{}:{}", name, e.source().begin.line, e.source().begin.column),
                 std::string(e.description()));
  }
  return c;
}

Config Config::from_toml(const fs::path& file, Problems& problems) {
  return from_toml_text(read_file(file), file.string(), problems);
}

namespace {

toml::table to_table(const Json& j);
toml::array to_array(const Json& j) {
  toml::array a;
  for (const Json& e : j) {
    if (e.is_object())
      a.push_back(to_table(e));
    else if (e.is_array())
      a.push_back(to_array(e));
    else if (e.is_string())
      a.push_back(e.get<std::string>());
    else if (e.is_boolean())
      a.push_back(e.get<bool>());
    else if (e.is_number_integer())
      a.push_back(e.get<std::int64_t>());
    else if (e.is_number())
      a.push_back(e.get<double>());
  }
  return a;
}
toml::table to_table(const Json& j) {
  toml::table t;
  for (const auto& [key, e] : j.items()) {
    if (e.is_object())
      t.insert(key, to_table(e));
    else if (e.is_array())
      t.insert(key, to_array(e));
    else if (e.is_string())
      t.insert(key, e.get<std::string>());
    else if (e.is_boolean())
      t.insert(key, e.get<bool>());
    else if (e.is_number_integer())
      t.insert(key, e.get<std::int64_t>());
    else if (e.is_number())
      t.insert(key, e.get<double>());
  }
  return t;
}

}  // namespace

std::string to_toml(const Json& root) {
  std::ostringstream out;
  out << to_table(root) << "\n";
  return out.str();
}

std::string Config::origin(const std::string& path) const {
  for (std::string p = path;;) {  // the nearest known ancestor
    const auto it = origins_.find(p);
    if (it != origins_.end()) return it->second;
    const std::size_t dot = p.rfind('.');
    if (dot == std::string::npos) return "";
    p.resize(dot);
  }
}

namespace {

// What says the same under another name gives way to what is laid over it.
void displace(Json& train, const Json& over) {
  const auto optimizer_lr = [](const Json& j) {
    return j.contains("optimizer") && j["optimizer"].is_object() && j["optimizer"].contains("lr");
  };
  if (over.contains("steps")) train.erase("budget");
  if (over.contains("budget")) train.erase("steps");
  if (over.contains("lr") && optimizer_lr(train)) train["optimizer"].erase("lr");
  if (optimizer_lr(over)) train.erase("lr");
}

}  // namespace

void Config::merge_value(Json& target, const Json& value, const std::string& path,
                         const Config& over, const std::string& over_path, Problems& problems) {
  if (target.is_object() && value.is_object()) {
    if (path == "train" || path.ends_with(".train")) displace(target, value);
    for (const auto& [key, v] : value.items()) {
      if (!target.contains(key)) target[key] = nullptr;
      merge_value(target[key], v, joined(path, key), over, joined(over_path, key), problems);
    }
    return;
  }
  if (is_array_of_tables(target) && value.is_object()) {
    for (const auto& [key, v] : value.items()) {
      std::vector<std::string> names;
      std::size_t found = target.size();
      for (std::size_t i = 0; i < target.size(); ++i) {
        names.push_back(element_name(target[i], i));
        if (names.back() == key) found = i;
      }
      if (found == target.size()) {
        problems.add(over.origin(joined(over_path, key)),
                     fmt::format("there is no {} '{}'{}", path, key, did_you_mean(key, names)));
        continue;
      }
      merge_value(target[found], v, joined(path, key), over, joined(over_path, key), problems);
    }
    return;
  }
  target = value;
  for (const auto& [key, origin] : over.origins_)
    if (key == over_path || key.starts_with(over_path + "."))
      origins_[path + key.substr(over_path.size())] = origin;
}

void Config::merge(const Config& over, Problems& problems) {
  merge_value(root_, over.root_, "", over, "", problems);
}

Config Config::extract(const std::string& key) {
  Config c;
  if (!root_.contains(key)) return c;
  c.root_ = root_[key];
  root_.erase(key);
  for (const auto& [path, origin] : origins_)
    if (path.starts_with(key + ".")) c.origins_[path.substr(key.size() + 1)] = origin;
  return c;
}

void Config::set(const std::string& assignment, Problems& problems) {
  const std::size_t equals = assignment.find('=');
  const std::string path = trim(assignment.substr(0, equals));
  if (equals == std::string::npos || path.empty()) {
    problems.add("--set " + assignment, "wants KEY=VALUE, e.g. --set train.steps=100");
    return;
  }
  const std::string value = trim(assignment.substr(equals + 1));
  // a TOML value, or text for those who do not want to quote twice
  Problems ignored;
  const Config parsed = from_toml_text("v = " + value, "", ignored);
  Json v = ignored.empty() && parsed.root_.contains("v") ? parsed.root_["v"] : Json(value);
  Config over;
  const std::vector<std::string> keys = split(path, '.');
  for (auto it = keys.rbegin(); it != keys.rend(); ++it) v = Json{{*it, v}};
  over.root_ = v;
  std::string at;
  for (const std::string& key : keys) {
    at = joined(at, key);
    over.origins_[at] = "--set " + path;
  }
  merge(over, problems);
}

// ------------------------------------------------------------------------------------ Reader

const Json* Reader::find(const std::string& key) {
  known_.push_back(key);
  const auto it = table_.find(key);
  return it == table_.end() ? nullptr : &*it;
}

std::string Reader::where(const std::string& key) const {
  return config_.origin(join(key));
}
void Reader::problem(const std::string& key, const std::string& what) {
  problems_.add(where(key), fmt::format("'{}' {}", join(key), what));
}
void Reader::wrong_type(const std::string& key, const char* wanted) {
  problem(key, fmt::format("must be {}, not {}", wanted, table_[key].dump()));
}

std::string Reader::text(const std::string& key, const std::string& otherwise) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_string()) return j->get<std::string>();
  wrong_type(key, "a text");
  return otherwise;
}

bool Reader::flag(const std::string& key, bool otherwise) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_boolean()) return j->get<bool>();
  wrong_type(key, "true or false");
  return otherwise;
}

std::int64_t Reader::integer(const std::string& key, std::int64_t otherwise, std::int64_t low,
                             std::int64_t high) {
  const double x = number(key, static_cast<double>(otherwise), static_cast<double>(low),
                          static_cast<double>(high));
  if (x == std::floor(x)) return static_cast<std::int64_t>(x);
  wrong_type(key, "an integer");
  return otherwise;
}

double Reader::number(const std::string& key, double otherwise, double low, double high) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  double x = 0;
  if (j->is_number()) {
    x = j->get<double>();
  } else if (!j->is_string() || !parse_count(j->get<std::string>(), x)) {  // "2.4B"
    wrong_type(key, "a number");
    return otherwise;
  }
  if (x >= low && x <= high) return x;
  problem(key, fmt::format("is {}, outside {} .. {}", format_number(x), format_number(low),
                           format_number(high)));
  return otherwise;
}

std::size_t Reader::choice(const std::string& key, const std::vector<std::string>& names,
                           std::size_t otherwise) {
  const std::string t = text(key, names[otherwise]);
  const auto it = std::find(names.begin(), names.end(), t);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  problem(key, fmt::format("is '{}', which is none of {}{}", t, pesuite::join(names, ", "),
                           did_you_mean(t, names)));
  return otherwise;
}

std::vector<std::string> Reader::texts(const std::string& key,
                                       const std::vector<std::string>& otherwise) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_string()) return {j->get<std::string>()};
  std::vector<std::string> out;
  if (j->is_array())
    for (const Json& e : *j) {
      if (e.is_string())
        out.push_back(e.get<std::string>());
      else if (e.is_number())
        out.push_back(e.dump());
    }
  if (j->is_array() && out.size() == j->size()) return out;
  wrong_type(key, "a list of texts");
  return otherwise;
}

std::vector<double> Reader::numbers(const std::string& key, const std::vector<double>& otherwise) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_number()) return {j->get<double>()};
  if (j->is_array() &&
      std::all_of(j->begin(), j->end(), [](const Json& e) { return e.is_number(); }))
    return j->get<std::vector<double>>();
  wrong_type(key, "a list of numbers");
  return otherwise;
}

void Reader::table(const std::string& key, const std::function<void(Reader&)>& body) {
  const Json* j = find(key);
  if (j == nullptr) return;
  if (!j->is_object()) return wrong_type(key, "a table");
  Reader r(config_, *j, join(key), problems_);
  body(r);
  r.finish();
}

void Reader::tables(const std::string& key,
                    const std::function<void(Reader&, const std::string&)>& body) {
  const Json* j = find(key);
  if (j == nullptr || (j->is_array() && j->empty())) return;
  if (!is_array_of_tables(*j)) return wrong_type(key, "an array of tables, [[...]]");
  for (std::size_t i = 0; i < j->size(); ++i) {
    const std::string name = element_name((*j)[i], i);
    Reader r(config_, (*j)[i], joined(join(key), name), problems_);
    body(r, name);
    r.finish();
  }
}

void Reader::named_tables(const std::string& key,
                          const std::function<void(Reader&, const std::string&)>& body) {
  const Json* j = find(key);
  if (j == nullptr) return;
  if (!j->is_object()) return wrong_type(key, "a table of tables");
  for (const auto& [name, value] : j->items()) {
    if (!value.is_object()) {
      problems_.add(config_.origin(joined(join(key), name)),
                    fmt::format("'{}.{}' must be a table", join(key), name));
      continue;
    }
    Reader r(config_, value, joined(join(key), name), problems_);
    body(r, name);
    r.finish();
  }
}

void Reader::finish() {
  for (const auto& [key, value] : table_.items())
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      problems_.add(where(key),
                    fmt::format("unknown key '{}'{}", join(key), did_you_mean(key, known_)));
}

}  // namespace pesuite
