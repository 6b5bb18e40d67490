#include "base/json_error.h"

namespace pesuite {

std::string json_error(const Json::exception& e) {
  const std::string all = e.what();
  const std::size_t end = all.find("] ");
  return all.starts_with('[') && end != std::string::npos ? all.substr(end + 2) : all;
}

}  // namespace pesuite
