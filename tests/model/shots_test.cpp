// Solved examples before an example (few-shot).
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "model/evaluate.h"
#include "model/mixture.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

// What stands before an example are training examples with their answers, none longer than those
// of training; the example itself is what it is alone, and only its targets are scored.
TEST(Shots, AreSolvedExamplesOfTraining) {
  const Task task = make_task("copy", 200, 23);
  for (const int length : {23, 43}) {
    Task::Request r{PES_SPLIT_TEST, 3, 5, length, -1, {}};
    const auto sample = [&](int shots) {
      r.shots = shots;
      std::vector<std::int32_t> tokens(task.tokens(r)), targets(tokens.size());
      task.sample(r, tokens, targets);
      return std::pair{tokens, targets};
    };
    const auto [alone, answers] = sample(0);
    const auto [tokens, targets] = sample(3);
    EXPECT_EQ(tokens.size(), 3u * 23 + length);
    std::vector<std::size_t> starts;
    for (std::size_t t = 0; t < tokens.size(); ++t)
      if (tokens[t] == PES_BOS) starts.push_back(t);
    ASSERT_EQ(starts.size(), 4u);
    std::set<std::vector<std::int32_t>> different;
    for (int k = 0; k < 3; ++k) {
      std::vector<std::int32_t> shot(tokens.begin() + starts[k], tokens.begin() + starts[k + 1]);
      EXPECT_LE(shot.size(), 23u);
      EXPECT_EQ(shot.back(), PES_EOS) << "whole, and without PAD";
      // BOS x SEP x EOS
      const auto items = static_cast<std::ptrdiff_t>((shot.size() - 3) / 2);
      EXPECT_TRUE(std::equal(shot.begin() + 1, shot.begin() + 1 + items, shot.end() - 1 - items));
      different.insert(shot);
    }
    EXPECT_GT(different.size(), 1u);
    const auto at = static_cast<std::ptrdiff_t>(starts[3]);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), tokens.begin() + at));
    EXPECT_TRUE(std::equal(answers.begin(), answers.end(), targets.begin() + at));
    for (std::ptrdiff_t t = 0; t < std::ssize(tokens); ++t)
      if (t < at || t >= at + length) {
        EXPECT_EQ(targets[t], -1);
        if (t >= at) {
          EXPECT_EQ(tokens[t], PES_PAD);
        }
      }
  }
}

TEST(Shots, AreDrawnForEachExampleOfTraining) {
  const Task main = make_task("copy", 96, 48);
  const Mixture m(main);
  const LengthPlan plan{.shots = 2};
  EXPECT_EQ(plan.mean(23, 0), 46);
  std::int64_t tokens = 0;
  std::map<std::int64_t, int> drawn;
  for (const Batch& b : m.step(plan, 23, 0, 1, 100, 300, 256, tokens))
    for (int i = 0; i < b.size; ++i) {
      const auto at = b.tokens.begin() + static_cast<std::ptrdiff_t>(i) * b.length;
      ++drawn[std::count(at, at + b.length, PES_BOS) - 1];
    }
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[0] + drawn[1] + drawn[2], 300);
  for (const int n : {0, 1, 2}) EXPECT_GT(drawn[n], 70);
  EXPECT_EQ(tokens, 23 * (300 + drawn[1] + 2 * drawn[2]));
}

TEST(Shots, AreRefusedWhereAnswersCannotBeShown) {
  for (const char* fits : {"copy", "reverse", "passkey", "no_carry_addition"})
    EXPECT_EQ(make_task(fits, 96, 48).refuses_shots(35), "") << fits;
  EXPECT_THAT(make_task("toylag", 96, 48).refuses_shots(23), HasSubstr("is a corpus"));
  EXPECT_THAT(make_task("even_pairs", 96, 48).refuses_shots(23), HasSubstr("classes"));
  EXPECT_THAT(make_task("addition(coupled_ids=true)", 96, 48).refuses_shots(35),
              HasSubstr("positions"));
  EXPECT_THAT(make_task("kback_copy", 96, 48).refuses_shots(48), HasSubstr("classes"));
}

TEST(Shots, AreAnAxisOfEvaluation) {
  const Task task = make_task("copy", 96, 48);
  EvalConfig c;
  c.lengths = {23};
  c.axes = {{shots_axis, {0, 1, 3}}};
  c.examples = 8;
  c.train_length = 23, c.shots_trained = 1;
  check(c, task);
  EXPECT_EQ(tokens_read(c, 23), 8 * (23 + 46 + 92));
  const Scorer right = [&](const Batch& b, const StepInfo&) {
    Scores scores;
    for (int i = 0; i < b.size * b.length; ++i) {
      if (b.targets[i] < 0) continue;
      scores.place.push_back(i), scores.nats.push_back(0);
      scores.best.push_back(b.targets[i]);
    }
    return scores;
  };
  std::map<int, std::string> split;
  for (const Observation& o : evaluate(right, task, c, 23, 1, 0))
    if (o.metric == "em") {
      split[o.coords.at("shots")] = o.split;
      EXPECT_EQ(o.value, 1);
    }
  EXPECT_EQ(split, (std::map<int, std::string>{{0, "id"}, {1, "id"}, {3, "ood"}}));
}

}  // namespace
}  // namespace pesuite::testing
