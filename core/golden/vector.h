// A golden vector: inputs and outputs of an encoding as public reference code computed them, one
// JSON file a case. The schema stands in docs/plugins.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/host.h"

namespace pesuite::golden {

namespace fs = std::filesystem;

using host::Values;

class Vector {
 public:
  // Error (data) when the file cannot be read, is no such JSON, or holds a tensor whose data does
  // not fill its shape; with the tensor's name.
  static Vector read(const fs::path& file);

  const std::string& name() const { return name_; }          // "pe__case"
  const std::string& encoding() const { return encoding_; }  // "pe" as its makers spell it
  const std::string& kind() const { return kind_; }
  bool has_input(const std::string& name) const { return json_.at("inputs").contains(name); }
  bool has_output(const std::string& name) const { return json_.at("outputs").contains(name); }
  std::vector<std::string> output_names() const;
  Values input(const std::string& name) const { return tensor("inputs", name); }
  Values output(const std::string& name) const { return tensor("outputs", name); }
  double tolerance(const char* which) const { return json_.at("tolerance").at(which); }

  // A value by its place: a key of `config`, or a path from the top such as "notes" or
  // "inputs.table.shape.0". Null where there is none, or where it says null.
  const Json* find(const std::string& path) const;
  // A number of `config`, `otherwise` where it has none.
  double number(const std::string& key, double otherwise) const;
  // The same, rounded. Error (data) where it has none.
  int count(const std::string& key) const;

 private:
  Values tensor(const char* group, const std::string& name) const;
  void check(const fs::path& file) const;

  std::string name_, encoding_, kind_;
  Json json_;
};

}  // namespace pesuite::golden
