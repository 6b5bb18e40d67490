// Verdicts of a gate on made-up measurements, and the error rates of its rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/changes.h"
#include "analysis/gate_calibration.h"
#include "analysis/gate_simulation.h"
#include "base/error.h"
#include "base/file.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

constexpr double wobble[] = {0.0004, -0.0003, 0.0001, 0.0005, -0.0006, 0.0002, -0.0001, 0.0003};

// `encodings` on one task at 64 and 128, with seeds 1 .. `seeds`; each seed's nats.
Measurement made_up_side(std::size_t encodings, std::size_t seeds, double shift = 0,
                         double noise = 0) {
  Measurement m;
  m.name = "made up", m.suite = "s", m.epoch = 6, m.gates = usual_gates();
  for (std::size_t e = 0; e < encodings; ++e) {
    const std::string id = "e" + std::to_string(e);
    m.versions["encoding " + id] = id + " 1.0";
    for (const int length : {64, 128}) {
      MeasuredSeries s;
      s.name = {id, "lags", "micro", 64, Place{"nll", "last(32)", length, {}, "", 0, 0}};
      for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        s.seeds[seed].value =
            2 + 0.1 * static_cast<double>(e) + shift +
            noise * wobble[(seed + e + static_cast<std::size_t>(length)) % 8] / 0.0004;
      m.series.push_back(s);
    }
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      m.seeds.insert(seed);
      m.cells.push_back(
          {id, "lags", "micro", 64, seed, "ok", "", std::to_string(shift) + std::to_string(noise)});
    }
  }
  m.versions["task lags"] = "1";
  return m;
}

void calibrate_side(Measurement& m, double deviation) {
  for (const MeasuredSeries& s : m.series)
    m.calibration[s.name] = {deviation * deviation, 20, deviation};
  m.calibrated_by = "rounding";
}

TEST(GateVerdicts, AreIdenticalBitByBit) {
  const Changes c = compare(made_up_side(3, 3), made_up_side(3, 3));
  EXPECT_TRUE(c.identical());
  EXPECT_FALSE(c.regressed());
  EXPECT_EQ(c.count(Outcome::identical), 6u);
  EXPECT_EQ(c.cells_equal, 9u);
}

TEST(GateVerdicts, FollowTheMargin) {
  Measurement before = made_up_side(3, 3);
  calibrate_side(before, 0.001);
  EXPECT_EQ(compare(before, made_up_side(3, 3, 0.02, 0.0004)).count(Outcome::regressed), 6u);
  EXPECT_EQ(compare(before, made_up_side(3, 3, -0.02, 0.0004)).count(Outcome::improved), 6u);
  EXPECT_EQ(compare(before, made_up_side(3, 3, 0.001, 0.0004)).count(Outcome::equivalent), 6u);
  const Changes close = compare(before, made_up_side(3, 3, 0.0099, 0.0004));
  EXPECT_EQ(close.count(Outcome::inconclusive), 6u);
  EXPECT_FALSE(close.regressed());
  EXPECT_FALSE(close.conclusive());
  const Changes wide = compare(made_up_side(1, 3), made_up_side(1, 3, 0.005, 0.004));
  for (const SeriesChange& s : wide.series) EXPECT_GT(s.needed, 3u) << "plain t";
}

TEST(GateVerdicts, OfTooFewSeedsSayHowManyAreNeeded) {
  const Changes c = compare(made_up_side(1, 2), made_up_side(1, 2, 0.5, 0.001));
  ASSERT_EQ(c.count(Outcome::inconclusive), 2u);
  EXPECT_EQ(c.series[0].needed, 3u);
  EXPECT_THAT(c.series[0].why, HasSubstr("2 seeds in both, 3 are needed"));
}

TEST(GateVerdicts, SeeASmallDriftOfAllSeries) {
  Measurement before = made_up_side(12, 3);
  calibrate_side(before, 0.02);  // no series by itself says anything
  before.mean_calibration["nll"] = {1e-6, 20, 0};
  const Changes c = compare(before, made_up_side(12, 3, 0.02, 0.0004));
  EXPECT_EQ(c.count(Outcome::regressed), 0u);
  ASSERT_EQ(c.means.size(), 1u);
  EXPECT_TRUE(c.means[0].regressed);
  EXPECT_TRUE(c.regressed());
}

TEST(GateVerdicts, TellSeriesThatCameAndWent) {
  const Measurement three = made_up_side(3, 3), two = made_up_side(2, 3);
  const Changes fewer = compare(three, two), more = compare(two, three);
  EXPECT_EQ(fewer.count(Outcome::missing), 2u);
  EXPECT_TRUE(fewer.regressed()) << "a gate that lost a series is no gate";
  EXPECT_EQ(more.count(Outcome::added, false), 2u);
  EXPECT_FALSE(more.regressed());
}

TEST(GateVerdicts, BreakSeriesOfOtherVersions) {
  Measurement now = made_up_side(2, 3, 0.5, 0.001);
  now.versions["encoding e0"] = "e0 2.0";
  Changes c = compare(made_up_side(2, 3), now);
  EXPECT_EQ(c.count(Outcome::broken, false), 2u);
  EXPECT_EQ(c.count(Outcome::regressed) + c.count(Outcome::inconclusive), 2u);
  EXPECT_THAT(c.notes.back(), HasSubstr("encoding e0: version e0 2.0, was e0 1.0"));
  now.versions["encoding e0"] = "e0 1.1";  // the same major version
  EXPECT_EQ(compare(made_up_side(2, 3), now).count(Outcome::broken, false), 0u);
  now.epoch = 7;
  c = compare(made_up_side(2, 3), now);
  EXPECT_EQ(c.count(Outcome::broken, false), 4u);
  EXPECT_FALSE(c.regressed());
  EXPECT_THAT(c.notes.back(), HasSubstr("numerics epoch 7, was 6"));
}

TEST(GateVerdicts, CountNewKindsOfFailure) {
  Measurement now = made_up_side(2, 3);
  now.cells[1].status = "diverged", now.cells[1].digest.clear();
  for (MeasuredSeries& s : now.series)
    if (s.name.encoding == "e0") s.seeds.erase(2);
  const Changes c = compare(made_up_side(2, 3), now);
  ASSERT_EQ(c.cells.size(), 1u);
  EXPECT_TRUE(c.cells[0].worse);
  EXPECT_TRUE(c.regressed());
  const Changes back = compare(now, made_up_side(2, 3));
  EXPECT_FALSE(back.cells.at(0).worse);
  EXPECT_FALSE(back.regressed()) << "a failure that is gone";
}

TEST(GateVerdicts, RefuseWhatHasNothingInCommon) {
  Measurement other = made_up_side(2, 3);
  for (MeasuredSeries& s : other.series) s.name.task = "another";
  EXPECT_THROW(compare(made_up_side(2, 3), other), Error);
  Measurement seeds = made_up_side(2, 3);
  for (MeasuredSeries& s : seeds.series) {
    const auto all = s.seeds;
    s.seeds.clear();
    for (const auto& [seed, number] : all) s.seeds[seed + 10] = number;
  }
  try {
    compare(made_up_side(2, 3), seeds);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no seed in common"));
  }
}

TEST(GateVerdicts, ShowInfiniteSeedsAsWorseThanAllElse) {
  Measurement before = made_up_side(1, 3), now = made_up_side(1, 3, 0, 0.0001);
  calibrate_side(before, 0.001);
  for (MeasuredSeries& s : now.series)
    for (auto& [seed, number] : s.seeds) number.value = Number::infinite;
  const Changes c = compare(before, now);
  for (const SeriesChange& s : c.series) EXPECT_NE(s.outcome, Outcome::equivalent);
}

TEST(GateVerdicts, GroupSeriesByWhatIsAsked) {
  CompareOptions by;
  by.by = {"encoding"};
  Measurement before = made_up_side(3, 5);
  const Changes c = compare(before, made_up_side(3, 5, 0.05, 0.001), by);
  ASSERT_EQ(c.series.size(), 3u);
  EXPECT_EQ(c.series[0].members, 2u);
  EXPECT_NEAR(c.series[0].difference, 0.05, 0.002);
  EXPECT_EQ(c.count(Outcome::regressed), 3u);
}

TEST(Discordant, ExamplesAreCountedFromTheirBits) {
  const Discordant d = discordant("f0", "3c");  // 11110000 and 00111100
  EXPECT_EQ(d.lost, 2);
  EXPECT_EQ(d.won, 2);
  EXPECT_EQ(p_lost(Discordant{0, 5}), 1);
  EXPECT_NEAR(p_lost(Discordant{5, 0}), 1.0 / 32, 1e-12);
  EXPECT_NEAR(p_lost(Discordant{4, 1}), 6.0 / 32, 1e-12);
  EXPECT_NEAR(p_lost(Discordant{30, 10}), 0.00078, 1e-5) << "z = 20 / sqrt 40";
  EXPECT_LT(p_lost({{5, 0}, {5, 0}, {5, 0}}), p_lost({{5, 0}}));
  EXPECT_EQ(p_lost(std::vector<Discordant>{{0, 0}}), 1);
}

TEST(Discordant, ExamplesMustAgreeWithSeedsInAGate) {
  Measurement before = made_up_side(1, 3), now = before;
  for (Measurement* m : {&before, &now})
    for (MeasuredSeries& s : m->series) s.name.place.metric = "em", s.name.place.protocol = "";
  const double after[] = {0.80, 0.81, 0.79};
  for (MeasuredSeries& s : before.series)
    for (auto& [seed, n] : s.seeds) n.value = 0.95, n.right = "ffff" + std::string(16, 'f');
  for (MeasuredSeries& s : now.series)
    for (auto& [seed, n] : s.seeds)
      n.value = after[seed - 1], n.right = "0fff" + std::string(16, 'f');
  calibrate_side(before, 0.01);
  EXPECT_EQ(compare(before, now).count(Outcome::regressed), 2u);
  for (MeasuredSeries& s : now.series)
    for (auto& [seed, n] : s.seeds) n.right = "ffff" + std::string(16, 'f');
  EXPECT_EQ(compare(before, now).count(Outcome::regressed), 0u) << "no example was lost";
}

TEST(Enlargement, FollowsDifferencesThatSpreadMoreThanCalibration) {
  const std::vector<Calibrated> known(6, {1e-6, 20, 0});
  std::vector<Differences> alike(6, {0.001, -0.001, 0}), apart(6, {0.01, -0.01, 0});
  EXPECT_NEAR(enlargement(alike, known), 1, 1e-9);
  EXPECT_GT(enlargement(apart, known), 50);
  EXPECT_EQ(enlargement(apart, std::vector<Calibrated>(6)), 1) << "nothing is calibrated";
  EXPECT_FALSE(is_used({1e-6, 11, 0}));
}

TEST(Baselines, ComeBackAsTheyWereWritten) {
  const Scratch folder;
  Baseline b;
  b.name = "main", b.measured = made_up_side(2, 3);
  b.measured.series[0].seeds[2].value = Number::infinite;
  b.measured.series[1].seeds[1].right = "0f";
  calibrate_side(b.measured, 0.002);
  b.measured.mean_calibration["nll"] = {1e-6, 20, 0};
  b.suppressions.push_back({"e0 on lags*", "2999-01-01", "me", "known"});
  b.history.push_back({"2026-01-01T00:00:00Z", "me", "saved", ""});
  write_baseline(folder / "main.json", b);
  const Baseline again = read_baseline(folder / "main.json");
  EXPECT_EQ(baseline_text(again), baseline_text(b));
  EXPECT_TRUE(std::isinf(again.measured.series[0].seeds.at(2).value));
  EXPECT_NE(suppression_of(again, again.measured.series[0].name, "2998-12-31"), nullptr);
  EXPECT_EQ(suppression_of(again, again.measured.series[0].name, "2999-01-02"), nullptr);
  EXPECT_EQ(suppression_of(again, again.measured.series[2].name, "2998-12-31"), nullptr);
}

std::string complaint_about(const fs::path& file) {
  try {
    read_baseline(file);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::data);
    return e.what();
  }
  return "";
}

TEST(Baselines, ThatAreDamagedAreASentence) {
  const Scratch folder;
  Baseline b;
  b.name = "main", b.measured = made_up_side(1, 3);
  const std::string good = baseline_text(b);
  const auto put = [&](const std::string& text) {
    write_file_atomic(folder / "b.json", text);
    return complaint_about(folder / "b.json");
  };
  EXPECT_EQ(put(good), "");
  EXPECT_THAT(put(good.substr(0, good.size() / 2)), HasSubstr("damaged"));
  EXPECT_THAT(put("[1, 2]"), HasSubstr("no baseline of pesuite"));
  std::string edited = good;
  edited.replace(edited.find("\"1\":2"), 5, "\"1\":1");
  EXPECT_THAT(put(edited), HasSubstr("its digest does not fit"));
  std::string newer = good;
  newer.replace(newer.find("baseline/1"), 10, "baseline/9");
  EXPECT_THAT(put(newer), HasSubstr("another version"));
  EXPECT_THAT(complaint_about(folder / "none.json"), HasSubstr("beside it there are b"));
  EXPECT_THROW(baseline_file("../x", "baselines"), Error);
  for (const char* day : {"2026-02-30", "26-01-01", "2026-13-01", "tomorrow", "2026-1-1"})
    EXPECT_THROW(parse_day(day), Error) << day;
  EXPECT_EQ(parse_day("2028-02-29"), "2028-02-29");
}

TEST(GateRules, SayWhatIsWrongWithThem) {
  EXPECT_TRUE(parse_gate_scope("eval_len<=4*train_len").holds(256, 64));
  EXPECT_FALSE(parse_gate_scope("eval_len<=4*train_len").holds(257, 64));
  EXPECT_FALSE(parse_gate_scope("eval_len <= 512").holds(513, 64));
  EXPECT_TRUE(parse_gate_scope("all").holds(1 << 20, 64));
  EXPECT_THROW(parse_gate_scope("eval_len<4x"), Error);
  EXPECT_EQ(parse_margin("2 points", "em"), 0.02);
  EXPECT_EQ(parse_margin("0.005 nats", "nll"), 0.005);
  EXPECT_THROW(parse_margin("2 points", "nll"), Error);
  EXPECT_THROW(parse_margin("-1", "nll"), Error);
  GateRule g;
  g.where = "encoding=e*";
  EXPECT_EQ(gate_text(gate_from_json(to_json(g))), gate_text(g));
}

TEST(GateCalibrations, MeasureWhatPairsDiffer) {
  const Measurement first = made_up_side(3, 20), second = made_up_side(3, 20, 0, 0.001);
  const GateCalibration c = calibrate_gate(first, second, usual_gates(), 3);
  EXPECT_EQ(c.pairs, 20u);
  EXPECT_EQ(c.gated, 6u);
  EXPECT_EQ(c.false_alarms, 0);
  for (const auto& [name, s] : c.series) {
    EXPECT_EQ(s.differences, 20u);
    EXPECT_NEAR(std::sqrt(s.variance), 0.001, 0.0005);
  }
  ASSERT_EQ(c.advice.size(), 3u);
  EXPECT_GE(c.advice[0].margin, c.advice[2].margin);
}

// The whole of it is `pesuite calibrate --gate`.
TEST(GateSimulation, AlarmsRarelyAndCatchesMost) {
  GateConditions c;
  const GateRates quiet = gate_rates(GateRuleKind::ours, c, 300);
  c.change = 0.02;
  const GateRates changed = gate_rates(GateRuleKind::ours, c, 300);
  EXPECT_LE(quiet.alarms, 0.02);
  EXPECT_GE(changed.caught, 0.88);
  c.one_noisy = true;
  EXPECT_GE(gate_rates(GateRuleKind::ours, c, 300).caught_quiet, 0.85);
  c.change = 0, c.sigma = 1.5;
  EXPECT_LE(gate_rates(GateRuleKind::ours, c, 300).alarms, 0.05);
  EXPECT_GE(gate_rates(GateRuleKind::threshold, c, 300).alarms, 0.5);
}

}  // namespace
}  // namespace pesuite::testing
