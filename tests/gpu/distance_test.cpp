// A table by distance as a bias tensor and back: the kernels, run on the host, against plain sums
// over queries and keys.
#include "backend/cuda/distance.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace pesuite::testing {
namespace {

using namespace cuda;

// Multiples of 1/8 up to 8: exact in 16 bits.
template <class Number = float>
std::vector<Number> ramp(Index n) {
  std::vector<Number> v;
  for (Index i = 0; i < n; ++i) v.push_back(Number(static_cast<float>(i * 37 % 101) / 8 - 5));
  return v;
}

template <class Number>
void expect_diagonals(Type type) {
  Queue queue(0);
  for (const Index first : {0, 3})
    for (const bool add : {false, true}) {
      const DistanceShape s = {2, 9, 5, 5 + first, first};
      constexpr Index batch = 3;
      const auto dbias = ramp<Number>(batch * s.rows * s.T * s.S);
      std::vector<float> dtable(static_cast<std::size_t>(s.rows * s.N), 2.0f);
      sum_distance(queue, {dtable.data(), add}, dbias.data(), type, batch, s);
      for (Index row = 0; row < s.rows; ++row)
        for (Index d = 0; d < s.N; ++d) {
          double expected = add ? 2 : 0;
          for (Index b = 0; b < batch; ++b)
            for (Index i = 0; i < s.T; ++i)
              for (Index j = 0; j < s.S; ++j)
                if (first + i - j == d)
                  expected += static_cast<float>(
                      dbias[static_cast<std::size_t>(((b * s.rows + row) * s.T + i) * s.S + j)]);
          EXPECT_NEAR(dtable[static_cast<std::size_t>(row * s.N + d)], expected, 1e-4)
              << "row " << row << ", distance " << d;
        }
    }
}
TEST(Distance, GradientSumsDiagonals) {
  expect_diagonals<__nv_bfloat16>(Type::bf16);
  expect_diagonals<__half>(Type::fp16);
}

TEST(Distance, ExpandsToWhatTheAttentionAdds) {
  Queue queue(0);
  const DistanceShape s = {2, 9, 6, 6, 0};
  constexpr Index pitch = 8;
  const auto table = ramp(18);
  std::vector<__nv_bfloat16> bias(static_cast<std::size_t>(s.rows * s.T * pitch));
  expand_distance(queue, bias.data(), Type::bf16, pitch, table.data(), s);
  for (Index row = 0; row < s.rows; ++row) {
    const auto from = table.begin() + row * s.N;
    const float largest = *std::max_element(from, from + s.T);  // of the distances that occur
    for (Index i = 0; i < s.T; ++i)
      for (Index j = 0; j < pitch; ++j)
        EXPECT_EQ(static_cast<float>(bias[static_cast<std::size_t>((row * s.T + i) * pitch + j)]),
                  j <= i ? from[i - j] - largest : 0)
            << row << " " << i << " " << j << ": 0 where it is not seen, and no mask either";
  }
}

TEST(Distance, ReadsNoKeyThatIsNotSeen) {
  Queue queue(0);
  const DistanceShape s = {1, 4, 4, 4, 0};
  std::vector<__nv_bfloat16> dbias(16, __nv_bfloat16(std::nanf("")));
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j <= i; ++j) dbias[i * 4 + j] = __nv_bfloat16(1.0f);
  std::vector<float> dtable(4);
  sum_distance(queue, {dtable.data(), false}, dbias.data(), Type::bf16, 1, s);
  EXPECT_EQ(dtable, (std::vector<float>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace pesuite::testing
