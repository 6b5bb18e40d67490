// TOML to JSON and back, with the place where each value stands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pesuite {

struct Toml {
  struct Problem {
    std::string where, what;  // "suites/x.toml:12:3" and a sentence
  };
  Json root = Json::object();  // keys in the order of the file
  // "train.lr" -> "suites/x.toml:12:3". Elements of an array of tables go by element_name().
  std::map<std::string, std::string> origins;
  std::vector<Problem> problems;
};

// `name` stands for the file in places. Text that is not TOML is a problem, and the root is empty.
// Without origins, for callers that name no single value, it takes half the time.
Toml parse_toml(std::string_view text, const std::string& name, bool origins = true);

// The tree as TOML text, keys sorted.
std::string to_toml(const Json& root);

bool is_array_of_tables(const Json&);
// Name of an element of an array of tables: its id, else its expr, task or plain name, else its
// number.
std::string element_name(const Json& element, std::size_t number);
// Names of all elements of an array, each once: the second "corpus" is "corpus#2".
std::vector<std::string> element_names(const Json& array);
// "train" and "lr": "train.lr".
std::string joined_path(const std::string& path, const std::string& key);

}  // namespace pesuite
