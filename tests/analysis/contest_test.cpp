// Who beats whom: the gate, ties, what diverged, one seed, ranks over tasks, and the sentences.
#include "analysis/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <pesuite/random.hpp>

#include "analysis/discoveries.h"
#include "analysis/length_metrics.h"
#include "report/findings.h"
#include "tests/analysis/run_data.h"

namespace pesuite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> plain(const std::vector<Text>& all) {
  std::vector<std::string> out;
  for (const Text& t : all) out.push_back(t.plain());
  return out;
}

// a and b are alike, c is worse by `gap` at 4x; seeds move all by the same, and each a little.
MadeUp three(std::size_t seeds, double gap, double noise = 0.002) {
  MadeUp m({"a", "b", "c"});
  TaskData& t = m.corpus("corpus", {64, 256});
  for (std::uint64_t s = 0; s < seeds; ++s)
    for (std::size_t e = 0; e < 3; ++e) {
      const double own = noise * pes::Random(1, pes::purpose("seeds"), 10 * s + e).normal();
      m.nats(t, e, s, 64, 0.03 + own / 100);
      m.nats(t, e, s, 256, 0.1 + 0.05 * static_cast<double>(s) + own + (e == 2 ? gap : 0));
    }
  return m;
}

const Contest& at(const std::vector<Contest>& all, int length) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const Contest& c) { return c.ground.length == length; });
}

// Nothing is right: at chance also where a task states none for whole examples; of tokens unknown.
TEST(AtChance, IsWhereNothingIsRight) {
  MadeUp m({"a"});
  TaskData& t = m.problem("sum", {64});
  for (const char* metric : {"em", "acc"}) {
    Number none_right;
    none_right.value = none_right.low = 0, none_right.high = 0.01, none_right.n = 500;
    m.cell(t, 0, 1).evals[Place{metric, "", 64, {}, "", 0, 0}] = none_right;
  }
  const auto of = [](const char* metric) { return Place{metric, "", 64, {}, "", 0, 0}; };
  EXPECT_EQ(at_chance(t, 0, of("em")), AtChance::all);
  EXPECT_EQ(at_chance(t, 0, of("acc")), AtChance::no);
  EXPECT_EQ(chance_to_beat(t, of("em")), 0);
  EXPECT_TRUE(std::isnan(chance_of(t, of("em"))));
}

TEST(Contest, CallsADifferenceThatPairsOfSeedsShow) {
  const MadeUp m = three(3, 0.3);
  const auto all = contests(m.run.tasks[0]);
  const Contest& c = at(all, 256);
  EXPECT_EQ(c.duel(0, 2)->verdict, Verdict::first);
  EXPECT_EQ(c.duel(1, 2)->verdict, Verdict::first);
  EXPECT_NEAR(c.duel(0, 2)->difference, -0.3, 0.01);
  EXPECT_NE(c.duel(0, 1)->verdict, Verdict::first);
  EXPECT_NE(c.duel(0, 1)->verdict, Verdict::second);
  std::vector<double> ranks(3);
  for (std::size_t i = 0; i < 3; ++i) ranks[c.ranked[i]] = c.ranks[i];
  EXPECT_THAT(ranks, ElementsAre(1.5, 1.5, 3));
  const auto said = plain(task_findings(m.run, m.run.tasks[0], all));
  EXPECT_THAT(said.back(), AllOf(HasSubstr("beats c by 0."), HasSubstr("Ranks: ")));
}

TEST(Contest, CallsNothingThatIsSmallerThanWhatMatters) {
  const MadeUp m = three(5, 0.01, 0.0001);
  const Contest c = at(contests(m.run.tasks[0]), 256);
  EXPECT_LT(c.duel(0, 2)->adjusted, 0.05);
  EXPECT_EQ(c.duel(0, 2)->verdict, Verdict::equivalent) << "within 0.02 nats, and shown to be";
}

TEST(Contest, PaysForEveryPairThatItCallsEquivalent) {
  const MadeUp m = three(5, 0.005, 0.003);
  const Contest c = at(contests(m.run.tasks[0]), 256);
  std::vector<double> alone, adjusted;
  std::vector<Differences> differences;
  for (const Duel& d : c.duels) {
    differences.emplace_back();
    const auto a = scores(c.ground, d.first), b = scores(c.ground, d.second);
    for (std::size_t s = 0; s < a.size(); ++s)
      differences.back().push_back(a[s].value - b[s].value);
    adjusted.push_back(d.equivalent);
  }
  for (const PairedTest& t : tests_of(differences, 3)) alone.push_back(t.p_equivalent(0.02));
  // At the training length the same three pairs are asked, and are closer: here the last three.
  EXPECT_THAT(adjusted, ::testing::Pointwise(::testing::DoubleNear(1e-12), holm(alone)));
  EXPECT_GT(adjusted, alone);
}

TEST(Contest, CountsItsTestsAndWhatStaysOfThemAll) {
  const MadeUp m = three(5, 0.3);
  Hypothesis h;
  h.comparisons = parse_hypothesis("regret(a, 4x) < regret(c, 4x)");
  const Discoveries d = discoveries(m.run, {contests(m.run.tasks[0])}, judge(m.run, {h}));
  EXPECT_EQ(d.families, 3u) << "pairs, losses, hypotheses";
  EXPECT_EQ(d.tests, 6u + 3u + 1u) << "three pairs at two lengths, three losses, one hypothesis";
  EXPECT_GE(d.called, 3u);
  EXPECT_EQ(d.kept, d.called);
  EXPECT_EQ(discoveries(three(1, 5).run, {contests(three(1, 5).run.tasks[0])}, {}).tests, 0u);
}

TEST(Contest, PrintsBesideATieWhatCouldHaveBeenSeen) {
  const MadeUp m = three(3, 0.05, 0.08);
  const auto all = contests(m.run.tasks[0]);
  const Contest& c = at(all, 256);
  EXPECT_EQ(c.duel(0, 2)->verdict, Verdict::tie);
  EXPECT_GT(c.duel(0, 2)->resolvable, 0.05);
  const Duel& d = *c.duel(0, 2);
  EXPECT_EQ(d.needed > 3, std::abs(d.difference) >= 0.02) << "seeds for what matters";
  const auto said = plain(task_findings(m.run, m.run.tasks[0], all));
  EXPECT_THAT(said.back(), AllOf(HasSubstr("no difference between the 3 encodings is resolvable "
                                           "with 3 seeds"),
                                 HasSubstr("smallest that could have been called")));
}

TEST(Contest, CallsNothingFromOneSeed) {
  const MadeUp m = three(1, 5);
  const Contest c = at(contests(m.run.tasks[0]), 256);
  EXPECT_EQ(c.unranked_because, "not tested, too few seeds");
}

TEST(Contest, RanksOnlyWhatLearnedItsTask) {
  MadeUp m({"good", "fair", "never"});
  TaskData& t = m.problem("copy", {64, 128});
  for (std::uint64_t s = 0; s < 5; ++s) {
    m.accuracy(t, 0, s, 64, 1), m.accuracy(t, 0, s, 128, 0.9 + 0.001 * static_cast<double>(s));
    m.accuracy(t, 1, s, 64, s == 0 ? 0.5 : 0.99), m.accuracy(t, 1, s, 128, 0.4);
    m.accuracy(t, 2, s, 64, s < 2 ? 0.5 : 1), m.accuracy(t, 2, s, 128, 0.99);
  }
  EXPECT_EQ(learned(t, 1), Learned::yes) << "4 of 5 seeds are 80 %";
  EXPECT_EQ(learned(t, 2), Learned::no);
  const auto all = contests(t);
  EXPECT_THAT(at(all, 128).ranked, ElementsAre(0, 1));
  EXPECT_THAT(at(all, 128).encodings, ElementsAre(0, 1, 2)) << "shown all the same";
  EXPECT_THAT(at(all, 64).ranked, ::testing::SizeIs(3)) << "in distribution all are compared";
  EXPECT_EQ(at(all, 128).duel(0, 1)->verdict, Verdict::first);
  EXPECT_THAT(plain(task_findings(m.run, t, all))[0],
              HasSubstr("Not ranked beyond the training length"));
}

// The gate, the ranks and the findings go by one protocol.
TEST(Contest, GatesUnderTheProtocolThatRanks) {
  MadeUp m({"a", "b"});
  TaskData& t = m.corpus("corpus", {64, 128});
  t.protocols = {"non_overlapping", "sliding(16)"};
  for (const std::size_t e : {0u, 1u}) {
    CellData& c = m.cell(t, e, 1);
    for (const auto& [protocol, nats] :
         {std::pair{"non_overlapping", 2.11}, {"sliding(16)", 2.08}}) {
      c.evals[whole("nll", protocol, 64)].value = nats + (e == 1 ? 0.1 : 0);
      c.evals[whole("optimum", protocol, 64)].value = 2;
    }
  }
  EXPECT_EQ(learned(t, 0), Learned::yes) << "4 % from the optimum there, 5.5 % elsewhere";
  EXPECT_EQ(learned(t, 1), Learned::no);
  EXPECT_EQ(learned_distance(t, 1), "9.0 % from the optimum");
  EXPECT_FALSE(swapped_in(t, 1));
  t.encoded[1] = "b => c(scale=8)";
  EXPECT_TRUE(swapped_in(t, 1));
  EXPECT_EQ(learned_distance(t, 1), "9.0 % from the optimum with what is swapped in");
}

TEST(Contest, TellsThatNothingWasLearnedFromALittleBehind) {
  MadeUp m({"a", "b"});
  TaskData& t = m.corpus("corpus", {64});
  m.nats(t, 0, 1, 64, 0.12), m.nats(t, 1, 1, 64, 1.95);
  for (const std::size_t e : {0u, 1u})
    m.cell(t, e, 1).evals[whole("unigram", t.protocols[0], 64)].value = 4;
  EXPECT_EQ(learned_distance(t, 0), "6.0 % from the optimum");
  EXPECT_EQ(learned_distance(t, 1), "97.5 % from the optimum, hardly better than without context");
}

TEST(Contest, NamesWhoIsBetterAndWasLeftOut) {
  MadeUp m({"flat", "a", "b"});
  TaskData& t = m.corpus("corpus", {64, 256});
  for (std::uint64_t s = 0; s < 3; ++s)
    for (std::size_t e = 0; e < 3; ++e) {
      const double own = 0.002 * static_cast<double>((s + e) % 3);
      m.nats(t, e, s, 64, (e == 0 ? 0.2 : 0.02) + own);
      m.nats(t, e, s, 256, (e == 0 ? 0.2 : 0.5) + own);
    }
  EXPECT_THAT(plain(task_findings(m.run, t, contests(t))).back(),
              HasSubstr("flat is better (0.202 against 0.502) but left out: not learned (10.1 % "
                        "from the optimum)"));
}

TEST(Contest, PrintsNoSmallerPThanItsSeedsAllow) {
  EXPECT_EQ(p_text(0.00001, 3), "p < 0.01");
  EXPECT_EQ(p_text(0.00001, 20), "p < 0.001");
}

// Where no optimum is known the best encoding sets the standard, not the luckiest of all cells.
TEST(Contest, MeasuresAgainstTheBestMeanWhereNoOptimumIsKnown) {
  MadeUp m({"lucky", "steady", "never"});
  TaskData& t = m.corpus("text", {64, 128});
  const double nats[3][3] = {{2.0, 2.3, 2.3}, {2.2, 2.2, 2.2}, {2.4, 2.4, 2.4}};
  for (std::uint64_t s = 0; s < 3; ++s)
    for (std::size_t e = 0; e < 3; ++e)
      m.cell(t, e, s).evals[whole("nll", t.protocols[0], 64)].value = nats[e][s];
  EXPECT_EQ(learned(t, 1), Learned::yes) << "within 5 % of 2.2, not of 2.0";
  EXPECT_EQ(learned(t, 2), Learned::no);
}

TEST(Contest, RanksNothingAtChance) {
  MadeUp m({"a", "b"});
  TaskData& t = m.problem("sum", {64, 128});
  for (std::uint64_t s = 0; s < 3; ++s)
    for (std::size_t e = 0; e < 2; ++e)
      m.accuracy(t, e, s, 64, 1), m.accuracy(t, e, s, 128, e == 0 ? 0.101 : 0.095);
  EXPECT_EQ(at(contests(t), 128).unranked_because, "every interval holds the chance level");
}

TEST(Contest, CountsDivergedSeedsAsWorstAndCrashedOnesNotAtAll) {
  MadeUp m = three(6, 0.0);
  TaskData& t = m.run.tasks[0];
  for (std::uint64_t s = 0; s < 6; ++s) {
    t.cells[{2, s}].evals[whole("regret", "last(32)", 256)].value = INFINITY;
    t.cells[{2, s}].evals[whole("nll", "last(32)", 256)].value = INFINITY;
  }
  Contest c = at(contests(t), 256);
  EXPECT_EQ(c.duel(0, 2)->infinite, 6u);
  EXPECT_STREQ(c.duel(0, 2)->test, "sign test");
  EXPECT_NEAR(c.duel(0, 2)->p, 2 / 64.0, 1e-12);
  t.cells[{0, 5}] = {};
  m.diverge(t, 0, 5, "crash");
  c = at(contests(t), 256);
  EXPECT_EQ(c.duel(0, 2)->seeds, 5u) << "a crash says nothing about the encoding";
  t.cells[{0, 5}].status = "diverged";
  const auto values = scores(c.ground, 0);
  EXPECT_TRUE(std::isinf(values[5].value));
}

// What is called in an answer pays for all its lengths.
TEST(Contest, CorrectsOverAllLengthsOfATask) {
  MadeUp one({"a", "b"}), three({"a", "b"});
  one.corpus("corpus", {64, 256}), three.corpus("corpus", {64, 256, 512, 1024});
  for (std::uint64_t s = 0; s < 5; ++s)
    for (std::size_t e = 0; e < 2; ++e)
      for (MadeUp* m : {&one, &three}) {
        TaskData& t = m->run.tasks[0];
        for (const int length : t.lengths) {
          const double own = length == 64 ? 0 : 0.002 * static_cast<double>((3 * s + e) % 5);
          m->nats(t, e, s, length, 0.02 + own + (e == 1 && length == 256 ? 0.01 : 0));
        }
      }
  const Contest alone = at(contests(one.run.tasks[0]), 256),
                company = at(contests(three.run.tasks[0]), 256);
  EXPECT_NEAR(alone.duels[0].adjusted, alone.duels[0].p, 1e-12);
  EXPECT_NEAR(company.duels[0].adjusted, 3 * company.duels[0].p, 1e-12);
}

TEST(Across, TestsNoOrderBelowFiveTasks) {
  MadeUp m({"a", "b"});
  for (int i = 0; i < 4; ++i) m.problem("t" + std::to_string(i), {64, 128});
  for (TaskData& t : m.run.tasks)
    for (std::uint64_t s = 0; s < 3; ++s)
      for (std::size_t e = 0; e < 2; ++e) {
        m.accuracy(t, e, s, 64, 1);
        m.accuracy(t, e, s, 128, (e == 0 ? 0.9 : 0.4) + 0.004 * static_cast<double>(s % 2));
      }
  std::vector<std::vector<Contest>> all;
  for (const TaskData& t : m.run.tasks) all.push_back(contests(t));
  const Across a = across_tasks(m.run, all);
  EXPECT_TRUE(std::isnan(a.critical));
  EXPECT_TRUE(std::isnan(a.p));
  EXPECT_THAT(plain(across_findings(m.run, a))[0], HasSubstr("Over 4 tasks no order is tested"));
}

TEST(Across, RanksOverTasksWithTheCriticalDifference) {
  MadeUp m({"a", "b", "c"});
  for (int i = 0; i < 12; ++i) m.problem("t" + std::to_string(i), {64, 128});
  for (TaskData& t : m.run.tasks)
    for (std::uint64_t s = 0; s < 3; ++s)
      for (std::size_t e = 0; e < 3; ++e) {
        m.accuracy(t, e, s, 64, 1);
        m.accuracy(t, e, s, 128,
                   0.9 - 0.3 * static_cast<double>(e) + 0.004 * static_cast<double>(s % 2));
      }
  std::vector<std::vector<Contest>> all;
  for (const TaskData& t : m.run.tasks) all.push_back(contests(t));
  const Across a = across_tasks(m.run, all);
  EXPECT_EQ(a.tasks.size(), 12u);
  ASSERT_EQ(a.standings.size(), 3u);
  EXPECT_EQ(a.standings[0].encoding, 0u);
  EXPECT_EQ(a.standings[0].rank, 1);
  EXPECT_NEAR(a.standings[1].reciprocal, 0.5, 1e-12);
  EXPECT_NEAR(a.standings[0].score, (0.9013 - 0.1) / 0.9, 2e-3);
  EXPECT_NEAR(a.critical, 2.343 * std::sqrt(12 / 72.0), 1e-3);
  EXPECT_EQ(a.groups.size(), 3u);
  EXPECT_THAT(plain(across_findings(m.run, a))[0], HasSubstr("a has the best mean rank"));
}

// Two tasks that say nearly the same count as one.
TEST(Across, RanksFamiliesAlike) {
  MadeUp m({"a", "b"});
  for (const auto& [task, family] :
       {std::pair{"copy", "algorithmic"}, std::pair{"reverse", "algorithmic"},
        std::pair{"addition", "arithmetic"}})
    m.problem(task, {64, 128}).family = family;
  for (TaskData& t : m.run.tasks)
    for (std::uint64_t s = 0; s < 3; ++s)
      for (std::size_t e = 0; e < 2; ++e) {
        const bool better = (e == 0) == (t.family == "algorithmic");
        m.accuracy(t, e, s, 64, 1);
        m.accuracy(t, e, s, 128, (better ? 0.9 : 0.5) + 0.004 * static_cast<double>(s % 2));
      }
  std::vector<std::vector<Contest>> all;
  for (const TaskData& t : m.run.tasks) all.push_back(contests(t));
  const Across a = across_tasks(m.run, all);
  ASSERT_EQ(a.standings.size(), 2u);
  EXPECT_NEAR(a.standings[0].rank, 4 / 3.0, 1e-12);
  EXPECT_NEAR(a.standings[0].family_rank, 1.5, 1e-12);
  EXPECT_NEAR(a.standings[1].family_rank, 1.5, 1e-12);
  EXPECT_THAT(across_table(m.run, a).blocks[0].caption.plain(),
              HasSubstr("related tasks averaged first (algorithmic: copy, reverse)"));
}

// -------------------------------------------------------------------- metrics over lengths

TEST(LengthMetrics, SayHowMuchOfTheContextIsUsed) {
  MadeUp m({"a"});
  TaskData& t = m.corpus("corpus", {64, 256});
  m.nats(t, 0, 1, 64, 0.1, 2.0);
  m.nats(t, 0, 1, 256, 0.15, 1.9);  // nats 2.1 -> 2.05; the optimum gains 0.1
  const CellData& c = *t.cell(0, 1);
  EXPECT_NEAR(context_use(t, c, "last(32)", 256), 0.5, 1e-12);
  EXPECT_NEAR(extrapolation_ratio(t, c, "last(32)", 256), std::exp(-0.05), 1e-12);
  EXPECT_TRUE(std::isnan(context_use(t, c, "last(32)", 64))) << "nothing to gain there";
}

TEST(LengthMetrics, FollowTheCurveFromTheTrainingLengthOn) {
  MadeUp m({"a"});
  TaskData& t = m.problem("copy", {32, 64, 128, 512});
  m.accuracy(t, 0, 1, 32, 0.2), m.accuracy(t, 0, 1, 64, 1), m.accuracy(t, 0, 1, 128, 0.96);
  m.accuracy(t, 0, 1, 512, 0.3);
  const LengthCurve c = length_curve(t, *t.cell(0, 1), "");
  EXPECT_EQ(c.points.size(), 3u);
  EXPECT_EQ(effective_length(c), 128);
  EXPECT_EQ(half_life(c, 64), 8);
  EXPECT_NEAR(area_under_curve(c), (0.98 * 1 + 0.63 * 2) / 3, 1e-12);
  EXPECT_EQ(effective_length({false, {{64, 0.5, 0.1}, {128, 1, 0.1}}}), 0) << "not even there";
  EXPECT_EQ(effective_length({true, {{64, 0.1, 0}, {128, 0.11, 0}, {256, 0.2, 0}}}), 128);
}

TEST(LengthMetrics, HalfOfNothingIsNotDefined) {
  EXPECT_TRUE(std::isnan(half_life({false, {{64, 0.05, 0.1}, {128, 0.02, 0.1}}}, 64)));
}

// A retrieval from few tokens is guessed more often than one from many.
TEST(LengthMetrics, HalfLifeCountsTheChanceOfEachLength) {
  using Point = std::pair<double, double>;  // accuracy, chance
  const auto at = [](const Point& one, const Point& two, const Point& four) {
    MadeUp m({"a"});
    TaskData& t = m.problem("match", {64, 128, 256});
    m.accuracy(t, 0, 1, 64, one.first, one.second), m.accuracy(t, 0, 1, 128, two.first, two.second);
    m.accuracy(t, 0, 1, 256, four.first, four.second);
    return half_life(length_curve(t, *t.cell(0, 1), ""), 64);
  };
  EXPECT_EQ(at({1, 0.1}, {0.7, 0.5}, {0.7, 0.1}), 2) << "scores 1, 0.4, 0.67";
  EXPECT_EQ(at({0.6, 0.2}, {0.3, 0.01}, {0.2, 0.001}), 4) << "scores 0.5, 0.29, 0.2";
  EXPECT_TRUE(std::isnan(at({1, 0.1}, {0.7, Number::none}, {0.1, 0.1})));
}

}  // namespace
}  // namespace pesuite::testing
