// One who knows the answers, fed through the evaluation that models go through: all is right, and
// nothing is paid beyond the optimum. One who guesses gets what chance gives.
#include "model/evaluate.h"

#include <set>

#include "tasks/corpus/ledger.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

// Answers from the tokens alone, as sure as a probability of one can be.
Scores oracle_scores(const Task& task, const Batch& b) {
  Scores s;
  std::vector<std::int32_t> answers(b.length);
  for (int i = 0; i < b.size; ++i) {
    const auto first = std::size_t(i) * b.length;
    task.oracle(std::span(b.tokens).subspan(first, b.length), answers);
    for (int t = 0; t < b.length; ++t) {
      const std::int32_t target = b.targets[first + t];
      if (target < 0) continue;
      s.place.push_back(static_cast<std::int64_t>(first) + t);
      s.best.push_back(answers[t]);
      s.nats.push_back(answers[t] == target ? 0 : 1e9);
      s.rank.push_back(!task.ranks(target) ? 0 : answers[t] == target ? 1 : b.candidates);
    }
  }
  return s;
}

void expect_perfect(const std::vector<Observation>& all, bool accuracies) {
  int regrets = 0, right = 0;
  for (const Observation& o : all) {
    if (o.metric == "regret") {
      EXPECT_NEAR(o.value, 0, 1e-6) << o.coords.dump();
      ++regrets;
    }
    for (const char* metric : {"acc", "em", "candidate_acc", "candidate_em", "mrr"})
      if (o.metric == metric) {
        EXPECT_EQ(o.value, 1) << metric << o.coords.dump();
        ++right;
      }
  }
  EXPECT_GT(regrets, 0);
  if (accuracies) {
    EXPECT_GT(right, 0);
  }
}

TEST(Oracle, IsPerfectOnEveryProblem) {
  int problems = 0;
  for (const std::string& name : open_catalog({PESUITE_TEST_PLUGINS}).task_names()) {
    if (name == "text") continue;  // which needs the user's own
    SCOPED_TRACE(name);
    const Task task = make_task(name, 252, 64);
    if (!task.has_oracle()) continue;
    ++problems;
    EvalConfig c;
    c.lengths = {64, 126};
    c.examples = 40;
    c.train_length = 64;
    const Scorer oracle = [&](const Batch& b, const StepInfo&) { return oracle_scores(task, b); };
    int lengths = 0;
    for (const int length : c.lengths) {
      std::vector<Observation> all;
      try {
        all = evaluate(oracle, task, c, length, 5, 0);
      } catch (const Error& refusal) {  // not every task has examples of every length
        ASSERT_EQ(refusal.code(), Exit::data) << refusal.what();
        continue;
      }
      ++lengths;
      expect_perfect(all, true);
    }
    EXPECT_GT(lengths, 0);
  }
  EXPECT_GE(problems, 19);
}

// The Bayes predictive of the ledger, read from each window alone, under every protocol.
TEST(Oracle, PaysTheOptimumOfTheLedger) {
  const Task task = make_task("ledger(document=1024)", 256, 64);
  const ledger::Law law = ledger::make_law(ledger::Mix::standard);
  EvalConfig c;
  c.lengths = {64, 256};
  c.examples = 4;
  c.train_length = 64;
  c.protocols = {parse_protocol("non_overlapping")};
  const Scorer oracle = [&](const Batch& b, const StepInfo&) {
    Scores s;
    for (int i = 0; i < b.size; ++i) {
      const auto first = std::size_t(i) * b.length;
      for (int t = 0; t < b.length; ++t) {
        s.place.push_back(static_cast<std::int64_t>(first) + t);
        s.best.push_back(0);
        s.nats.push_back(b.optimum[first + t]);
      }
      if (b.tokens[first] != PES_FIRST_SYMBOL + std::int32_t{ledger::BOS}) continue;
      ledger::Reader reader(law, 0);  // of a document's beginning: from the tokens alone
      for (int t = 0; t < b.length; ++t) {
        reader.read(b.tokens[first + t] - PES_FIRST_SYMBOL);
        s.nats[first + t] = reader.cost(b.targets[first + t] - PES_FIRST_SYMBOL);
      }
    }
    return s;
  };
  for (const int length : c.lengths) expect_perfect(evaluate(oracle, task, c, length, 5, 0), false);
}

TEST(Candidates, AreRankedAgainstChance) {
  const Task task = make_task("passkey", 64);
  EvalConfig c;
  c.lengths = {64};
  c.examples = 2000;
  c.train_length = 64;
  pes::Random random(1, pes::purpose("guess"), 0);
  const Scorer guess = [&](const Batch& b, const StepInfo&) {  // each rank as likely
    Scores s = oracle_scores(task, b);
    for (std::int32_t& r : s.rank) r = 1 + static_cast<int>(random.below(10));
    return s;
  };
  int seen = 0;
  for (const Observation& o : evaluate(guess, task, c, 64, 5, 0))
    if (o.metric == "candidate_acc" || o.metric == "mrr") {
      EXPECT_NEAR(o.value, o.chance, 3.3 * o.standard_error) << o.metric;
      EXPECT_NEAR(o.chance, o.metric == "mrr" ? .29290 : .1, 1e-5);
      ++seen;
    }
  EXPECT_EQ(seen, 2);
}

TEST(Candidates, CarryDepthAndLength) {
  const Task task = make_task("niah", 128);
  EvalConfig c;
  c.lengths = {64, 128};
  c.examples = 4;
  c.train_length = 64;
  c.axes = {{"depth", {0, .5, 1}}};
  const Scorer oracle = [&](const Batch& b, const StepInfo&) { return oracle_scores(task, b); };
  std::set<std::string> coords;
  for (const int length : c.lengths)
    for (const Observation& o : evaluate(oracle, task, c, length, 5, 0))
      if (o.metric == "candidate_acc")
        coords.insert(fmt::format("{} {}", o.coords.at("eval_len").get<int>(),
                                  o.coords.at("depth").get<double>()));
  EXPECT_EQ(coords, (std::set<std::string>{"128 0", "128 0.5", "128 1", "64 0", "64 0.5", "64 1"}));
}

}  // namespace
}  // namespace pesuite::testing
