// Where rows of features lie.
#pragma once

#include <cstdint>

namespace pesuite {

struct RowSteps {  // numbers from one batch, head and token to the next
  std::int64_t batch = 0, head = 0, token = 0;
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return b * batch + h * head + t * token;
  }
};

}  // namespace pesuite
