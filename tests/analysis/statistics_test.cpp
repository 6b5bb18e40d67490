// Statistics against published tables and closed forms.
#include "analysis/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <pesuite/random.hpp>

namespace pesuite::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(ClopperPearson, AgreesWithTheExactTable) {  // as R's binom.test prints them
  EXPECT_NEAR(clopper_pearson(7, 20).low, 0.1539092, 1e-6);
  EXPECT_NEAR(clopper_pearson(7, 20).high, 0.5921885, 1e-6);
  EXPECT_EQ(clopper_pearson(0, 10).low, 0);
  EXPECT_NEAR(clopper_pearson(0, 10).high, 1 - std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(clopper_pearson(3, 3).high, 1);
  EXPECT_NEAR(clopper_pearson(3, 3).low, std::cbrt(0.025), 1e-12);
  EXPECT_EQ(clopper_pearson(0, 0).low, 0);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1);
}

TEST(ClopperPearson, CoversAtLeastWhatItSaysAndWilsonAboutThat) {
  constexpr int n = 30, draws = 4000;
  for (const double p : {0.02, 0.3, 0.5, 0.95}) {
    int exact = 0, approximate = 0;
    for (int i = 0; i < draws; ++i) {
      pes::Random random(7, pes::purpose("coverage"), static_cast<std::uint64_t>(i));
      std::size_t k = 0;
      for (int j = 0; j < n; ++j) k += random.uniform() < p ? 1 : 0;
      const Interval c = clopper_pearson(k, n), w = wilson(static_cast<double>(k) / n, n);
      exact += c.low <= p && p <= c.high ? 1 : 0;
      approximate += w.low <= p && p <= w.high ? 1 : 0;
    }
    EXPECT_GE(exact, draws * 0.94) << p;
    EXPECT_GE(approximate, draws * 0.90) << p;
  }
}

TEST(Holm, AgreesWithAnExampleByHand) {
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12),
                          DoubleNear(0.02, 1e-12)));
  const auto with_gap = holm({0.04, nan, 0.9});
  EXPECT_NEAR(with_gap[0], 0.08, 1e-12);
  EXPECT_TRUE(std::isnan(with_gap[1]));
  EXPECT_EQ(with_gap[2], 0.9);
  // Two of four are rejected; each of the others would have had to reach 0.05 / 2.
  EXPECT_NEAR(holm_level({0.01, 0.04, 0.03, 0.005}), 0.025, 1e-12);
}

TEST(Shaffer, CountsWhatCanBeEqualAtOnce) {  // Shaffer 1986, table 1
  const auto counts = [](const Possible& p) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p[i]) out.push_back(i);
    return out;
  };
  EXPECT_THAT(counts(possible_equalities({3})), ElementsAre(0, 1, 3));
  EXPECT_THAT(counts(possible_equalities({4})), ElementsAre(0, 1, 2, 3, 6));
  EXPECT_THAT(counts(possible_equalities({6})), ElementsAre(0, 1, 2, 3, 4, 6, 7, 10, 15));
  EXPECT_THAT(counts(possible_equalities({3, 3})), ElementsAre(0, 1, 2, 3, 4, 6)) << "two lengths";
  EXPECT_THAT(counts(possible_equalities({0, 1, 2})), ElementsAre(0, 1));
}

TEST(Shaffer, PaysForNoMoreThanCanBeTrue) {
  const Possible three = possible_equalities({3});
  EXPECT_THAT(
      holm({0.01, 0.04, 0.03}, three),  // one differs, so at most one pair is equal
      ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.04, 1e-12), DoubleNear(0.03, 1e-12)));
  EXPECT_NEAR(holm_level({0.01, 0.04, 0.2}, 0.05, three), 0.05, 1e-12);
  EXPECT_NEAR(holm_level({0.02, 0.04, 0.2}, 0.05, three), 0.05 / 3, 1e-12);
  // One pair is not tested: the other two may both be among the three that are equal.
  EXPECT_THAT(holm({0.01, 0.04, nan}, three)[0], DoubleNear(0.02, 1e-12));
}

TEST(BenjaminiHochberg, AgreesWithAnExample) {  // R: p.adjust(c(.01, .04, .03, .005), "BH")
  EXPECT_THAT(benjamini_hochberg({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.02, 1e-12), DoubleNear(0.04, 1e-12), DoubleNear(0.04, 1e-12),
                          DoubleNear(0.02, 1e-12)));
  EXPECT_TRUE(std::isnan(benjamini_hochberg({nan, 0.2})[0]));
  EXPECT_EQ(benjamini_hochberg({nan, 0.2})[1], 0.2);
}

TEST(SignTest, IsTheBinomialTail) {
  EXPECT_NEAR(sign_test(5, 0), 1 / 32.0, 1e-12);
  EXPECT_NEAR(sign_test(4, 1), 6 / 32.0, 1e-12);
  EXPECT_EQ(sign_test(0, 5), 1);
}

// R: wilcox.test of Hollander and Wolfe's permeability data, W = 35, and of tied values.
TEST(MannWhitney, AgreesWithThePublishedExample) {
  const std::vector<double> x = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                            y = {1.15, 0.88, 0.90, 0.74, 1.21};
  EXPECT_NEAR(mann_whitney(x, y), 2 * 0.1272061, 1e-6);
  EXPECT_NEAR(mann_whitney(y, x), 2 * 0.1272061, 1e-6);
  EXPECT_NEAR(mann_whitney({1, 2, 3}, {4, 5, 6}), 0.1, 1e-12);
  EXPECT_NEAR(mann_whitney({1, 1, 2, 3}, {1, 4, 5, 5}), 0.1804, 5e-4);
  EXPECT_EQ(mann_whitney({1, 1}, {1, 1}), 1);
  EXPECT_TRUE(std::isnan(mann_whitney({}, {1})));
}

TEST(Friedman, AgreesWithAClosedFormAndCorrectsForTies) {
  // Without ties: 12 / (n k (k+1)) sum R^2 - 3 n (k+1), R the rank sums.
  const std::vector<std::vector<double>> ranks = {{1, 2, 3}, {1, 3, 2}, {1, 2, 3}, {2, 1, 3}};
  const double by_hand = 12.0 / (4 * 3 * 4) * (25 + 64 + 121) - 3 * 4 * 4;
  const Friedman f = friedman(ranks);
  EXPECT_NEAR(f.chi_square, by_hand, 1e-12);
  EXPECT_NEAR(f.p, std::exp(-by_hand / 2), 1e-12);  // chi-square on 2
  EXPECT_TRUE(std::isnan(friedman({{1.5, 1.5}, {1.5, 1.5}}).p));
  // Ties shrink the spread that chance allows: R's friedman.test(rbind(c(1,1,2),c(1,2,2),c(1,1,2)))
  EXPECT_NEAR(friedman({{1.5, 1.5, 3}, {1, 2.5, 2.5}, {1.5, 1.5, 3}}).chi_square, 4.6666667, 1e-6);
}

TEST(Nemenyi, AgreesWithThePublishedQuantiles) {  // Demsar 2006, table 5
  const double at_5[] = {1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164};
  const double at_10[] = {1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920};
  for (std::size_t k = 2; k <= 10; ++k) {
    EXPECT_NEAR(nemenyi_quantile(k), at_5[k - 2], 1e-3) << k;
    EXPECT_NEAR(nemenyi_quantile(k, 0.1), at_10[k - 2], 1e-3) << k;
  }
  EXPECT_NEAR(critical_difference(6, 20), 1.69, 0.005);
  EXPECT_NEAR(critical_difference(4, 14), 1.25, 0.005);  // its example, section 3.2.3
}

TEST(InterquartileMean, LeavesAQuarterOutAtEachEnd) {
  EXPECT_EQ(interquartile_mean({0, 1, 2, 100}), 1.5);
  EXPECT_EQ(interquartile_mean({5, 1, 3}), 3);
  EXPECT_EQ(interquartile_mean({1, 2, 3, 4, 5, 6, 7, 8, 9}), 5);
  EXPECT_TRUE(std::isnan(interquartile_mean({})));
}

TEST(InterquartileMean, HasAnIntervalOverWholeSeedsFromFiveOn) {
  const std::vector<std::vector<double>> seeds = {{0.4, 0.4}, {0.5, 0.5}, {0.6, 0.6}, {0.5, 0.4}};
  EXPECT_TRUE(std::isnan(interquartile_interval(seeds).low)) << "four seeds";
  auto five = seeds;
  five.push_back({0.45, 0.55});
  const Interval i = interquartile_interval(five);
  EXPECT_LT(i.low, 0.45);
  EXPECT_GT(i.high, 0.52);
  EXPECT_TRUE(std::isnan(interquartile_interval({{1}, {1}, {1}, {1}, {1}}).low)) << "no width of 0";
}

TEST(MeanRanks, ShareWhatIsEqual) {
  EXPECT_THAT(mean_ranks({3, 1, 3, 0}), ElementsAre(3.5, 2, 3.5, 1));
}

}  // namespace
}  // namespace pesuite::testing
