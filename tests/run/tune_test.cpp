// Learning rates: one grid for all encodings, chosen by validation loss with seeds of their own.
#include "run/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/analysis/run_data.h"
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

TEST(Tuning, ChoosesByTheFinalValidationLoss) {
  const auto chosen = choose_rates(
      {{0.01, tried(INFINITY, 0.5)}, {0.001, tried(0.2, 0.6)}, {0.0001, tried(0.3, 0.7)}});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].rate, 0.001);
  EXPECT_FALSE(chosen[0].at_edge);
  EXPECT_EQ(chosen[1].rate, 0.01);
  EXPECT_TRUE(chosen[1].at_edge) << "the best may lie above the grid";
  EXPECT_TRUE(std::isinf(chosen[0].losses[2].second));
}

TEST(Tuning, TakesADivergedRateOnlyWhereThereIsNoOther) {
  EXPECT_EQ(choose_rates({{0.1, tried(INFINITY, 1)}, {0.2, tried(NAN, 2)}})[0].rate, 0.1);
  try {
    choose_rates({{0.1, tried(NAN, 1)}, {0.2, tried(NAN, 2)}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::cells_failed);
    EXPECT_THAT(e.what(), HasSubstr("no learning rate can be chosen for a on copy"));
  }
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
  EXPECT_THAT(tuning_rates(s), ElementsAre(0.01, 0.25, 0.5));
  const Suite half = tuning_suite(s, 0.5), small = tuning_suite(s, 0.01);
  EXPECT_THAT(half.seeds, ElementsAre(8, 9));
  EXPECT_EQ(half.tasks.size(), 2u);
  EXPECT_EQ(small.tasks.size(), 1u);
  EXPECT_EQ(small.tasks[0].train.optimizer.lr, 0.01);
  EXPECT_NE(small.name, half.name);
  EXPECT_EQ(small.evals[0].examples, 1);
  // the file of such a run is that suite, and not the one that it tunes
  write_file_atomic(folder_ / "resolved.toml", to_toml(small.resolved));
  const Suite again = load_suite(folder_ / "resolved.toml");
  EXPECT_EQ(again.name, small.name);
  EXPECT_EQ(again.seeds, small.seeds);
  ASSERT_EQ(again.tasks.size(), 1u);
  EXPECT_EQ(again.tasks[0].train.optimizer.lr, 0.01);
  EXPECT_THAT(tuning_rates(again), ElementsAre());
  EXPECT_EQ(again.evals.at(0).examples, 1);
  EXPECT_EQ(again.evals[0].lengths, small.evals[0].lengths);
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
