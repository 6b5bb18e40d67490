// JSON by nlohmann, with objects that keep the order they were written in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pesuite {

using Json = nlohmann::ordered_json;

// The same value as the same bytes: keys sorted, shortest numbers, no spaces. For hashes.
inline std::string canonical(const Json& value) {
  return nlohmann::json(value).dump();
}

}  // namespace pesuite
