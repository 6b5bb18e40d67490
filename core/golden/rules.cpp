#include "golden/rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "suite/config.h"

namespace pesuite::golden {

namespace {

std::string text_of(const Json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_number_float()) return format_number(j.get<double>());
  return j.dump();  // integers, booleans, lists of numbers
}

std::optional<double> number_of(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return x;
}

// "< 3", ">= 1.5", "!= 0" against a number; nothing where `text` is no such comparison.
std::optional<bool> compared(const Json& value, const std::string& text) {
  for (const char* sign : {"<=", ">=", "!=", "<", ">"}) {
    if (!text.starts_with(sign)) continue;
    const auto bound = number_of(trim(text.substr(std::string_view(sign).size())));
    if (!bound) return std::nullopt;
    if (!value.is_number()) return false;
    const double x = value.get<double>(), y = *bound;
    const std::string_view s = sign;
    return s == "<=" ? x <= y : s == ">=" ? x >= y : s == "!=" ? x != y : s == "<" ? x < y : x > y;
  }
  return std::nullopt;
}

bool matches(const Json& value, const Json& wanted) {
  if (wanted.is_array())
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const Json& w) { return matches(value, w); });
  if (!wanted.is_string()) return value == wanted;
  const std::string pattern = wanted;
  if (const auto holds = compared(value, pattern)) return *holds;
  return glob_match(pattern, text_of(value));
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return glob_match(p, text); });
}

// What a rule's places mean for one vector.
class Scope {
 public:
  Scope(const Vector& v, const Json& values, std::string output, std::string origin)
      : v_(v), values_(values), output_(std::move(output)), origin_(std::move(origin)) {}

  // The value at a place; nothing where the vector has none.
  std::optional<std::string> at(const std::string& place) const {
    if (place == "output" && !output_.empty()) return output_;
    if (values_.is_object() && values_.contains(place)) return made(values_[place]);
    const Json* j = v_.find(place);
    return j == nullptr ? std::nullopt : std::optional(text_of(*j));
  }
  // "a|b=c": the first place that has a value, else the text behind '='.
  std::optional<std::string> choice(const std::string& places) const {
    const std::size_t equals = places.find('=');
    for (const std::string& place : split(places.substr(0, equals), '|'))
      if (auto found = at(trim(place))) return found;
    if (equals == std::string::npos) return std::nullopt;
    return places.substr(equals + 1);
  }
  // `text` with its {places} filled in. Options without a value are left out; nothing where
  // another place has none.
  std::optional<std::string> filled(const std::string& text) const {
    static const std::regex place(R"((\w+\s*=\s*)?\{([^{}]*)\})");
    std::string out;
    auto from = text.cbegin();
    for (std::sregex_iterator it(text.begin(), text.end(), place), end; it != end; ++it) {
      out.append(from, (*it)[0].first);
      from = (*it)[0].second;
      const auto value = choice((*it)[2]);
      if (value) out += (*it)[1].str() + *value;
      if (!value && !(*it)[1].matched) return std::nullopt;
    }
    out.append(from, text.cend());
    // what options that were left out leave behind
    static const std::pair<std::regex, const char*> leftovers[] = {
        {std::regex(R"(,(\s*,)+)"), ","},
        {std::regex(R"(\(\s*,\s*)"), "("},
        {std::regex(R"(\s*,\s*\))"), ")"},
        {std::regex(R"(\(\s*\))"), ""}};
    for (const auto& [leftover, with] : leftovers) out = std::regex_replace(out, leftover, with);
    return out;
  }
  std::string needed(const std::string& text) const {
    auto out = filled(text);
    if (!out) fail(Exit::usage, "{}: '{}' wants what {} does not have", origin_, text, v_.name());
    return *out;
  }

 private:
  std::optional<std::string> first_of(const Json& from) const {
    if (from.is_string()) return at(from);
    for (const Json& place : from)
      if (auto found = at(place)) return found;
    return std::nullopt;
  }
  double number(const Json& j) const {
    if (j.is_number()) return j;
    const auto text = at(j);
    const auto x = text ? number_of(*text) : std::nullopt;
    if (!x)
      fail(Exit::usage, "{}: {} is no number of {}", origin_, j.get<std::string>(), v_.name());
    return *x;
  }
  // One of the rule's `values`.
  std::optional<std::string> made(const Json& rule) const {
    constexpr int deepest = 32;
    if (++depth_ > deepest)
      fail(Exit::usage, "{}: 'values' lead to each other in a circle", origin_);
    auto value = mapped(rule);
    --depth_;
    return value;
  }
  std::optional<std::string> mapped(const Json& rule) const {
    std::optional<std::string> value = first_of(rule.at("from"));
    if (value && rule.contains("pattern")) {
      std::smatch m;
      const bool found =
          std::regex_search(*value, m, std::regex(rule["pattern"].get<std::string>()));
      value = found ? std::optional(m[m.size() > 1 ? 1 : 0].str()) : std::nullopt;
    }
    if (value && rule.contains("map")) {
      std::optional<std::string> found;
      for (const auto& [pattern, result] : rule["map"].items())
        if (!found && glob_match(pattern, *value)) found = filled(text_of(result));
      value = found;
    }
    if (!value && rule.contains("otherwise")) return filled(text_of(rule["otherwise"]));
    if (value && (rule.contains("times") || rule.contains("over"))) {
      auto x = number_of(*value);
      if (!x) fail(Exit::usage, "{}: '{}' of {} is no number", origin_, *value, v_.name());
      if (rule.contains("times")) *x *= number(rule["times"]);
      if (rule.contains("over")) *x /= number(rule["over"]);
      value = format_number(*x);
    }
    return value;
  }

  const Vector& v_;
  const Json& values_;
  std::string output_, origin_;
  mutable int depth_ = 0;  // of values that are made of others
};

constexpr const char* text_keys[] = {"skip",      "encoding", "train_length", "length", "offset",
                                     "positions", "scale",    "phase",        "x",      "head_dim"};
constexpr const char* value_keys[] = {"from", "pattern", "map", "times", "over", "otherwise"};

std::map<std::string, std::string> text_table(Reader& r, const std::string& key) {
  std::map<std::string, std::string> out;
  r.table(key, [&](Reader& table) {
    for (const auto& [name, value] : table.json().items()) out[name] = table.text(name, "");
  });
  return out;
}

bool is_texts(const Json& j) {
  return j.is_array() &&
         std::all_of(j.begin(), j.end(), [](const Json& e) { return e.is_string(); });
}

void read_values(Reader& r) {
  r.named_tables("values", [&](Reader& value, const std::string&) {
    for (const char* key : value_keys) value.find(key);
    const Json* from = value.find("from");
    if (from == nullptr || !(from->is_string() || is_texts(*from)))
      value.problem("from", "must name the place of a value, or several");
    for (const char* key : {"times", "over"})
      if (const Json* factor = value.find(key);
          factor != nullptr && !factor->is_number() && !factor->is_string())
        value.problem(key, "must be a number, or name the place of one");
    if (const Json* pattern = value.find("pattern")) {
      try {
        std::regex(pattern->is_string() ? pattern->get<std::string>() : "(");
      } catch (const std::regex_error& e) {
        value.problem("pattern", fmt::format("is no regular expression: {}", e.what()));
      }
    }
    if (const Json* map = value.find("map"); map != nullptr && !map->is_object())
      value.problem("map", "must be a table of patterns and results");
  });
}

// "table[1,0]"
Spelling::Source source_of(const Json& j) {
  if (j.is_number()) return {"", {}, j.get<double>()};
  const std::string text = j;
  const std::size_t open = text.find('[');
  Spelling::Source s{text.substr(0, open), {}, 0};
  if (open != std::string::npos)
    for (const std::string& axis : split(text.substr(open + 1, text.size() - open - 2), ','))
      s.axes.push_back(std::stoi(axis));
  return s;
}

void read_parameters(Reader& r) {
  static const std::regex form(R"(\w+(\[\d(,\d)*\])?)");
  r.table("parameters", [&](Reader& table) {
    for (const auto& [name, value] : table.json().items()) {
      table.find(name);
      if (!value.is_number() &&
          !(value.is_string() && std::regex_match(value.get<std::string>(), form)))
        table.problem(name, "must be a number or an input such as table or table[1,0]");
    }
  });
}

}  // namespace

void Rules::add(const Config& config, Problems& problems) {
  Reader root(config, config.root(), "", problems);
  root.tables("rule", [&](Reader& r, const std::string&) {
    Rule rule;
    rule.origin = r.where("");
    rule.encodings = r.texts("pe", {});
    rule.kinds = r.texts("kind", {"*"});
    rule.has = r.texts("has", {});
    rule.lacks = r.texts("lacks", {});
    if (const Json* when = r.find("when")) rule.when = *when;
    if (!rule.when.is_null() && !rule.when.is_object()) r.problem("when", "must be a table");
    for (const char* key : text_keys)
      if (const Json* j = r.find(key)) {
        if (j->is_string() || j->is_number())
          rule.texts[key] = text_of(*j);
        else
          r.problem(key, "must be a text or a number");
      }
    read_values(r);
    read_parameters(r);
    if (const Json* j = r.find("values")) rule.values = *j;
    if (const Json* j = r.find("parameters")) rule.parameters = *j;
    rule.outputs = text_table(r, "outputs");
    rule.ignore = text_table(r, "ignore");
    if (rule.encodings.empty()) r.problem("pe", "must name the vectors that the rule is for");
    if (rule.texts.contains("skip") == rule.texts.contains("encoding"))
      r.problem("encoding", "must be given, or skip, and not both");
    rules_.push_back(std::move(rule));
  });
  root.finish();
}

Rules Rules::from_text(std::string_view toml, const std::string& name) {
  Rules rules;
  Problems problems;
  const Config config = Config::from_toml_text(toml, name, problems);
  problems.throw_if_any();
  rules.add(config, problems);
  problems.throw_if_any();
  return rules;
}

Rules Rules::beside(const Catalog& catalog) {
  Rules rules;
  Problems problems;
  for (const Offer& library : catalog.offers) {
    const std::string stem = library.path().stem().stem();  // NAME of NAME.plugin.so
    const fs::path file = library.path().parent_path() / (stem + ".golden.toml");
    std::error_code error;
    if (fs::is_regular_file(file, error)) rules.add(Config::from_toml(file, problems), problems);
  }
  problems.throw_if_any();
  return rules;
}

bool Rules::fits(const Rule& rule, const Vector& v) {
  if (!any_matches(rule.encodings, v.encoding()) || !any_matches(rule.kinds, v.kind()))
    return false;
  for (const std::string& place : rule.has)
    if (v.find(place) == nullptr) return false;
  for (const std::string& place : rule.lacks)
    if (v.find(place) != nullptr) return false;
  if (rule.when.is_object())
    for (const auto& [place, wanted] : rule.when.items()) {
      const Json* value = v.find(place);
      if (value == nullptr || !matches(*value, wanted)) return false;
    }
  return true;
}

Spelling Rules::spell(const Vector& v, const std::string& output) const {
  const auto it =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& rule) { return fits(rule, v); });
  Spelling s;
  if (it == rules_.end()) {
    s.skip = fmt::format("no library has a rule for '{}' of kind {}", v.encoding(), v.kind());
    return s;
  }
  const Rule& rule = *it;
  const Scope scope(v, rule.values, output, rule.origin);
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const auto found = rule.texts.find(key);
    return found == rule.texts.end() ? std::nullopt : std::optional(found->second);
  };
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto given = text(key);
    const auto value = given ? scope.filled(*given) : std::nullopt;
    if (!value) return std::nullopt;
    if (const auto x = number_of(*value)) return x;
    fail(Exit::usage, "{}: {} = '{}' is no number", rule.origin, key, *value);
  };
  const auto count = [&](const char* key) -> std::optional<int> {
    const auto x = number(key);
    return x ? std::optional(static_cast<int>(std::lround(*x))) : std::nullopt;
  };
  s.rule = rule.origin;
  if (text("skip")) s.skip = *text("skip");
  if (!s.skip.empty()) return s;
  s.encoding = scope.needed(*text("encoding"));
  if (rule.parameters.is_object())
    for (const auto& [name, source] : rule.parameters.items())
      s.parameters[name] = source_of(source);
  s.outputs = rule.outputs;
  s.ignore = rule.ignore;
  s.train_length = count("train_length");
  s.length = count("length");
  s.head_dim = count("head_dim");
  s.offset = count("offset").value_or(0);
  s.scale = number("scale");
  if (text("positions")) s.positions = *text("positions");
  s.training = text("phase") == "train";
  s.identity = text("x") == "identity";
  return s;
}

}  // namespace pesuite::golden
