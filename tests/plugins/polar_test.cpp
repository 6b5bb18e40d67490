// Polar encodings: what must hold for any content.
#include <gmock/gmock.h>

#include <numbers>

#include "base/error.h"
#include "tests/plugins/hooks.h"

namespace pesuite::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const golden::Values q = drawn({1, 2, 6, 8}, 1), k = drawn({1, 2, 6, 8}, 2);

TEST(PopeTest, ScoresDependOnDistanceAlone) {
  for (const char* expression : {"pope", "pope(init=uniform)", "pope(features=6, base=100)"}) {
    Hooks h(expression);
    EXPECT_THAT(h.scores(q, k, 100), Pointwise(DoubleNear(1e-11), h.scores(q, k, 0))) << expression;
    EXPECT_THAT(h.scores(q, k, 1 << 16), Pointwise(DoubleNear(1e-9), h.scores(q, k, 0)))
        << expression;
  }
}
TEST(PopeTest, LayoutsGiveEqualScores) {
  EXPECT_THAT(Hooks("pope(init=uniform, layout=interleaved)").scores(q, k),
              Pointwise(DoubleNear(1e-12), Hooks("pope(init=uniform)").scores(q, k)));
}
// With fewer key heads the bias turns queries instead; the scores are those of repeated keys.
TEST(PopeTest, GroupedKeysScoreAsRepeatedOnes) {
  golden::Values one{{1, 1, 6, 8}, {k.data.begin(), k.data.begin() + 48}}, twice = k;
  std::copy_n(one.data.begin(), 48, twice.data.begin() + 48);
  Hooks grouped("pope(init=uniform)", {1, 2, 1, 8, 16, 64, 4096}), plain("pope(init=uniform)");
  EXPECT_THAT(grouped.scores(q, one), Pointwise(DoubleNear(1e-12), plain.scores(q, twice)));
}
TEST(PopeTest, MagnitudeIsContentAndPhaseIsPosition) {
  Hooks h("pope(layout=interleaved, base=100)");
  const auto out = h.turned(q, k)[0];  // [1, H, T, 2 D]
  for (int n = 0; n < 6; ++n)
    for (int c = 0; c < 8; ++c) {
      const double x = out[static_cast<std::size_t>((n * 8 + c) * 2)],
                   y = out[static_cast<std::size_t>((n * 8 + c) * 2 + 1)];
      const double content = q.data[static_cast<std::size_t>(n * 8 + c)];
      EXPECT_NEAR(std::hypot(x, y), std::log1p(std::exp(content)), 1e-12);
      const double w = std::pow(100, -c / 8.0);
      EXPECT_NEAR(std::remainder(std::atan2(y, x) - n * w, 2 * std::numbers::pi), 0, 1e-12);
    }
}
TEST(PopeTest, BiasesStartWhereTheyMayBe) {
  const Hooks zero("pope"), uniform("pope(init=uniform)");
  for (const double d : zero.parameters[0].data) EXPECT_EQ(d, 0);
  double least = 0, most = -7;
  for (const double d : uniform.parameters[0].data) {
    least = std::min(least, d);
    most = std::max(most, d);
  }
  EXPECT_GE(least, -2 * std::numbers::pi);
  EXPECT_LT(least, -4);
  EXPECT_LE(most, 0);
  EXPECT_GT(most, -2);
}
TEST(PopeTest, RefusesMoreFeaturesThanAHeadHas) {
  try {
    Hooks("pope(features=9)");
    FAIL() << "a head has 8";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("at most the 8 features of a head, not 9"));
  }
}

}  // namespace
}  // namespace pesuite::testing
