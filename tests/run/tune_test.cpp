// Learning rates: one grid for all encodings, chosen by validation loss with seeds of their own.
#include "run/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/toml.h"
#include "encoding/expression.h"
#include "plugin/card.h"
#include "tests/analysis/run_data.h"
#include "tests/catalog.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Losses of two encodings at one rate.
RunData tried(double a, double b) {
  MadeUp m({"a", "b"});
  TaskData& t = m.problem("copy", {64});
  for (std::size_t e = 0; e < 2; ++e) {
    const double loss = e == 0 ? a : b;
    CellData& c = m.cell(t, e, 7);
    if (std::isinf(loss))
      c.status = "diverged";
    else if (std::isnan(loss))
      c.status = "crash";
    else
      c.curves["val nll"] = {{10, 0.001}, {20, loss}};
  }
  return m.run;
}

// Suites that try a rate each, made by hand.
Suite at_rate(double rate) {
  Suite s;
  s.encodings = {{"a", "none", ""}, {"b", "rope", ""}};
  SuiteTask t;
  t.id = "copy";
  t.train.tuning.rates = {0.0001, 0.001, 0.01, 0.1, 0.2};
  s.tasks = {t};
  for (const SuiteEncoding& e : s.encodings)
    s.tuned.push_back({e.id, "copy", "nano", rate, e.expression});
  return s;
}

std::vector<Chosen> chosen_of(const std::vector<std::pair<double, RunData>>& tried) {
  std::vector<std::pair<Suite, RunData>> all;
  for (const auto& [rate, run] : tried) all.emplace_back(at_rate(rate), run);
  return choose(all);
}

TEST(Tuning, ChoosesByTheFinalValidationLoss) {
  const auto chosen = chosen_of(
      {{0.0001, tried(0.3, 0.7)}, {0.001, tried(0.2, 0.6)}, {0.01, tried(INFINITY, 0.5)}});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].attempts[chosen[0].best].rate, 0.001);
  EXPECT_FALSE(chosen[0].at_edge());
  EXPECT_EQ(chosen[1].attempts[chosen[1].best].rate, 0.01);
  EXPECT_TRUE(chosen[1].at_edge()) << "the best may lie above the grid";
  EXPECT_EQ(chosen[0].rates, 3u);
  EXPECT_TRUE(std::isinf(chosen[0].attempts[2].loss));
}

// A tenth of what matters does not count: of rates that do as well the one in the middle is taken.
TEST(Tuning, TakesTheMiddleOfRatesThatDoAsWell) {
  const auto chosen = chosen_of({{0.0001, tried(0.2000, 0.600)},
                                 {0.001, tried(0.2015, 0.595)},
                                 {0.01, tried(0.2010, 0.5969)},
                                 {0.1, tried(0.4, 0.5971)}});
  EXPECT_EQ(chosen[0].attempts[chosen[0].best].rate, 0.001);
  EXPECT_FALSE(chosen[0].at_edge());
  EXPECT_EQ(chosen[1].attempts[chosen[1].best].rate, 0.01) << "of two the higher";
}

TEST(Tuning, TakesADivergedRateOnlyWhereThereIsNoOther) {
  const auto one = chosen_of({{0.1, tried(INFINITY, 1)}, {0.2, tried(NAN, 2)}})[0];
  EXPECT_EQ(one.attempts[one.best].rate, 0.1);
  try {
    chosen_of({{0.1, tried(NAN, 1)}, {0.2, tried(NAN, 2)}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::cells_failed);
    EXPECT_THAT(e.what(), HasSubstr("no learning rate can be chosen for a on copy"));
  }
}

// Each setting that a card has tuning try is one of its options, within bounds.
TEST(Tuning, CardsNameSettingsThatTheyHave) {
  const Catalog& catalog = built_catalog();
  int settings = 0;
  for (const std::string& name : catalog.encoding_names()) {
    const pes_card& card = *catalog.encoding(name).descriptor->card;
    for (const std::string& s : tune_of(card)) {
      EXPECT_NO_THROW(
          resolve_options(card, parse_expression(fmt::format("{}({})", name, s)).options, name));
      ++settings;
    }
  }
  EXPECT_GT(settings, 20);
}

class TunedSuite : public ::testing::Test {
 protected:
  Suite load(const std::string& tune, const std::string& more = "") {
    write_file_atomic(file_, "defaults = {seeds = [1, 2]}\nmodel = {micro = {}}\n" + more +
                                 "train = {tune = " + tune +
                                 "}\nencoding = [{expr = \"none\"}]\n[[task]]\ntask = \"toylag\"\n"
                                 "[[task]]\nid = \"other\"\ntask = \"toylag\"\n"
                                 "train = {tune = {lr = [0.5, 0.25]}}\n");
    return load_suite(file_);
  }
  std::string problem(const std::string& tune) {
    try {
      load(tune);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  const Scratch folder_;
  const fs::path file_ = folder_ / "s.toml";
};

TEST_F(TunedSuite, MakesASuiteOfEachRate) {
  const Suite s = load("{lr = [0.01, 0.5], seeds = [8, 9]}");
  EXPECT_TRUE(is_tuned(s));
  const std::vector<Suite> all = rate_suites(s);
  ASSERT_EQ(all.size(), 3u);
  const Suite &half = all[2], &small = all[0];
  EXPECT_THAT(half.seeds, ElementsAre(8, 9));
  EXPECT_EQ(half.tasks.size(), 2u);
  EXPECT_EQ(small.tasks.size(), 1u);
  EXPECT_EQ(small.tuned.at(0).rate, 0.01);
  EXPECT_NE(small.name, half.name);
  EXPECT_EQ(small.evals[0].examples, 1);
  // the file of such a run is that suite, and not the one that it tunes
  write_file_atomic(folder_ / "resolved.toml", to_toml(small.resolved));
  const Suite again = load_suite(folder_ / "resolved.toml");
  EXPECT_EQ(again.name, small.name);
  EXPECT_EQ(again.seeds, small.seeds);
  ASSERT_EQ(again.tasks.size(), 1u);
  ASSERT_EQ(again.tuned.size(), 1u);
  EXPECT_EQ(again.tuned[0].rate, 0.01);
  EXPECT_FALSE(is_tuned(again));
  EXPECT_EQ(again.evals.at(0).examples, 1);
  EXPECT_EQ(again.evals[0].lengths, small.evals[0].lengths);
}

// Every encoding gets as many attempts, whether its card names settings or not, and what a suite
// sets itself is not tuned.
TEST_F(TunedSuite, TriesSettingsOfTheCardThenFurtherRates) {
  const fs::path file = folder_ / "knobs.toml";
  write_file_atomic(file, R"toml(defaults = {seeds = [1]}
model = {micro = {}}
train = {tune = {lr = [0.001, 0.002, 0.004], knobs = 2, seeds = [7]}}
encoding = [{expr = "none"}, {expr = "rope"}, {expr = "rope(base=0)"}, {expr = "t5(buckets=16)"}]
task = [{task = "toylag"}]
)toml");
  const Suite s = load_suite(file);
  std::vector<Chosen> by_rate;
  const auto at = [&](const char* id, double best) {
    Chosen c{id, "toylag", "micro", {}, 0, 3};
    for (const double rate : {0.001, 0.002, 0.004})
      c.attempts.push_back({rate, id, rate == best ? 1.0 : 2.0});
    for (std::size_t i = 0; i < 3; ++i)
      if (c.attempts[i].rate == best) c.best = i;
    by_rate.push_back(c);
  };
  at("none", 0.002), at("rope", 0.004), at("rope(base=0)", 0.001), at("t5(buckets=16)", 0.004);
  const std::vector<Suite> knobs = knob_suites(s, by_rate, built_catalog());
  ASSERT_EQ(knobs.size(), 2u);
  const auto attempt = [&](std::size_t k, const char* id) {
    const Tuned* t = knobs[k].tuned_for(id, "toylag", "micro");
    return fmt::format("{} at {}", t->expression, t->rate);
  };
  EXPECT_EQ(attempt(0, "none"), "none at 0.00141");
  EXPECT_EQ(attempt(1, "none"), "none at 0.00283");
  EXPECT_EQ(attempt(0, "rope"), "rope(base=1000) at 0.004") << "base=0 is another encoding here";
  EXPECT_EQ(attempt(1, "rope"), "rope at 0.008") << "beyond the grid, whose edge was best";
  EXPECT_EQ(attempt(0, "rope(base=0)"), "rope(base=0) at 0.0005")
      << "its base is the suite's choice";
  EXPECT_EQ(attempt(0, "t5(buckets=16)"), "t5(buckets=16, max_distance=32) at 0.004");
  write_file_atomic(folder_ / "resolved.toml", to_toml(knobs[0].resolved));
  const Suite again = load_suite(folder_ / "resolved.toml");
  EXPECT_EQ(again.tuned_for("rope", "toylag", "micro")->expression, "rope(base=1000)");
}

TEST_F(TunedSuite, SaysWhatIsWrongWithWhatWasTuned) {
  const auto problem_of = [&](const std::string& tuned) -> std::string {
    try {
      load("{lr = [0.01, 0.1]}", "tuned = [" + tuned + "]\n");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(problem_of(R"({task = "other", lr = 0.1, expr = "rope"})"), "");
  EXPECT_THAT(problem_of(R"({task = "othr"})"), HasSubstr("did you mean 'other'?"));
  EXPECT_THAT(problem_of(R"({task = "other"}, {task = "other"})"), HasSubstr("a second time"));
  EXPECT_THAT(problem_of(R"({task = "other", lr = -1})"), HasSubstr("lr"));
}

TEST_F(TunedSuite, RefusesWhatMakesNoSense) {
  EXPECT_THAT(problem("{lr = [0.01, 0.1], seeds = [2]}"),
              HasSubstr("seed 2 tunes the learning rate and is reported"));
  EXPECT_THAT(problem("{lr = [0.1]}"), HasSubstr("needs two rates"));
  EXPECT_THAT(problem("{lr = [0.1, 0.1]}"), HasSubstr("names a rate twice"));
  EXPECT_THAT(problem("{lr = [0.1, -1]}"), HasSubstr("learning rates above 0"));
  EXPECT_THAT(problem("{lr = [0.1, 1], select = \"ood\"}"), HasSubstr("select"));
}

}  // namespace
}  // namespace pesuite::testing
