// The one test of paired differences: closed forms, what it refuses, and the error rates that
// docs/statistics.md promises, by simulation of the rules as reports use them.
#include "analysis/paired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/calibrate.h"
#include "analysis/contest.h"
#include "tests/analysis/run_data.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;

TEST(PairedTest, IsThePlainPairedTWithoutCompany) {
  const PairedTest t({1, 2, 3, 4, 6});  // mean 3.2, s.d. 1.92354: t = 3.71992 on 4 degrees
  EXPECT_NEAR(t.p_two_sided(), 0.0204842, 1e-5);
  EXPECT_EQ(t.degrees(), 4);
  EXPECT_STREQ(t.name(), "paired t");
  EXPECT_NEAR(t.resolvable(), 1.24166 * t.deviation(), 1e-4);  // 2.776 / sqrt 5
  EXPECT_NEAR(t.interval().low, 3.2 - t.resolvable(), 1e-12);
}

TEST(PairedTest, RefusesTwoSeedsAndSeedsThatDoNotDiffer) {
  const PairedTest two({0.1, 0.105});
  EXPECT_FALSE(two.possible());
  EXPECT_STREQ(two.why_not(), "too few seeds");
  EXPECT_TRUE(std::isnan(two.p_two_sided()));
  const PairedTest same({0.1, 0.1, 0.1});
  EXPECT_STREQ(same.why_not(), "the seeds do not differ");
  EXPECT_TRUE(std::isnan(same.interval().low)) << "no interval of width 0";
  EXPECT_TRUE(std::isnan(same.p_equivalent(1)));
  EXPECT_TRUE(PairedTest({0.1, 0.1, 0.1}, {}, 1e-4).possible()) << "the evaluation has a spread";
}

TEST(PairedTest, SharesNothingBelowFourEncodings) {
  const std::vector<Differences> others = {{0, 1, 2, 3, 4}, {0, 1, 3, 2, 4}};
  EXPECT_EQ(company_of(others, 3).degrees, 0);
  const Company alike = company_of({others[0], others[1], others[0], others[1], others[0]}, 4);
  EXPECT_NEAR(alike.degrees, 0.5 * 3 * 4, 1e-9) << "at most";
  const Company unlike =
      company_of({{0, 1, 2, 3, 4}, {0, .1, .2, .3, .4}, {0, 9, 18, 27, 36}, {0, 1, 2, 3, 5}}, 4);
  EXPECT_LT(unlike.degrees, 1);
}

TEST(PairedTest, DoesNotCountItsOwnVarianceAsCompany) {
  std::vector<Differences> all(6, {0, 1, 2, 3, 4});
  all[2] = {0, 5, 9, 2, 40};
  const auto tests = tests_of(all, 4);
  EXPECT_NEAR(tests[2].degrees(), 4 + 0.5 * 3 * 4, 1e-9) << "the others are alike";
  EXPECT_LT(tests[0].degrees(), tests[2].degrees());
}

TEST(PairedTest, TakesFewSeedsToVaryAsTheirCompanyDoes) {
  const std::vector<Differences> all = {{1, 1.001, 1.002}, {0, 1, 2}, {2, 1, 0}};
  EXPECT_GT(tests_of(all, 3)[0].p_two_sided(), 0.05) << "three seeds may agree by luck";
}

TEST(PairedTest, AsksForSeedsThatGiveEightyPercentPower) {
  // R: power.t.test(delta = 1, sd = 1, power = 0.8, type = "paired") gives n = 9.94.
  const double x = std::sqrt(0.8);
  const PairedTest t({1 - x * std::sqrt(2.5), 1 + x * std::sqrt(2.5), 1, 1, 1});
  ASSERT_NEAR(t.deviation(), 1, 1e-12);
  EXPECT_NEAR(static_cast<double>(t.seeds_needed(0)), 10, 1);
  EXPECT_EQ(t.seeds_needed(1), 0u) << "no number of seeds shows what is not there";
}

TEST(PairedTest, CountsWhatIsInfiniteAsTheWorst) {
  constexpr double inf = Number::infinite;
  EXPECT_THAT(made_finite({-0.1, 0.3, inf}, 0.02), ElementsAre(-0.1, 0.3, 0.3));
  EXPECT_THAT(made_finite({-0.4, 0.3, inf}, 0.02), ElementsAre(-0.4, 0.3, 0.4));
  EXPECT_THAT(made_finite({inf, -inf}, 0.02), ElementsAre(0.02, -0.02));
}

// ---------------------------------------------------------------------------- altered records

MadeUp corpus_of(const std::vector<std::vector<double>>& regrets) {
  MadeUp m(std::vector<std::string>(regrets.size(), "e"));
  TaskData& t = m.corpus("corpus", {64, 256});
  for (std::size_t e = 0; e < regrets.size(); ++e)
    for (std::size_t s = 0; s < regrets[e].size(); ++s) {
      m.nats(t, e, s, 64, 0.02);
      m.nats(t, e, s, 256, regrets[e][s]);
    }
  return m;
}

Contest far(const MadeUp& m) {
  auto all = contests(m.run.tasks[0]);
  return all.back();
}

TEST(AlteredRecords, TwoSeedsOfTwoEncodingsAreNotTested) {
  const Contest c = far(corpus_of({{0.1, 0.2}, {0.2, 0.305}}));
  EXPECT_EQ(c.duels[0].verdict, Verdict::untested);
  EXPECT_EQ(c.unranked_because, "not tested, too few seeds");
}

TEST(AlteredRecords, AnInfiniteSeedNeverImprovesARank) {
  const std::vector<std::vector<double>> regrets = {{0.1, 0.12, 0.11, 0.13, 0.1},
                                                    {0.2, 0.21, 0.22, 0.2, 0.19},
                                                    {0.4, 0.43, 0.41, 0.42, 0.4},
                                                    {0.41, 0.42, 0.4, 0.43, 0.41}};
  const auto rank = [](const Contest& c, std::size_t e) {
    const auto at = std::find(c.ranked.begin(), c.ranked.end(), e);
    return c.ranks[static_cast<std::size_t>(at - c.ranked.begin())];
  };
  const Contest before = far(corpus_of(regrets));
  for (std::size_t e = 0; e < 4; ++e)
    for (std::size_t s = 0; s < 5; ++s) {
      auto altered = regrets;
      altered[e][s] = INFINITY;
      const Contest after = far(corpus_of(altered));
      EXPECT_GE(rank(after, e), rank(before, e)) << e << " " << s;
      EXPECT_EQ(rank(after, e), 4) << "it ranks last";
      for (const Duel& d : after.duels)
        EXPECT_FALSE(d.verdict == (d.first == e ? Verdict::first : Verdict::second) &&
                     (d.first == e || d.second == e));
    }
}

TEST(AlteredRecords, EncodingsAtHundredPercentMakeNoSmallDifferenceSure) {
  MadeUp m({"a", "b", "c", "d", "e", "f"});
  TaskData& t = m.problem("copy", {64, 128});
  for (std::size_t e = 0; e < 6; ++e)
    for (std::uint64_t s = 0; s < 3; ++s)
      m.accuracy(t, e, s, 64, 1), m.accuracy(t, e, s, 128, e == 5 ? 0.996 : 1);
  for (const Contest& c : contests(t))
    for (const Duel& d : c.duels) {
      EXPECT_FALSE(d.adjusted < 0.05) << d.first << " " << d.second;
      EXPECT_FALSE(d.high - d.low == 0);
    }
}

// -------------------------------------------------------------------------------- error rates

// A few cells of the tables; a slow test runs `pesuite calibrate`, which makes all.
TEST(ErrorRates, AreWhatIsPromised) {
  constexpr int runs = 200;
  const double limit = 0.05 + 3 * std::sqrt(0.05 * 0.95 / runs);
  for (std::size_t shape = 0; shape < calibration_shapes().size(); ++shape) {
    EXPECT_EQ(pair_rates(shape, 6, 2, 20).alarm, 0) << "two seeds are not tested";
    for (const auto& [encodings, seeds] : {std::pair{2u, 5u}, {6u, 3u}, {6u, 5u}}) {
      const Rates r = pair_rates(shape, encodings, seeds, runs);
      EXPECT_LE(r.alarm, limit) << calibration_shapes()[shape].name << " " << encodings;
      EXPECT_EQ(r.tiny, 0) << "below ten seeds";
      EXPECT_GE(r.coverage, 0.91) << calibration_shapes()[shape].name << " " << encodings;
    }
  }
  EXPECT_GE(pair_power(6, 5, 100), 0.7);
}

}  // namespace
}  // namespace pesuite::testing
