// What this processor multiplies in, for tests of what ships in bf16.
#pragma once

#include "backend/backend.h"
#include "base/error.h"

namespace pesuite::testing {

inline bool has_bf16() {
  try {
    open_backend("cpu", {.threads = 1, .precision = Precision::bf16});
  } catch (const Error& e) {
    return e.code() != Exit::device;
  }
  return true;
}

}  // namespace pesuite::testing
