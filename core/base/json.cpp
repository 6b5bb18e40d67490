#include "base/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace pesuite {

std::string canonical(const Json& value) {
  return nlohmann::json(value).dump();
}

}  // namespace pesuite
