// Metrics over length that a suite's settings decide, and the mean over lengths never trained.
#include "analysis/length_metrics.h"

#include <gtest/gtest.h>

#include "tests/analysis/run_data.h"

namespace pesuite::testing {
namespace {

TEST(LengthMetrics, MeanOverLengthsThatTrainingNeverHad) {
  MadeUp m({"a"});
  TaskData& t = m.problem("copy", {32, 64, 128, 512});
  m.accuracy(t, 0, 1, 32, 0.2), m.accuracy(t, 0, 1, 64, 1), m.accuracy(t, 0, 1, 128, 0.96);
  m.accuracy(t, 0, 1, 512, 0.3);
  EXPECT_NEAR(mean_over_unseen(length_curve(t, *t.cell(0, 1), "")), (0.96 + 0.3) / 2, 1e-12);
  EXPECT_TRUE(std::isnan(mean_over_unseen({false, {{64, 1, 0.1}}}))) << "nothing unseen";
}

TEST(LengthMetrics, ThresholdsAndWeightsAreFree) {
  const LengthCurve c{false, {{64, 1, 0}, {128, 0.9, 0}, {256, 0.5, 0}}};
  LengthSettings s;
  EXPECT_EQ(effective_length(c, s), 64);
  s.accuracy = 0.85;
  EXPECT_EQ(effective_length(c, s), 128);
  const LengthCurve nats{true, {{64, 2.0, 0}, {128, 2.05, 0}, {256, 2.3, 0}}};
  EXPECT_EQ(effective_length(nats, s), 64);
  s.slack = 0.1;
  EXPECT_EQ(effective_length(nats, s), 128);
  for (const auto& [weights, mean] :
       {std::pair{"equal", (1 + 0.9 + 0.5) / 3}, std::pair{"rising", (1 + 2 * 0.9 + 3 * 0.5) / 6},
        std::pair{"falling", (3 + 2 * 0.9 + 0.5) / 6}, std::pair{"log2", (0.95 + 0.7) / 2}}) {
    s.weights = weights;
    EXPECT_NEAR(area_under_curve(c, s), mean, 1e-12) << weights;
  }
  s.own = {1, 3};  // and 3 for all further lengths
  EXPECT_NEAR(area_under_curve(c, s), (1 + 3 * 0.9 + 3 * 0.5) / 7, 1e-12);
}

}  // namespace
}  // namespace pesuite::testing
