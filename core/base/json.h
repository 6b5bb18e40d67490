// JSON by nlohmann, with objects that keep the order they were written in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;  // compiled once, in json.cpp

namespace pesuite {

using Json = nlohmann::ordered_json;

// The same value as the same bytes: keys sorted, shortest numbers, no spaces. For hashes.
std::string canonical(const Json& value);
// For people: as dump(), but for numbers that JSON has no name for, "nan" and "inf".
std::string shown(const Json& value);

}  // namespace pesuite
