#include "base/json.h"

#include <cmath>

#include "base/text.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace pesuite {

std::string canonical(const Json& value) {
  return nlohmann::json(value).dump();
}

std::string shown(const Json& value) {
  const bool finite = !value.is_number_float() || std::isfinite(value.get<double>());
  return finite ? value.dump() : format_number(value.get<double>());
}

}  // namespace pesuite
