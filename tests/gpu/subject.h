// The backend that conformance tests are about. Two programs are made of the same tests: in one its
// kernels run on the host, in the other on a device.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "tests/support.h"

namespace pesuite::testing {

// |a - b| / |b|; 0 where b is nothing but rounding
inline double relative(const Values& a, const Values& b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < b.data.size(); ++i) {
    apart += std::pow(a.data[i] - b.data[i], 2);
    size += std::pow(b.data[i], 2);
  }
  return std::sqrt(size > 1e-6 ? apart / size : apart);
}

// "", or why there is nothing to test.
std::string absent();
std::unique_ptr<Backend> subject(Precision);
// Runs its threads in another order, where that can be asked for.
std::unique_ptr<Backend> subject_backwards();
// Kernels started so far; -1 where nobody counts them.
long launches();

// The same with and without CUDA graphs.
std::unique_ptr<Backend> subject_with_graphs(Precision);
std::unique_ptr<Backend> subject_without_graphs(Precision);
// Graphs that it has run; -1 where nobody counts them.
long graphs_run(Backend&);

// Products in bf16 and little memory for fused attention, by cuDNN alone, or by tiles that leave
// it what is level. On the host only.
std::unique_ptr<Backend> subject_with(std::int64_t bytes_for_attention);
std::unique_ptr<Backend> subject_with_tiles(std::int64_t bytes_for_attention);

// Products in bf16, and what lies beyond the level of a table by cuDNN.
std::unique_ptr<Backend> subject_that_splits();

}  // namespace pesuite::testing
