// A table by distance as a bias tensor, and the gradient of the table from that of the bias. The
// arithmetic of an element stands here, for the device and for tests on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/cuda/request.h"

#ifdef __CUDACC__
#define PESUITE_ON_BOTH __host__ __device__
#else
#define PESUITE_ON_BOTH
#endif

namespace pesuite::cuda {

// The table [rows, N], rows being H or 1, and the bias [1, rows, T, S] that stands for it.
struct DistanceShape {
  std::int64_t rows = 0, N = 0, T = 0, S = 0;
  std::int64_t first = 0;  // query i stands at position first + i
};

// bias[row, i, j]: the table's entry less the largest of its row, which the softmax ignores and
// which makes the weightiest keys exact in 16 bits. 0 where the query does not see the key: the
// mask is the graph's, and large negative numbers in a bias are not safe.
PESUITE_ON_BOTH inline float bias_element(const float* table, const float* largest,
                                          const DistanceShape& s, std::int64_t row, std::int64_t i,
                                          std::int64_t j) {
  const std::int64_t distance = s.first + i - j;
  return distance < 0 ? 0 : table[row * s.N + distance] - largest[row];
}

// dtable[row, distance]: the sum of one diagonal over a batch of gradients [batch, rows, T, S], in
// fp32 and a fixed order. Only keys that the query sees are read: what stands in the others is not
// documented.
template <class Number>
PESUITE_ON_BOTH float diagonal_sum(const Number* dbias, std::int64_t batch, const DistanceShape& s,
                                   std::int64_t row, std::int64_t distance) {
  float sum = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    const Number* const map = dbias + (b * s.rows + row) * s.T * s.S;
    for (std::int64_t i = 0; i < s.T; ++i) {
      const std::int64_t j = s.first + i - distance;
      if (j >= 0 && j < s.S) sum += static_cast<float>(map[i * s.S + j]);
    }
  }
  return sum;
}

// Both queue their kernel on the stream. All pointers are of the device; table, largest and dtable
// are fp32. `type` is bf16 or fp16, of the bias and of its gradient.
//
// bias [1, rows, T, S], a row every `pitch` elements; largest [rows], scratch.
cudaError_t expand_distance(void* bias, Type type, std::int64_t pitch, float* largest,
                            const float* table, const DistanceShape&, cudaStream_t);
// dtable [rows, N], replaced or added to; dbias [batch, rows, T, S], dense.
cudaError_t sum_distance(float* dtable, bool add, const void* dbias, Type type, std::int64_t batch,
                         const DistanceShape&, cudaStream_t);

}  // namespace pesuite::cuda
