#include "suite/config.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"

namespace pesuite {

void Problems::add(const std::string& where, const std::string& what, Exit code) {
  code_ = list_.empty() || code_ == code ? code : Exit::usage;
  std::string line = printable(where.empty() ? what : where + ": " + what, true);
  if (std::find(list_.begin(), list_.end(), line) == list_.end()) list_.push_back(std::move(line));
}

void Problems::throw_if_any() const {
  if (list_.empty()) return;
  throw Error(code_, pesuite::join(list_, "\n"));
}

Config Config::from_toml_text(std::string_view text, const std::string& name, Problems& problems) {
  Toml toml = parse_toml(text, name);
  for (const Toml::Problem& p : toml.problems) problems.add(p.where, p.what);
  Config c;
  c.root_ = std::move(toml.root);
  c.origins_ = std::move(toml.origins);
  return c;
}

Config Config::from_toml(const fs::path& file, Problems& problems) {
  return from_toml_text(read_file(file), file.string(), problems);
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

// A key of `over` replaces its other spelling in `train`: steps and budget, lr and optimizer.lr.
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
      merge_value(target[key], v, joined_path(path, key), over, joined_path(over_path, key),
                  problems);
    }
    return;
  }
  if (is_array_of_tables(target) && value.is_object()) {
    const std::vector<std::string> unique = element_names(target);
    for (const auto& [key, v] : value.items()) {
      std::vector<std::string> names;
      std::size_t found = target.size();
      for (std::size_t i = 0; i < target.size(); ++i) {
        names.push_back(element_name(target[i], i));
        if (names.back() == key || unique[i] == key) found = i;
      }
      if (found == target.size()) {
        problems.add(over.origin(joined_path(over_path, key)),
                     fmt::format("there is no {} '{}'{}", path, key, did_you_mean(key, names)));
        continue;
      }
      merge_value(target[found], v, joined_path(path, unique[found]), over,
                  joined_path(over_path, key), problems);
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

Json Config::take(const std::string& path) {
  Json* table = &root_;
  std::vector<std::string> keys = split(path, '.');
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!table->is_object() || !table->contains(keys[i])) return {};
    if (i + 1 == keys.size()) {
      Json out = std::move((*table)[keys[i]]);
      table->erase(keys[i]);
      return out;
    }
    table = &(*table)[keys[i]];
  }
  return {};
}

void Config::spread(
    const std::string& key,
    const std::function<Variants(const std::string& name, const Json& element)>& variants) {
  const auto at = root_.find(key);
  if (at == root_.end() || !(at->is_object() || is_array_of_tables(*at))) return;
  const bool named = at->is_object();
  const Json before = *at;
  std::vector<std::string> names = named ? std::vector<std::string>() : element_names(before);
  if (named)
    for (const auto& [name, value] : before.items()) names.push_back(name);
  Json after = named ? Json::object() : Json::array();
  std::vector<std::size_t> from;  // which element each is made of
  std::size_t i = 0;
  for (const auto& [unused, element] : before.items()) {
    for (auto& [name, one] : variants(names[i], element)) {
      if (named)
        after[name] = std::move(one);
      else
        after.push_back(std::move(one));
      from.push_back(i);
    }
    ++i;
  }
  if (after == before) return;
  std::vector<std::string> now = named ? std::vector<std::string>() : element_names(after);
  if (named)
    for (const auto& [name, value] : after.items()) now.push_back(name);
  std::map<std::string, std::string> origins;
  for (const auto& [path, origin] : origins_)
    if (!path.starts_with(key + ".")) origins[path] = origin;
  for (std::size_t j = 0; j < now.size() && now.size() == from.size(); ++j) {
    const std::string old = joined_path(key, names[from[j]]);
    for (const auto& [path, origin] : origins_)
      if (path == old || path.starts_with(old + "."))
        origins[joined_path(key, now[j]) + path.substr(old.size())] = origin;
  }
  origins_ = std::move(origins);
  *at = std::move(after);
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
  set(path, ignored.empty() && parsed.root_.contains("v") ? parsed.root_["v"] : Json(value),
      "--set " + path, problems);
}

void Config::set(const std::string& path, const Json& value, const std::string& origin,
                 Problems& problems) {
  Config over;
  const std::vector<std::string> keys = split(path, '.');
  if (constexpr std::size_t deepest = 100; keys.size() > deepest)
    return problems.add(origin.substr(0, 100), "names a key of more than 100 parts");
  over.root_ = value;
  for (auto it = keys.rbegin(); it != keys.rend(); ++it) over.root_ = Json{{*it, over.root_}};
  std::string at;
  for (const std::string& key : keys) {
    at = joined_path(at, key);
    over.origins_[at] = origin;
  }
  merge(over, problems);
}

void Config::came_by(const std::string& how) {
  for (auto& [path, origin] : origins_) origin += " (" + how + ")";
}

// ------------------------------------------------------------------------------------ Reader

const Json* Reader::find(const std::string& key) {
  const bool again = std::find(known_.begin(), known_.end(), key) != known_.end();
  known_.push_back(key);
  const auto it = table_.find(key);
  if (it == table_.end()) return nullptr;
  if (notes_ != nullptr && !again && !it->is_object() && !is_array_of_tables(*it))
    notes_->push_back({join(key), *it, where(key)});
  return &*it;
}

void Reader::note_default(const std::string& key, const Json& value) {
  if (notes_ == nullptr || otherwise_.empty() || has(key)) return;
  const auto same = [&](const ReadValue& n) { return n.path == join(key); };
  if (std::none_of(notes_->begin(), notes_->end(), same))
    notes_->push_back({join(key), value, otherwise_});
}

void Reader::drop_default(const std::string& key) {
  if (notes_ == nullptr) return;
  std::erase_if(*notes_, [&](const ReadValue& n) { return n.path == join(key); });
}

Reader Reader::inner(const Json& table, const std::string& path) const {
  Reader r(config_, table, path, problems_);
  r.notes_ = notes_, r.otherwise_ = otherwise_;
  return r;
}

std::string Reader::where(const std::string& key) const {
  return config_.origin(join(key));
}
void Reader::problem(const std::string& key, const std::string& what) {
  problems_.add(where(key), fmt::format("'{}' {}", join(key), what));
}
void Reader::wrong_type(const std::string& key, const char* wanted) {
  problem(key, fmt::format("must be {}, not {}", wanted, shown(table_[key])));
}

std::string Reader::text(const std::string& key, const std::string& otherwise) {
  note_default(key, otherwise);
  return read_text(key, otherwise);
}

std::string Reader::read_text(const std::string& key, const std::string& otherwise) {
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_string()) return j->get<std::string>();
  wrong_type(key, "a text");
  return otherwise;
}

bool Reader::flag(const std::string& key, bool otherwise) {
  note_default(key, otherwise);
  const Json* j = find(key);
  if (j == nullptr) return otherwise;
  if (j->is_boolean()) return j->get<bool>();
  wrong_type(key, "true or false");
  return otherwise;
}

std::int64_t Reader::integer(const std::string& key, std::int64_t otherwise, std::int64_t low,
                             std::int64_t high) {
  note_default(key, otherwise);
  const double x = read_number(key, static_cast<double>(otherwise), static_cast<double>(low),
                               static_cast<double>(high));
  if (x == std::floor(x)) return static_cast<std::int64_t>(x);
  wrong_type(key, "an integer");
  return otherwise;
}

double Reader::number(const std::string& key, double otherwise, double low, double high) {
  note_default(key, otherwise);
  return read_number(key, otherwise, low, high);
}

double Reader::read_number(const std::string& key, double otherwise, double low, double high) {
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
  note_default(key, names[otherwise]);
  const std::string t = read_text(key, names[otherwise]);
  const auto it = std::find(names.begin(), names.end(), t);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  problem(key, fmt::format("is '{}', which is none of {}{}", t, pesuite::join(names, ", "),
                           did_you_mean(t, names)));
  return otherwise;
}

std::vector<std::string> Reader::texts(const std::string& key,
                                       const std::vector<std::string>& otherwise) {
  note_default(key, otherwise);
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
  note_default(key, otherwise);
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
  Reader r = inner(*j, join(key));
  body(r);
  r.finish();
}

void Reader::settings(const std::string& key, const std::function<void(Reader&)>& body) {
  if (has(key)) return table(key, body);
  find(key);
  const Json nothing = Json::object();
  Reader r = inner(nothing, join(key));
  body(r);
}

void Reader::tables(const std::string& key,
                    const std::function<void(Reader&, const std::string&)>& body) {
  const Json* j = find(key);
  if (j == nullptr || (j->is_array() && j->empty())) return;
  if (!is_array_of_tables(*j)) return wrong_type(key, "an array of tables, [[...]]");
  const std::vector<std::string> names = element_names(*j);
  for (std::size_t i = 0; i < j->size(); ++i) {
    Reader r = inner((*j)[i], joined_path(join(key), names[i]));
    body(r, element_name((*j)[i], i));
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
      problems_.add(config_.origin(joined_path(join(key), name)),
                    fmt::format("'{}.{}' must be a table", join(key), name));
      continue;
    }
    Reader r = inner(value, joined_path(join(key), name));
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
