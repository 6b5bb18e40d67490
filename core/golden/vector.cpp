#include "golden/vector.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pesuite::golden {

namespace {

void check_tensor(const Json& t, const std::string& where) {
  if (!t.is_object() || !t.contains("shape") || !t.contains("data") || !t["shape"].is_array() ||
      !t["data"].is_array())
    fail(Exit::data, "{}: wants a shape and data, both lists", where);
  if (t["shape"].size() > Shape::max_rank)
    fail(Exit::data, "{}: has {} axes, at most {} are known here", where, t["shape"].size(),
         int{Shape::max_rank});
  std::int64_t count = 1;
  for (const Json& extent : t["shape"]) {
    constexpr std::int64_t most = 1 << 28;
    if (!extent.is_number_integer()) fail(Exit::data, "{}: its shape is not of integers", where);
    const auto n = extent.get<std::int64_t>();
    if (n < 0 || n > most || (n > 0 && count > most / n))
      fail(Exit::data, "{}: its shape {} is negative or absurdly large", where, t["shape"].dump());
    count *= n;
  }
  for (const Json& x : t["data"])
    if (!x.is_number()) fail(Exit::data, "{}: holds {}, not a number", where, x.dump());
  if (count != static_cast<std::int64_t>(t["data"].size()))
    fail(Exit::data, "{}: its shape {} wants {} numbers, it has {}", where, t["shape"].dump(),
         count, t["data"].size());
}

}  // namespace

Vector Vector::read(const fs::path& file) {
  Vector v;
  v.name_ = file.stem();
  v.json_ = Json::parse(read_file(file), nullptr, false);
  v.check(file);
  v.encoding_ = v.json_["pe"];
  v.kind_ = v.json_["kind"];
  return v;
}

void Vector::check(const fs::path& file) const {
  const std::string where = file.string();
  if (json_.is_discarded()) fail(Exit::data, "{}: is no JSON", where);
  const auto wants = [&](const char* key, bool (Json::*is)() const noexcept, const char* what) {
    if (!json_.is_object() || !json_.contains(key) || !(json_.at(key).*is)())
      fail(Exit::data, "{}: lacks '{}', {}", where, key, what);
  };
  if (!json_.is_object() || json_.value("schema", Json()) != 1)
    fail(Exit::data, "{}: is no golden vector of schema 1", where);
  wants("pe", &Json::is_string, "the encoding's name");
  wants("kind", &Json::is_string, "what is compared");
  for (const char* table : {"config", "tolerance", "inputs", "outputs"})
    wants(table, &Json::is_object, "a table");
  for (const char* bound : {"abs", "rel"})
    if (!json_["tolerance"].contains(bound) || !json_["tolerance"][bound].is_number())
      fail(Exit::data, "{}: its tolerance lacks '{}'", where, bound);
  for (const char* group : {"inputs", "outputs"})
    for (const auto& [key, tensor] : json_[group].items())
      check_tensor(tensor, fmt::format("{}: {}.{}", where, group, key));
}

std::vector<std::string> Vector::output_names() const {
  std::vector<std::string> names;
  for (const auto& [key, tensor] : json_["outputs"].items()) names.push_back(key);
  return names;
}

Values Vector::tensor(const char* group, const std::string& name) const {
  const Json& all = json_.at(group);
  if (!all.contains(name))
    fail(Exit::data, "{}: there is no '{}' among its {}", name_, name, group);
  const std::vector<std::int64_t> extents = all[name]["shape"];
  return {Shape::of(static_cast<int>(extents.size()), extents.data()),
          all[name]["data"].get<std::vector<double>>()};
}

const Json* Vector::find(const std::string& path) const {
  const std::vector<std::string> steps = split(path, '.');
  const bool top = steps[0] == "inputs" || steps[0] == "outputs" || steps[0] == "notes" ||
                   steps[0] == "kind" || steps[0] == "case" || steps[0] == "pe";
  const Json* at = top ? &json_ : &json_.at("config");
  for (const std::string& step : steps) {
    if (at->is_object() && at->contains(step)) {
      at = &at->at(step);
    } else if (at->is_array() && step.size() < 9 && !step.empty() &&
               step.find_first_not_of("0123456789") == std::string::npos &&
               std::stoul(step) < at->size()) {
      at = &at->at(std::stoul(step));
    } else {
      return nullptr;
    }
  }
  return at->is_null() ? nullptr : at;
}

double Vector::number(const std::string& key, double otherwise) const {
  const Json* j = find(key);
  return j != nullptr && j->is_number() ? j->get<double>() : otherwise;
}

int Vector::count(const std::string& key) const {
  const double x = number(key, std::nan(""));
  if (!(x >= 0 && x < 1e9)) fail(Exit::data, "{}: its config lacks a count '{}'", name_, key);
  return static_cast<int>(std::lround(x));
}

}  // namespace pesuite::golden
