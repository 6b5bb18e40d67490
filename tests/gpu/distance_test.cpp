// The arithmetic of a table by distance on the device, computed on the host against plain sums over
// queries and keys.
#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cuda/distance.h"

namespace pesuite::testing {
namespace {

using cuda::DistanceShape;

std::vector<float> ramp(std::size_t n) {
  std::vector<float> v;
  for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<float>((i * 37) % 101) / 8 - 5);
  return v;
}

// sum over b, i, j of dbias bias moves with the table by the gradient: exact, since it is linear.
TEST(Distance, GradientIsThatOfTheExpansion) {
  for (const std::int64_t first : {0, 3}) {
    const DistanceShape s = {2, 9, 5, 5 + first, first};
    constexpr std::int64_t batch = 3;
    const auto dbias = ramp(static_cast<std::size_t>(batch * s.rows * s.T * s.S));
    const float none[] = {0, 0};
    for (std::int64_t row = 0; row < s.rows; ++row)
      for (std::int64_t d = 0; d < s.N; ++d) {
        std::vector<float> unit(static_cast<std::size_t>(s.rows * s.N));
        unit[static_cast<std::size_t>(row * s.N + d)] = 1;
        double expected = 0;
        for (std::int64_t b = 0; b < batch; ++b)
          for (std::int64_t i = 0; i < s.T; ++i)
            for (std::int64_t j = 0; j < s.S; ++j)
              expected += static_cast<double>(bias_element(unit.data(), none, s, row, i, j)) *
                          dbias[static_cast<std::size_t>(((b * s.rows + row) * s.T + i) * s.S + j)];
        EXPECT_NEAR(diagonal_sum(dbias.data(), batch, s, row, d), expected, 1e-4)
            << "row " << row << ", distance " << d;
      }
  }
}

TEST(Distance, ExpandsToWhatTheAttentionAdds) {
  const DistanceShape s = {2, 6, 6, 6, 0};
  const auto table = ramp(12);
  const float largest[] = {*std::max_element(table.begin(), table.begin() + 6),
                           *std::max_element(table.begin() + 6, table.end())};
  EXPECT_EQ(bias_element(table.data(), largest, s, 1, 4, 1), table[6 + 3] - largest[1]);
  EXPECT_EQ(bias_element(table.data(), largest, s, 0, 2, 2), table[0] - largest[0]);
  EXPECT_EQ(bias_element(table.data(), largest, s, 0, 2, 3), 0) << "not seen, and no mask either";
}

TEST(Distance, ReadsNoKeyThatIsNotSeen) {
  const DistanceShape s = {1, 4, 4, 4, 0};
  std::vector<__nv_bfloat16> dbias(16, __nv_bfloat16(std::nanf("")));
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j <= i; ++j) dbias[i * 4 + j] = __nv_bfloat16(1.0f);
  for (std::int64_t d = 0; d < 4; ++d)
    EXPECT_EQ(diagonal_sum(dbias.data(), 1, s, 0, d), static_cast<float>(4 - d));
}

}  // namespace
}  // namespace pesuite::testing
