// What is wrong with a JSON text, as a sentence shows it.
#pragma once

#include <string>

#include "base/json.h"

namespace pesuite {

// "type must be string, but is number": nlohmann's words without its name and number of the error.
std::string json_error(const Json::exception&);

}  // namespace pesuite
