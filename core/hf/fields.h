// The fields of a config.json, each asked for once; what nobody asked for is found at the end.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pesuite::hf {

class ConfigFields {
 public:
  ConfigFields(const Json& object, std::string where) : json_(object), where_(std::move(where)) {
    if (!json_.is_object()) fail(Exit::data, "{} is no JSON object", where_);
  }

  bool has(const std::string& name) const { return json_.contains(name) && !json_[name].is_null(); }
  bool is_null(const std::string& name) const {
    return json_.contains(name) && json_[name].is_null();
  }
  // Error (data) where the field has another type or lies outside its range; `absent` where it is
  // missing or null.
  int whole(const std::string& name, int least, int absent = -1);
  double number(const std::string& name, double absent);
  bool flag(const std::string& name, bool absent);
  std::string text(const std::string& name, const std::string& absent);
  std::vector<double> numbers(const std::string& name);
  std::vector<std::string> texts(const std::string& name);
  const Json& object(const std::string& name);  // empty where it is missing
  // Each so many-th layer differs: a number, or a letter for each as in "LLLG".
  int turns(const std::string& name, int absent);

  // It must be this, or missing.
  void only(const std::string& name, const Json& value, const char* why);
  // A list of nothing but this, or missing.
  void each(const std::string& name, const Json& value, const char* why);
  // It says nothing about what the model computes.
  void pass(std::initializer_list<const char*> names) { known_.insert(names.begin(), names.end()); }
  void pass(std::span<const char* const> names) { known_.insert(names.begin(), names.end()); }
  // Error (data) with the first field that is not known. null, false and empty say nothing.
  void finish() const;

  [[noreturn]] void refuse(const std::string& name, const std::string& why) const;

 private:
  const Json* find(const std::string& name);  // null where it is missing or null

  const Json& json_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace pesuite::hf
