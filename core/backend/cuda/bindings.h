// What an attention graph reads and writes when it runs.
#pragma once

#include <array>
#include <limits>

#include "backend/cuda/graph.h"

namespace pesuite::cuda {

struct Bindings {
  std::array<void*, static_cast<std::size_t>(Slot::count)> memory{};  // on the device, by slot
  void*& operator[](Slot s) { return memory[static_cast<std::size_t>(s)]; }
  void* operator[](Slot s) const { return memory[static_cast<std::size_t>(s)]; }
  float scale = 1;
  float keep = 1, inverse_keep = 1;  // of dropout: 1 - p, 1 / (1 - p)
  float minus_infinity = -std::numeric_limits<float>::infinity();
};

}  // namespace pesuite::cuda
