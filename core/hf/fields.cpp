#include "hf/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pesuite::hf {

void ConfigFields::refuse(const std::string& name, const std::string& why) const {
  fail(Exit::data, "{}: '{}' {}", where_, name, why);
}

const Json* ConfigFields::find(const std::string& name) {
  known_.insert(name);
  return has(name) ? &json_[name] : nullptr;
}

int ConfigFields::whole(const std::string& name, int least, int absent) {
  const Json* j = find(name);
  if (j == nullptr) {
    if (absent >= 0) return absent;
    refuse(name, "is missing");
  }
  constexpr std::int64_t most = 1 << 24;
  if (!j->is_number_integer() || j->get<double>() < least ||
      j->get<double>() > static_cast<double>(most))
    refuse(name, fmt::format("is {}, wanted a whole number from {} to {}", j->dump(), least, most));
  return j->get<int>();
}

double ConfigFields::number(const std::string& name, double absent) {
  const Json* j = find(name);
  if (j == nullptr) return absent;
  if (!j->is_number() || !std::isfinite(j->get<double>()))
    refuse(name, fmt::format("is {}, wanted a number", j->dump()));
  return j->get<double>();
}

bool ConfigFields::flag(const std::string& name, bool absent) {
  const Json* j = find(name);
  if (j == nullptr) return absent;
  if (!j->is_boolean()) refuse(name, fmt::format("is {}, wanted true or false", j->dump()));
  return j->get<bool>();
}

std::string ConfigFields::text(const std::string& name, const std::string& absent) {
  const Json* j = find(name);
  if (j == nullptr) return absent;
  if (!j->is_string()) refuse(name, fmt::format("is {}, wanted a string", j->dump()));
  return j->get<std::string>();
}

int ConfigFields::turns(const std::string& name, int absent) {
  const Json* j = find(name);
  if (j == nullptr || !j->is_string()) return whole(name, 1, absent);
  const std::string letters = j->get<std::string>();
  if (letters.find('G') + 1 != letters.size() || letters.find_first_not_of("LG") < letters.size())
    refuse(name, fmt::format("is '{}'; known are patterns as LLLG", letters));
  return static_cast<int>(letters.size());
}

std::vector<double> ConfigFields::numbers(const std::string& name) {
  std::vector<double> out;
  const Json* j = find(name);
  if (j == nullptr) return out;
  if (!j->is_array()) refuse(name, fmt::format("is {}, wanted a list of numbers", j->dump()));
  for (const Json& x : *j) {
    if (!x.is_number() || !std::isfinite(x.get<double>()))
      refuse(name, fmt::format("holds {}, wanted numbers", x.dump()));
    out.push_back(x.get<double>());
  }
  return out;
}

std::vector<std::string> ConfigFields::texts(const std::string& name) {
  std::vector<std::string> out;
  const Json* j = find(name);
  if (j == nullptr) return out;
  if (!j->is_array()) refuse(name, fmt::format("is {}, wanted a list of texts", j->dump()));
  for (const Json& x : *j) {
    if (!x.is_string()) refuse(name, fmt::format("holds {}, wanted texts", x.dump()));
    out.push_back(x.get<std::string>());
  }
  return out;
}

const Json& ConfigFields::object(const std::string& name) {
  static const Json none = Json::object();
  const Json* j = find(name);
  if (j == nullptr) return none;
  if (!j->is_object()) refuse(name, fmt::format("is {}, wanted an object", j->dump()));
  return *j;
}

void ConfigFields::only(const std::string& name, const Json& value, const char* why) {
  const Json* j = find(name);
  if (j != nullptr && *j != value)
    refuse(name, fmt::format("is {}, and only {} is known here: {}", j->dump(), value.dump(), why));
}

void ConfigFields::each(const std::string& name, const Json& value, const char* why) {
  const Json* j = find(name);
  if (j == nullptr) return;
  if (!j->is_array() ||
      !std::all_of(j->begin(), j->end(), [&](const Json& x) { return x == value; }))
    refuse(name, fmt::format("is {}, and only {} in each place is known here: {}",
                             j->dump().substr(0, 80), value.dump(), why));
}

void ConfigFields::finish() const {
  for (const auto& [name, value] : json_.items()) {
    const bool says_nothing =
        value.is_null() || value == Json(false) || (value.is_structured() && value.empty());
    if (!known_.contains(name) && !says_nothing)
      refuse(name, fmt::format("is {}, and no such field is known here: it may change what the "
                               "model computes",
                               value.dump().substr(0, 60)));
  }
}

}  // namespace pesuite::hf
