#include "model/health.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pesuite {
namespace {

TEST(SpikeScore, CountsRobustDeviations) {
  std::vector<double> before;
  EXPECT_EQ(spike_score(before, 9), 0);  // nothing to hold it against
  for (int i = 0; i < 64; ++i) before.push_back(3 + (i % 2 == 0 ? 0.1 : -0.1));
  EXPECT_NEAR(spike_score(before, 3.1 + 0.5), 0.5 / (1.4826 * 0.2), 1e-9);  // median 3.1, MAD 0.2
  EXPECT_LT(spike_score(before, 2.5), 0);
  before[5] = 1e9;  // one outlier moves nothing
  EXPECT_NEAR(spike_score(before, 3.6), 0.5 / (1.4826 * 0.2), 1e-9);
  EXPECT_EQ(spike_score(std::vector<double>(32, 2.0), 2.5), 1e6);
}

TEST(Entropy, OfUniformAndOfCertainAnswers) {
  EXPECT_NEAR(entropy_of({1, 1, 1, 1}, 4), std::log(4.0), 1e-12);
  EXPECT_NEAR(entropy_of({0, 800, 0}, 3), 0, 1e-12);
  EXPECT_NEAR(entropy_of({0, 0, 0, 800}, 2), std::log(2.0) / 2, 1e-12);
  const double p = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(entropy_of({0, 1}, 2), -p * std::log(p) - (1 - p) * std::log(1 - p), 1e-12);
}

}  // namespace
}  // namespace pesuite
