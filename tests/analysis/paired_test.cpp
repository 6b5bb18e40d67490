// The one test of paired differences: closed forms, what it refuses, and the error rates that
// docs/statistics.md promises, by simulation of the rules as reports use them.
#include "analysis/paired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "analysis/answer.h"
#include "analysis/calibrate.h"
#include "analysis/contest.h"
#include "analysis/judge.h"
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
  EXPECT_NEAR(company_of(others, 3).floor, 0.75 * 2.5, 1e-12) << "but luck is not believed";
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

// Three of five seeds near 100 % and none far below: where the mean is 5 points lower, they vary
// more.
TEST(PairedTest, TakesAnAccuracyAloneToVaryAsItWouldThere) {
  const Differences losses = {0.01, 0.02, 0.01, 0.02, 0.015};
  const PairedTest plain(losses), alone = test_alone(losses, {}, 0.985, 0.95);
  EXPECT_NEAR(alone.deviation() / plain.deviation(), std::sqrt(0.95 * 0.05 / (0.985 * 0.015)),
              1e-9);
  EXPECT_NEAR(test_alone(losses, {}, 0.6, 0.95).deviation(), plain.deviation(), 1e-12);
  EXPECT_NEAR(test_alone(losses, {{0, 0.3, 0.6, 0.1, 0}}, 0.6, 0.95).deviation(),
              PairedTest({0, 0.3, 0.6, 0.1, 0}).deviation(), 1e-12)
      << "at least as others";
  EXPECT_FALSE(test_alone({0.01, 0.02, 0.01}, {}, 0.98, 0.95).possible());
  EXPECT_STREQ(test_alone({0.01, 0.02, 0.01}, {}, 0.98, 0.95).why_not(), "too few seeds");
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

TEST(AlteredRecords, EqualSeedsNeverGiveAnIntervalOfWidthNought) {
  for (const std::size_t seeds : {2u, 3u, 5u}) {
    const MadeUp m =
        corpus_of({std::vector<double>(seeds, 0.1), std::vector<double>(seeds, 0.205)});
    for (const Contest& c : contests(m.run.tasks[0]))
      for (const Duel& d : c.duels) {
        EXPECT_EQ(d.verdict, Verdict::untested);
        EXPECT_TRUE(std::isnan(d.low) && std::isnan(d.high) && std::isnan(d.p));
      }
    Hypothesis h;
    h.comparisons = parse_hypothesis("regret(e, 4x) < 0.2");
    const Judged j = judge(m.run, {h})[0];
    EXPECT_EQ(j.judgement, Judgement::untested);
    EXPECT_TRUE(std::isnan(j.evidence[0].low) && std::isnan(j.evidence[0].bound));
    EXPECT_TRUE(std::isnan(summarize(scores(far(m).ground, 0)).t_low));
    for (const LengthAnswer& e : answer_of(m.run.tasks[0]).encodings)
      EXPECT_EQ(e.verdict, LengthVerdict::untested);
  }
}

// -------------------------------------------------------------------------------- error rates

TEST(MadeUpResults, HaveStreamsOfTheirOwn) {
  std::set<double> firsts;
  std::size_t drawn = 0;
  for (const std::size_t encodings : {1u, 2u, 3u})
    for (const std::size_t seeds : {3u, 5u, 10u})
      for (std::uint64_t run = 0; run < 300; ++run, ++drawn)
        firsts.insert(made_up({0, encodings, seeds}, run)[0][0]);
  EXPECT_EQ(firsts.size(), drawn) << "no two conditions draw from one stream";
}

// A few conditions of the tables; a slow test runs `pesuite calibrate`, which makes all.
TEST(ErrorRates, AreWhatIsPromised) {
  constexpr std::uint64_t runs = 200;
  for (std::size_t shape = 0; shape < calibration_shapes().size(); ++shape) {
    for (const double x : rates({shape, 6, 2}, 0, 5).of) EXPECT_EQ(x, 0) << "two are not tested";
    for (const Conditions& s : {Conditions{shape, 2, 5}, {shape, 6, 3}, {shape, 6, 5}}) {
      const Rates r = rates(s, 0, runs);
      for (std::size_t kind = 0; kind < wrongs; ++kind)
        EXPECT_LE(r.of[kind], 0.02 + wrong_kinds()[kind].limit(runs))
            << calibration_shapes()[shape].name << ", " << s.encodings << " encodings, "
            << wrong_kinds()[kind].name;
      EXPECT_EQ(r.of[tiny], 0) << "below twenty seeds";
    }
  }
}

// The best rule known that holds its level is within reach.
TEST(ErrorRates, LeavePower) {
  EXPECT_GE(power(Rule::ours, {0, 3, 5}, 400), 0.85 * power(Rule::prior, {0, 3, 5}, 400));
  EXPECT_GE(power(Rule::ours, {0, 6, 5}, 200), 0.85 * power(Rule::limma, {0, 6, 5}, 200));
}

}  // namespace
}  // namespace pesuite::testing
