#include "base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cctype>

#include "base/text.h"

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

// The line of a key of so many parts, "a.b.c...", that what reads it would run out of stack; 0:
// none.
std::size_t line_of_endless_key(std::string_view text) {
  constexpr int most_parts = 100;
  std::size_t line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '"' || c == '\'') {  // a string, perhaps of several lines: dots in it separate nothing
      const std::size_t marks = text.substr(i, 3) == std::string(3, c) ? 3 : 1;
      for (i += marks; i < text.size() && text.substr(i, marks) != std::string(marks, c); ++i) {
        if (text[i] == '\n') ++line;
        if (c == '"' && text[i] == '\\') ++i;
      }
      i += marks - 1;
    } else if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '.') {
      if (++dots > most_parts) return line;
    } else if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return 0;
}

}  // namespace

Toml parse_toml(std::string_view text, const std::string& name, bool origins) {
  Toml out;
  if (const std::size_t line = line_of_endless_key(text); line > 0) {
    out.problems.push_back({fmt::format("{}:{}:1", name, line), "a key of more than 100 parts"});
    return out;
  }
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

std::string quoted(const std::string& text) {
  const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
    return c == '\'' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  // JSON escapes as TOML's basic strings do, but for this one character
  std::string out = plain ? "'" + text + "'" : Json(text).dump();
  for (std::size_t at = out.find('\x7f'); at != std::string::npos; at = out.find('\x7f'))
    out.replace(at, 1, "\\u007F");
  return out;
}

std::string toml_key(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  return bare ? key : quoted(key);
}

// The shortest text that reads back as the same number.
std::string toml_real(double x) {
  std::string text = format_number(x);
  const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return whole ? text + ".0" : text;
}

std::vector<std::string> sorted_keys(const Json& table) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : table.items())
    if (!value.is_null()) keys.push_back(key);  // TOML has none
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string toml_value(const Json& j) {
  if (j.is_string()) return quoted(j.get<std::string>());
  if (j.is_number_float()) return toml_real(j.get<double>());
  if (!j.is_structured()) return j.dump();
  std::vector<std::string> parts;
  if (j.is_array()) {
    for (const Json& e : j)
      if (!e.is_null()) parts.push_back(toml_value(e));
    return parts.empty() ? "[]" : "[ " + join(parts, ", ") + " ]";
  }
  for (const std::string& key : sorted_keys(j))
    parts.push_back(toml_key(key) + " = " + toml_value(j[key]));
  return parts.empty() ? "{}" : "{ " + join(parts, ", ") + " }";
}

// Values first, then tables, then arrays of tables: what follows a heading belongs to it.
void write_table(const Json& table, const std::string& path, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(4 * std::max(0, depth - 1)), ' ');
  const auto is_table = [](const Json& j) { return j.is_object() || is_array_of_tables(j); };
  const std::vector<std::string> keys = sorted_keys(table);
  for (const std::string& key : keys)
    if (!is_table(table[key]))
      out += fmt::format("{}{} = {}\n", indent, toml_key(key), toml_value(table[key]));
  const auto write = [&](const std::string& key, const char* heading, const Json& inner) {
    const std::string name = joined_path(path, toml_key(key));
    if (!out.empty()) out += "\n";
    out += std::string(static_cast<std::size_t>(4 * depth), ' ') +
           fmt::format(fmt::runtime(heading), name) + "\n";
    write_table(inner, name, depth + 1, out);
  };
  for (const std::string& key : keys)
    if (table[key].is_object()) write(key, "[{}]", table[key]);
  for (const std::string& key : keys)
    if (is_array_of_tables(table[key]))
      for (const Json& e : table[key]) write(key, "[[{}]]", e);
}

}  // namespace

std::string to_toml(const Json& root) {
  std::string out;
  write_table(root, "", 0, out);
  return out;
}

}  // namespace pesuite
