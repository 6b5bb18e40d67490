#include "suite/sweep.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "pesuite/random.hpp"
#include "suite/config.h"

namespace pesuite {

namespace {

using Row = std::map<std::string, Json>;  // a value each of some variables

constexpr std::size_t most_variants = 10'000;

bool is_value(const Json& j) {
  return j.is_string() || j.is_number() || j.is_boolean();
}
std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? format_number(value.get<double>()) : value.dump();
}

// The names in braces in all texts of an element.
void find_names(const Json& j, std::vector<std::string>& names) {
  if (j.is_structured()) {
    for (const auto& [key, value] : j.items()) find_names(value, names);
    return;
  }
  if (!j.is_string()) return;
  const auto text = j.get<std::string>();
  for (std::size_t at = 0; (at = text.find('{', at)) != std::string::npos; ++at) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) return;
    const std::string name = text.substr(at + 1, end - at - 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

std::string replaced(std::string text, const Row& row) {
  for (const auto& [name, value] : row) {
    const std::string mark = "{" + name + "}", by = text_of(value);
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
      text.replace(at, mark.size(), by);
  }
  return text;
}
Json replaced(const Json& j, const Row& row) {
  if (j.is_structured()) {
    Json out = j;
    for (auto& [key, value] : out.items()) value = replaced(value, row);
    return out;
  }
  if (!j.is_string()) return j;
  const auto text = j.get<std::string>();
  for (const auto& [name, value] : row)
    if (text == "{" + name + "}") return value;
  return replaced(text, row);
}

class Sweep {
 public:
  Sweep(Config& config, Problems& problems) : config_(config), problems_(problems) {
    add_grid(config.take("sweep.grid"));
    add_zip(config.take("sweep.zip"));
    add_list(config.take("sweep.list"));
    add_random(config.take("sweep.random"));
  }

  void expand() {
    if (variables_.empty()) return;
    for (const char* key : {"encoding", "task", "eval", "hypothesis", "model"})
      config_.spread(key, [&](const std::string& name, const Json& element) {
        return variants(key, name, element);
      });
    for (const auto& [name, where] : variables_)
      if (!used_.contains(name))
        problems_.add(where, fmt::format("nothing has {{{}}} in it", name));
  }

 private:
  void problem(const std::string& path, const std::string& what) {
    problems_.add(config_.origin(path), path + " " + what);
  }
  bool add_variable(const std::string& name, const std::string& path) {
    if (variables_.emplace(name, config_.origin(path)).second) return true;
    problem(path, "is a variable already");
    return false;
  }
  // Lists of values by variable.
  bool are_lists(const Json& table, const std::string& path) {
    if (!table.is_object() || table.empty()) {
      problem(path, "wants a table of lists, as in {scale = [2, 4, 8]}");
      return false;
    }
    bool sound = true;
    for (const auto& [name, values] : table.items()) {
      const std::string at = path + "." + name;
      if (values.is_array() && !values.empty() &&
          std::all_of(values.begin(), values.end(), is_value))
        sound = add_variable(name, at) && sound;
      else
        problem(at, "wants a list of numbers, texts or booleans"), sound = false;
    }
    return sound;
  }

  void add_grid(const Json& grid) {
    if (grid.is_null() || !are_lists(grid, "sweep.grid")) return;
    for (const auto& [name, values] : grid.items()) {
      sources_.emplace_back();
      for (const Json& v : values) sources_.back().push_back({{name, v}});
    }
  }
  void add_zip(const Json& zip) {
    if (zip.is_null() || !are_lists(zip, "sweep.zip")) return;
    const std::size_t n = zip.begin()->size();
    for (const auto& [name, values] : zip.items())
      if (values.size() != n)
        return problem("sweep.zip." + name, fmt::format("has {} values, and {} has {}",
                                                        values.size(), zip.begin().key(), n));
    sources_.emplace_back(n);
    for (const auto& [name, values] : zip.items())
      for (std::size_t i = 0; i < n; ++i) sources_.back()[i][name] = values[i];
  }
  void add_list(const Json& list) {
    if (list.is_null()) return;
    const bool sound =
        list.is_array() && !list.empty() &&
        std::all_of(list.begin(), list.end(), [&](const Json& row) {
          return row.is_object() && !row.empty() && row.size() == list[0].size() &&
                 std::all_of(row.items().begin(), row.items().end(), [&](const auto& v) {
                   return is_value(v.value()) && list[0].contains(v.key());
                 });
        });
    if (!sound)
      return problem("sweep.list",
                     "wants tables of the same variables, as in [{scale = 2, beta = 4}, ...]");
    sources_.emplace_back();
    for (const auto& [name, value] : list[0].items())
      if (!add_variable(name, "sweep.list")) return;
    for (const Json& row : list) {
      sources_.back().emplace_back();
      for (const auto& [name, value] : row.items()) sources_.back().back()[name] = value;
    }
  }

  void add_random(const Json& random) {
    if (random.is_null()) return;
    const Json of = random.is_object() ? random.value("of", Json()) : Json();
    const Json count = random.is_object() ? random.value("count", Json()) : Json();
    const Json seed = random.is_object() ? random.value("seed", Json(0)) : Json();
    const auto is_whole = [](const Json& j, std::int64_t low) {
      return j.is_number_integer() && j.get<std::int64_t>() >= low;
    };
    if (!of.is_object() || of.empty() || !is_whole(count, 1) || !is_whole(seed, 0) ||
        count.get<std::int64_t>() > static_cast<std::int64_t>(most_variants))
      return problem("sweep.random",
                     "wants {count = 8, seed = 0, of = {scale = {low = 1, high = 16}}}");
    std::vector<Row> rows(count.get<std::size_t>());
    for (const auto& [name, from] : of.items()) {
      const std::string path = "sweep.random.of." + name;
      if (!add_variable(name, path)) return;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        pes::Random draw(seed.get<std::uint64_t>(), pes::purpose("sweep " + name), i);
        Json value = drawn(from, draw);
        if (value.is_null())
          return problem(path,
                         "wants a list of values, or {low = 1, high = 16}, and with it log = "
                         "true (low above 0) or whole = true");
        rows[i][name] = std::move(value);
      }
    }
    sources_.push_back(std::move(rows));
  }
  // Null where it is neither a list nor a range.
  static Json drawn(const Json& from, pes::Random& draw) {
    if (from.is_array() && !from.empty() && std::all_of(from.begin(), from.end(), is_value))
      return from[draw.below(static_cast<std::uint32_t>(from.size()))];
    if (!from.is_object()) return {};
    for (const auto& [key, value] : from.items()) {
      const bool number = key == "low" || key == "high", flag = key == "log" || key == "whole";
      if (!(number && value.is_number()) && !(flag && value.is_boolean())) return {};
    }
    if (!from.contains("low") || !from.contains("high")) return {};
    const double low = from["low"], high = from["high"];
    const bool log = from.value("log", false), whole = from.value("whole", false);
    if (!(low <= high) || (log && !(low > 0)) || !std::isfinite(high - low)) return {};
    const double u = draw.uniform();
    if (whole)
      return static_cast<std::int64_t>(std::floor(
          std::min(log ? low * std::pow((high + 1) / low, u) : low + u * (high - low + 1), high)));
    const double x = log ? low * std::pow(high / low, u) : low + u * (high - low);
    return std::stod(fmt::format("{:.4g}", x));  // names with it stay short
  }

  // The values of what an element names: rows of each source, cut to that and each once, combined.
  std::vector<Row> rows_for(const std::vector<std::string>& names) const {
    std::vector<Row> out = {{}};
    for (const std::vector<Row>& source : sources_) {
      std::vector<Row> cut;
      for (const Row& row : source) {
        Row some;
        for (const auto& [name, value] : row)
          if (std::find(names.begin(), names.end(), name) != names.end()) some[name] = value;
        if (!some.empty() && std::find(cut.begin(), cut.end(), some) == cut.end())
          cut.push_back(std::move(some));
      }
      if (cut.empty()) continue;
      std::vector<Row> next;
      for (const Row& row : out)
        for (const Row& more : cut) {
          if (next.size() == most_variants) return {};
          next.push_back(row);
          next.back().insert(more.begin(), more.end());
        }
      out = std::move(next);
    }
    return out;
  }

  Config::Variants variants(const std::string& key, const std::string& name, const Json& element) {
    std::vector<std::string> names;
    find_names(element, names);
    find_names(Json(name), names);
    if (names.empty()) return {{name, element}};
    std::vector<std::string> known;
    for (const auto& [variable, where] : variables_) known.push_back(variable);
    const std::string where = config_.origin(key + "." + name);
    for (const std::string& n : names) {
      used_.insert(n);
      if (!variables_.contains(n))
        problems_.add(where, fmt::format("{} '{}' has {{{}}} in it, and [sweep] no such variable{}",
                                         key, name, n, did_you_mean(n, known)));
    }
    const std::vector<Row> rows = rows_for(names);
    if (rows.empty())
      problems_.add(where, fmt::format("{} '{}' would be more than {}", key, name, most_variants));
    return named(key, name, element, rows);
  }

  // Each with a name of its own.
  static Config::Variants named(const std::string& key, const std::string& name,
                                const Json& element, const std::vector<Row>& rows) {
    Config::Variants out;
    std::set<std::string> names;
    for (const Row& row : rows) {
      Json one = replaced(element, row);
      std::string its = replaced(name, row);
      out.emplace_back(its, one);
      names.insert(its);
    }
    if (names.size() == rows.size() || key == "eval") return out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const auto& [variable, value] : rows[i]) out[i].first += "_" + text_of(value);
      if (key != "model") out[i].second["id"] = out[i].first;
    }
    return out;
  }

  Config& config_;
  Problems& problems_;
  std::map<std::string, std::string> variables_;  // where each is from
  std::vector<std::vector<Row>> sources_;
  std::set<std::string> used_;
};

}  // namespace

void expand_sweep(Config& config, Problems& problems) {
  Sweep(config, problems).expand();
}

}  // namespace pesuite
