// How fast cells are on what computes them here, as a short product shows.
#pragma once

#include <string>

#include "backend/choice.h"

namespace pesuite {

struct Rate {
  double flops = 1e9;           // FLOP/s of a cell in training
  double layer_seconds = 0;     // that a layer of a training step takes at least
  double start_seconds = 0;     // of a cell
  std::int64_t query_step = 0;  // Backend::query_step
};
// Of a device it is measured once and kept, by its machine and precision, in the user's folder of
// caches (rates.json). Where a device does not answer: the CPU's.
Rate measured_rate(const std::string& backend, Precision);

}  // namespace pesuite
