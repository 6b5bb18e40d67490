#include "base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

namespace pesuite {

std::string element_name(const Json& element, std::size_t number) {
  for (const char* key : {"id", "expr", "task", "name"})
    if (element.is_object() && element.contains(key) && element[key].is_string())
      return element[key].get<std::string>();
  return std::to_string(number);
}

std::vector<std::string> element_names(const Json& array) {
  std::vector<std::string> out;
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::string name = element_name(array[i], i);
    const int before = seen[name]++;
    out.push_back(before == 0 ? name : fmt::format("{}#{}", name, before + 1));
  }
  return out;
}

bool is_array_of_tables(const Json& j) {
  return j.is_array() && !j.empty() &&
         std::all_of(j.begin(), j.end(), [](const Json& e) { return e.is_object(); });
}

std::string joined_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

namespace {

// TOML to JSON, noting where each value stands.
class Converter {
 public:
  Converter(const std::string& file, bool origins, Toml& out)
      : file_(file), origins_(origins), out_(out) {}

  Json convert(const toml::node& node, const std::string& path) {
    if (origins_) out_.origins[path] = place(node.source().begin);
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
        const std::string inner = origins_ ? joined_path(path, name) : "";
        j[name] = convert(*table->get(key->str()), inner);
        // an unknown key is better pointed at than its value
        if (origins_ && key->source().begin.line > 0)
          out_.origins[inner] = place(key->source().begin);
      }
      return j;
    }
    if (const auto* array = node.as_array()) {
      Json j = Json::array();
      for (const toml::node& element : *array)
        j.push_back(convert(element, origins_ ? fmt::format("{}.#{}", path, j.size()) : ""));
      if (origins_ && is_array_of_tables(j)) rename_elements(j, path);
      return j;
    }
    if (const auto* v = node.as_string()) return v->get();
    if (const auto* v = node.as_integer()) return v->get();
    if (const auto* v = node.as_floating_point()) return v->get();
    if (const auto* v = node.as_boolean()) return v->get();
    const std::string what = origins_ ? fmt::format("'{}'", path) : "this";
    out_.problems.push_back(
        {place(node.source().begin), what + " is a date, which means nothing here"});
    return nullptr;
  }

 private:
  std::string place(const toml::source_position& at) const {
    return fmt::format("{}:{}:{}", file_, at.line, at.column);
  }
  // Origins of "task.#0.length" become those of "task.ledger.length".
  void rename_elements(const Json& array, const std::string& path) {
    const std::vector<std::string> names = element_names(array);
    for (std::size_t i = 0; i < array.size(); ++i) {
      const std::string from = fmt::format("{}.#{}", path, i);
      const std::string to = joined_path(path, names[i]);
      std::vector<std::pair<std::string, std::string>> moved;
      for (auto it = out_.origins.lower_bound(from);
           it != out_.origins.end() && it->first.starts_with(from);) {
        if (it->first.size() == from.size() || it->first[from.size()] == '.') {
          moved.emplace_back(to + it->first.substr(from.size()), it->second);
          it = out_.origins.erase(it);
        } else {
          ++it;
        }
      }
      for (auto& [key, origin] : moved) out_.origins[key] = std::move(origin);
    }
  }

  const std::string& file_;
  bool origins_;
  Toml& out_;
};

}  // namespace

Toml parse_toml(std::string_view text, const std::string& name, bool origins) {
  Toml out;
  try {
    const toml::table table = toml::parse(text, name);
    out.root = Converter(name, origins, out).convert(table, "");
  } catch (const toml::parse_error& e) {
    const toml::source_position at = e.source().begin;
    out.problems.push_back(
        {fmt::format("{}:{}:{}", name, at.line, at.column), std::string(e.description())});
  }
  return out;
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

}  // namespace pesuite
