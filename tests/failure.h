// What a body that fails says.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace pesuite::testing {

// Text of the Error that it throws, "" where it throws none.
inline std::string failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace pesuite::testing
