// Lengths of training examples, mixtures of tasks, batches of examples of many lengths.
#include "model/mixture.h"
#include "model/metrics.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "model/metrics.h"
#include "model/preset.h"
#include "model/train.h"
#include "tests/scratch.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

Task make(const std::string& expression) {
  return make_task(expression, 96, 48);
}

// --------------------------------------------------------------------------------- lengths

TEST(LengthPlan, FixedIsTheTrainingLength) {
  EXPECT_EQ(LengthPlan{}.length(64, 3, 1, 7), 64);
}

TEST(LengthPlan, UniformHitsEveryLengthOfItsGridAlike) {
  LengthPlan plan{.kind = LengthKind::uniform, .least = 8, .stride = 3};
  std::map<int, double> seen;
  constexpr int many = 12000;
  for (int i = 0; i < many; ++i) ++seen[plan.length(35, i / 64, 1, static_cast<unsigned>(i))];
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen.begin()->first, 8);
  EXPECT_EQ(seen.rbegin()->first, 35);
  for (const auto& [length, count] : seen) {
    EXPECT_EQ((length - 8) % 3, 0);
    EXPECT_NEAR(count / many, 0.1, 3.3 * std::sqrt(0.09 / many)) << length;
  }
  EXPECT_NE(
      plan.length(35, 0, 1, 0) + 100 * plan.length(35, 0, 1, 1) + 10000 * plan.length(35, 0, 1, 2),
      plan.length(35, 0, 2, 0) + 100 * plan.length(35, 0, 2, 1) + 10000 * plan.length(35, 0, 2, 2))
      << "another seed, other lengths";
}

TEST(LengthPlan, GrowingReachesTheTrainingLengthInTime) {
  LengthPlan plan{.kind = LengthKind::growing, .least = 4, .over = 100, .shorter = false};
  EXPECT_EQ(plan.length(32, 0, 1, 5), 4);
  EXPECT_EQ(plan.length(32, 50, 1, 5), 18);
  EXPECT_EQ(plan.length(32, 100, 1, 5), 32);
  EXPECT_EQ(plan.length(32, 1000, 1, 5), 32);
  for (int step = 1; step < 100; ++step)
    EXPECT_GE(plan.length(32, step, 1, 0), plan.length(32, step - 1, 1, 0));
  plan.shorter = true;
  int longest = 0, shortest = 99;
  for (unsigned i = 0; i < 500; ++i) {
    const int length = plan.length(32, 50, 1, i);
    longest = std::max(longest, length), shortest = std::min(shortest, length);
  }
  EXPECT_EQ(longest, 18);
  EXPECT_EQ(shortest, 4);
}

TEST(LengthPlan, PerStepIsOneLengthForAll) {
  const LengthPlan plan{.kind = LengthKind::uniform, .least = 1, .per_step = true};
  std::map<int, int> seen;
  for (int step = 0; step < 50; ++step) {
    ++seen[plan.length(64, step, 1, 0)];
    for (unsigned i = 1; i < 10; ++i)
      EXPECT_EQ(plan.length(64, step, 1, i), plan.length(64, step, 1, 0));
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST(LengthPlan, MeanIsThatOfTheLengthsDrawn) {
  const LengthPlan uniform{.kind = LengthKind::uniform, .least = 8, .stride = 3},
      growing{.kind = LengthKind::growing, .least = 8, .stride = 3, .over = 100},
      reached{.kind = LengthKind::growing, .least = 8, .stride = 3, .over = 100, .shorter = false};
  EXPECT_EQ(LengthPlan{}.mean(64, 3), 64);
  EXPECT_EQ(uniform.mean(35, 0), 21.5);
  EXPECT_EQ(growing.mean(35, 0), 8);
  EXPECT_EQ(growing.mean(35, 50), 15.5) << "of 8 to 23";
  EXPECT_EQ(growing.mean(35, 100), 21.5);
  EXPECT_EQ(reached.mean(35, 50), 23);
  EXPECT_EQ(uniform.mean(6, 0), 6) << "shorter than the least";
  EXPECT_EQ(uniform.all(20), (std::vector<int>{8, 11, 14, 17, 20}));
  EXPECT_EQ(uniform.all(22), (std::vector<int>{8, 11, 14, 17, 20}));
  EXPECT_EQ(uniform.all(6), std::vector<int>{6});
  for (const LengthPlan& plan : {uniform, growing, reached})
    for (const int step : {0, 37, 150}) {
      double sum = 0;
      for (unsigned i = 0; i < 4000; ++i) sum += plan.length(35, step, 1, i);
      EXPECT_NEAR(sum / 4000, plan.mean(35, step), 0.5) << step;  // 3.6 standard errors at most
    }
  TrainConfig config;
  config.length = 35, config.batch = 4, config.lengths = growing;
  double tokens = 0;
  for (int step = 90; step < 120; ++step) tokens += 4 * growing.mean(35, step);
  EXPECT_NEAR(config.tokens_read(90, 120), tokens, 1e-9);
}

// --------------------------------------------------------------------------------- mixtures

// Any stretch of examples holds each task by its share, not only the whole of them.
TEST(Mixture, HoldsItsSharesInEveryStretch) {
  const Task main = make("addition"), a = make("flipflop"), b = make("toylag(document=256)");
  Mixture m(main);
  m.add(a, 0.1, false);
  m.add(b, 0.25, false);
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{12345}, std::uint64_t{1} << 40}) {
    std::array<int, 3> count{};
    for (std::uint64_t i = first; i < first + 200; ++i) ++count[m.part(i)];
    EXPECT_NEAR(count[0], 130, 3);
    EXPECT_NEAR(count[1], 20, 2);
    EXPECT_NEAR(count[2], 50, 3);
  }
}

TEST(Mixture, AlphabetsFollowEachOtherOrAreTheSame) {
  const Task main = make("addition"), other = make("flipflop");
  Mixture own(main), same(main);
  own.add(other, 0.5, false);
  same.add(other, 0.5, true);
  EXPECT_EQ(Mixture(main).vocabulary(), main.info().inputs);
  EXPECT_EQ(own.vocabulary(), main.info().inputs + other.info().inputs - PES_FIRST_SYMBOL);
  EXPECT_EQ(same.vocabulary(), std::max(main.info().inputs, other.info().inputs));
  const Batch plain = Mixture(other).batch(0, PES_SPLIT_TRAIN, 1, 0, 4, 15);
  const Batch shifted = own.batch(1, PES_SPLIT_TRAIN, 1, 0, 4, 15);
  EXPECT_EQ(same.batch(1, PES_SPLIT_TRAIN, 1, 0, 4, 15).tokens, plain.tokens);
  const int shift = main.info().inputs - PES_FIRST_SYMBOL;
  for (std::size_t i = 0; i < plain.tokens.size(); ++i) {
    const int token = plain.tokens[i], target = plain.targets[i];
    EXPECT_EQ(shifted.tokens[i], token < PES_FIRST_SYMBOL ? token : token + shift);
    EXPECT_EQ(shifted.targets[i], target < PES_FIRST_SYMBOL ? target : target + shift);
  }
}

TEST(Mixture, RefusesWhatCannotBeMixed) {
  const Task main = make("addition"), classes = make("parity"), other = make("flipflop");
  Mixture m(main);
  EXPECT_THAT(error_of([&] { m.add(classes, 0.1, false); }), HasSubstr("predict tokens"));
  EXPECT_THAT(error_of([&] { m.add(other, 1, false); }), HasSubstr("must stay below 1"));
  const Task placed = make("addition(coupled_ids=true)");
  EXPECT_THAT(error_of([&] { m.add(placed, 0.1, false); }), HasSubstr("positions of its own"));
  Mixture of_placed(placed);
  EXPECT_THAT(error_of([&] { of_placed.add(other, 0.1, false); }),
              HasSubstr("'addition(coupled_ids=true)' and 'flipflop' cannot be mixed"));
}

// Batches of both kinds hold the positions that the task gives, and 0 at PAD.
TEST(Mixture, BatchesHoldTheTasksPositions) {
  const Task task = make("addition(coupled_ids=true)");
  const Mixture m(task);
  const auto expect_rows = [&](const Batch& b) {
    ASSERT_EQ(b.positions.size(), b.tokens.size());
    for (std::size_t i = 0; i < b.tokens.size(); ++i)
      EXPECT_EQ(b.positions[i] == 0, b.tokens[i] < PES_FIRST_SYMBOL) << i;
  };
  expect_rows(m.batch(0, PES_SPLIT_TRAIN, 1, 0, 4, 20));
  std::int64_t tokens = 0;
  constexpr LengthPlan drawn{.kind = LengthKind::uniform, .least = 8, .stride = 3};
  for (const Batch& b : m.step(drawn, 20, 0, 1, 0, 16, 128, tokens)) expect_rows(b);
  const Task plain = make("addition");
  EXPECT_TRUE(Mixture(plain).batch(0, PES_SPLIT_TRAIN, 1, 0, 4, 20).positions.empty());
}

// Each example of a step stands in one batch, alone as the task made it, with PAD behind it.
TEST(Mixture, PadsShorterExamplesAndNeverScoresPad) {
  const Task main = make("addition"), other = make("flipflop");
  Mixture m(main);
  m.add(other, 0.3, false);
  const LengthPlan plan{.kind = LengthKind::uniform, .least = 8};
  std::int64_t tokens = 0, wanted = 0, padded = 0;
  const std::vector<Batch> step = m.step(plan, 48, 5, 1, 640, 64, 256, tokens);
  std::multiset<std::vector<std::int32_t>> found, expected;
  for (std::uint64_t i = 640; i < 704; ++i) {
    const int length = plan.length(48, 5, 1, i);
    wanted += length;
    const Batch alone = m.batch(m.part(i), PES_SPLIT_TRAIN, 1, i, 1, length);
    std::vector<std::int32_t> row = alone.tokens;
    row.insert(row.end(), alone.targets.begin(), alone.targets.end());
    row.push_back(length);
    expected.insert(row);
  }
  std::size_t examples = 0;
  for (const Batch& b : step) {
    EXPECT_TRUE(b.size == 1 || b.size * b.length <= 256);
    padded += b.size * b.length;
    examples += static_cast<std::size_t>(b.size);
    for (int i = 0; i < b.size; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i) * b.length;
      const std::vector<std::int32_t> x(b.tokens.begin() + at, b.tokens.begin() + at + b.length);
      const std::vector<std::int32_t> y(b.targets.begin() + at, b.targets.begin() + at + b.length);
      for (int t = 0; t < b.length; ++t) EXPECT_TRUE(x[t] != PES_PAD || y[t] == -1);
      // its own length is not written down: try all that leave only PAD behind
      for (int length = b.length; length >= 8; --length) {
        std::vector<std::int32_t> row(x.begin(), x.begin() + length);
        row.insert(row.end(), y.begin(), y.begin() + length);
        row.push_back(length);
        if (const auto it = expected.find(row); it != expected.end()) {
          expected.erase(it);
          break;
        }
        if (x[length - 1] != PES_PAD) break;
      }
    }
  }
  EXPECT_EQ(examples, 64u);
  EXPECT_TRUE(expected.empty()) << expected.size() << " examples were not found";
  EXPECT_EQ(tokens, wanted);
  EXPECT_LT(static_cast<double>(padded), 1.25 * static_cast<double>(tokens)) << "sorted by length";
}

// What a device compiles for a length serves many: batches are as long as a multiple, or as the
// longest.
TEST(Mixture, MakesBatchesOfFewLengthsWhereItIsAsked) {
  const Task main = make("addition");
  const Mixture m(main);
  const LengthPlan plan{.kind = LengthKind::uniform, .least = 8};
  std::set<int> lengths;
  for (int step = 0; step < 8; ++step) {
    std::int64_t tokens = 0, same = 0;
    const auto first = static_cast<std::uint64_t>(step) * 64;
    const std::vector<Batch> padded =
        m.step(plan, 44, step, 1, first, 64, 256, tokens, {.length_step = 16});
    const std::vector<Batch> plain = m.step(plan, 44, step, 1, first, 64, 1 << 20, same);
    EXPECT_EQ(tokens, same) << "PAD was counted";
    std::multiset<std::vector<std::int32_t>> examples, expected;
    const auto add = [](auto& to, const Batch& b) {
      for (std::size_t i = 0, n = static_cast<std::size_t>(b.length); i < b.tokens.size(); i += n) {
        std::vector<std::int32_t> row;
        for (std::size_t t = i; t < i + n; ++t)
          if (b.tokens[t] != PES_PAD) row.push_back(b.tokens[t]), row.push_back(b.targets[t]);
        to.insert(row);
      }
    };
    for (const Batch& b : padded) {
      lengths.insert(b.length), add(examples, b);
      EXPECT_TRUE(b.size == 1 || b.size * b.length <= 256);
    }
    for (const Batch& b : plain) add(expected, b);
    EXPECT_EQ(examples, expected);
  }
  EXPECT_EQ(lengths, (std::set<int>{16, 32, 44}));
}

// Processes of one cell make their own examples, which are those that one alone would make.
TEST(Mixture, IsSharedByProcesses) {
  const Task main = make("addition");
  const Mixture m(main);
  const LengthPlan plan{.kind = LengthKind::uniform, .least = 8};
  std::int64_t whole_tokens = 0;
  const std::vector<Batch> whole = m.step(plan, 48, 3, 1, 0, 40, 256, whole_tokens);
  ASSERT_GT(whole.size(), 4u);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::int64_t tokens = 0;
    const std::vector<Batch> own =
        m.step(plan, 48, 3, 1, 0, 40, 256, tokens, {.first = rank, .stride = 3});
    EXPECT_EQ(tokens, whole_tokens);
    ASSERT_EQ(own.size(), whole.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      EXPECT_EQ(own[i].size, whole[i].size);
      EXPECT_EQ(own[i].length, whole[i].length);
      const bool is_own = i % 3 == rank;
      EXPECT_EQ(own[i].tokens, is_own ? whole[i].tokens : std::vector<std::int32_t>());
      EXPECT_EQ(own[i].targets, is_own ? whole[i].targets : std::vector<std::int32_t>());
    }
  }
}

// A step's examples are the same whoever makes them, in whatever order, at the same time as others.
TEST(Mixture, DataDoNotDependOnThreads) {
  const Task main = make("addition"), other = make("toylag(document=256)");
  Mixture m(main);
  m.add(other, 0.4, false);
  const LengthPlan plan{.kind = LengthKind::growing, .least = 8, .over = 30};
  constexpr int steps = 40;
  using Passes = std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>;
  const auto make_step = [&](int step) {
    std::int64_t tokens = 0;
    Passes out;
    for (const Batch& b :
         m.step(plan, 48, step, 7, static_cast<std::uint64_t>(step) * 12, 12, 200, tokens))
      out.emplace_back(b.tokens, b.targets);
    return out;
  };
  std::vector<Passes> one(steps), many(steps);
  for (int step = 0; step < steps; ++step) one[static_cast<std::size_t>(step)] = make_step(step);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int step = steps - 1 - t; step >= 0; step -= 4)
        many[static_cast<std::size_t>(step)] = make_step(step);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(one, many);
}

// What stands behind FILL is the example itself, and training draws how much FILL it is.
TEST(Fill, StandsBeforeExamplesAndIsNotScored) {
  const Task task = make("copy");
  Task::Request r{PES_SPLIT_TEST, 3, 5, 23, -1, {}};
  const auto sample = [&](int fill) {
    r.fill = fill;
    const auto n = static_cast<std::size_t>(task.tokens(r));
    std::vector<std::int32_t> tokens(n), targets(n);
    std::vector<double> optimum(n);
    task.sample(r, tokens, targets, optimum);
    for (int t = 0; t < fill; ++t) {
      EXPECT_EQ(tokens[t], PES_FILL);
      EXPECT_EQ(targets[t], -1);
      EXPECT_TRUE(std::isnan(optimum[t]));
    }
    tokens.erase(tokens.begin(), tokens.begin() + fill);
    targets.erase(targets.begin(), targets.begin() + fill);
    return std::pair{tokens, targets};
  };
  EXPECT_EQ(sample(7), sample(0));
}

TEST(Fill, IsDrawnForEachExampleOfTraining) {
  const Task main = make("copy");
  const Mixture m(main);
  const LengthPlan plan{.fill = 4};
  EXPECT_TRUE(plan.varies());
  EXPECT_EQ(plan.mean(23, 0), 25);
  std::int64_t tokens = 0;
  std::map<int, int> drawn;
  std::multiset<std::vector<std::int32_t>> found, expected;
  for (const Batch& b : m.step(plan, 23, 0, 1, 100, 200, 256, tokens))
    for (int i = 0; i < b.size; ++i) {
      const auto at = b.tokens.begin() + static_cast<std::ptrdiff_t>(i) * b.length;
      int fill = 0;
      while (at[fill] == PES_FILL) ++fill;
      ++drawn[fill];
      found.emplace(at + fill, at + fill + 23);
      for (int t = fill + 23; t < b.length; ++t) EXPECT_EQ(at[t], PES_PAD);
    }
  EXPECT_EQ(drawn.size(), 5u);
  EXPECT_EQ(drawn.rbegin()->first, 4);
  std::int64_t wanted = 0;
  for (std::uint64_t i = 100; i < 300; ++i) {
    expected.insert(m.batch(0, PES_SPLIT_TRAIN, 1, i, 1, 23).tokens);
    wanted += 23 + plan.fill_of(1, i);
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(tokens, wanted);
}

TEST(Fill, IsRefusedWhereItWouldMeanSomethingElse) {
  EXPECT_EQ(make("copy").refuses_fill(23), "");
  EXPECT_EQ(make("even_pairs").refuses_fill(23), "");
  EXPECT_THAT(make("toylag").refuses_fill(23), HasSubstr("is a corpus"));
  EXPECT_THAT(make("addition(coupled_ids=true)").refuses_fill(35), HasSubstr("positions"));
  for (const char* raw : {"first_last(variant=app)", "kback_copy", "modsum_cls"})
    EXPECT_THAT(make(raw).refuses_fill(48), HasSubstr("symbols of its own")) << raw;
}

// An evaluation asks for FILL as for a value of an axis, and tells what training had from what it
// had not: positions by their places, settings by the amount of FILL.
TEST(Fill, IsAnAxisOfEvaluation) {
  const Task task = make("copy");
  EvalConfig c;
  c.lengths = {23};
  c.axes = {{fill_axis, {0, 4, 23}}, {"items", {10}}};
  c.examples = 8;
  c.train_length = 23, c.fill_trained = 4;
  check(c, task);
  EXPECT_EQ(c.most(fill_axis), 23);
  EXPECT_EQ(tokens_read(c, 23), 8 * (23 + 27 + 46));
  std::vector<int> rows;
  const Scorer right_from_29 = [&](const Batch& b, const StepInfo& s) {
    rows.push_back(b.length);
    EXPECT_EQ(s.length, b.length);
    Scores scores;
    for (int i = 0; i < b.size * b.length; ++i) {
      if (b.targets[i] < 0) continue;
      scores.place.push_back(i), scores.nats.push_back(1);
      scores.best.push_back(i % b.length >= 29 ? b.targets[i] : -1);
    }
    return scores;
  };
  struct Seen {
    std::string split;
    double acc = -1, seen = -1, unseen = -1;
  };
  std::map<int, Seen> at;
  for (const Observation& o : evaluate(right_from_29, task, c, 23, 1, 0)) {
    if (o.metric != "acc") continue;
    EXPECT_EQ(o.coords.at("eval_len"), 23);
    Seen& s = at[o.coords.at("fill")];
    s.split = o.split;
    (!o.coords.contains("bucket")      ? s.acc
     : o.coords.at("bucket") == "seen" ? s.seen
                                       : s.unseen) = o.value;
  }
  EXPECT_EQ(rows, (std::vector<int>{23, 27, 46}));
  EXPECT_EQ(at[0].split, "id");
  EXPECT_EQ(at[4].split, "id");
  EXPECT_EQ(at[4].unseen, -1) << "27 tokens are what training reaches";
  EXPECT_EQ(at[23].split, "ood");
  // targets stand at 11 .. 21 behind the fill: at 34 .. 44
  EXPECT_EQ(at[23].acc, 1);
  EXPECT_EQ(at[23].unseen, 1);
  EXPECT_EQ(at[23].seen, -1);
  EXPECT_EQ(at[4].acc, 0) << "at 15 .. 25";
}

// 23 rows of a table are trained, and 46 are read behind 23 FILL.
TEST(Fill, ReachesUntrainedParameters) {
  const Task task = make("copy");
  ModelConfig m = preset("micro").config;
  m.vocabulary = m.classes = task.info().inputs;
  const auto backend = open_backend("cpu", {});
  Model model(*backend, m,
              Encoding(task_catalog(), {"learned", {}},
                       {m.layers, m.heads, m.groups(), m.head_dim(), m.width, 23, 46}),
              5);
  EvalConfig c;
  c.lengths = {23};
  c.axes = {{fill_axis, {0, 23}}};
  c.examples = 2;
  c.train_length = 23;
  std::map<int, double> untrained;
  for (const Observation& o : evaluate(model, task, c, 23, 1, 0))
    if (o.metric == "untrained") untrained[o.coords.value("fill", 0)] = o.value;
  EXPECT_EQ(untrained, (std::map<int, double>{{0, 0}, {23, 0.5}}));
}

// --------------------------------------------------------------------------------- training

struct Trainee {
  std::unique_ptr<Backend> backend = open_backend("cpu", {});
  Task main = make("addition"), other = make("toylag(document=256)");
  Mixture data{main};
  std::unique_ptr<Model> model;
  TrainConfig config;
  explicit Trainee(double share = 0.5, LengthPlan lengths = {}) {
    if (share > 0) data.add(other, share, false);
    ModelConfig c = preset("micro").config;
    c.vocabulary = c.classes = data.vocabulary();
    c.dropout = 0.1;
    model = std::make_unique<Model>(
        *backend, c,
        Encoding(task_catalog(), {"t5", {}},
                 {c.layers, c.heads, c.groups(), c.head_dim(), c.width, 48, 96}),
        5);
    config.length = 48, config.batch = 10, config.micro_batch = 4, config.steps = 20;
    config.log_every = 4, config.eval_every = 7, config.validation_examples = 6;
    config.optimizer.lr = 3e-3;
    config.lengths = lengths;
  }
  std::vector<std::vector<float>> weights() {
    std::vector<std::vector<float>> out;
    for (const Parameter& p : model->parameters()) {
      out.emplace_back(static_cast<std::size_t>(p.shape.count()));
      backend->download(out.back().data(), View{p.value, p.shape});
    }
    return out;
  }
};

constexpr LengthPlan growing{.kind = LengthKind::growing, .least = 8, .stride = 3, .over = 12};

// Stopped after any step and gone on with, a mixture of drawn lengths has the bits of a whole run.
TEST(MixedTraining, ResumesBitForBit) {
  const Scratch folder;
  const fs::path last = folder / "last.safetensors";
  Trainee whole(0.5, growing);
  TrainState wanted;
  train(*whole.model, whole.data, whole.config, 9, "id", {}, {}, wanted);
  for (const int stop_at : {1, 9, 13}) {
    Trainee first(0.5, growing), second(0.5, growing);
    TrainState state, resumed;
    std::atomic<bool> stop{false};
    TrainWatch watch;
    watch.stop = &stop;
    watch.progress = [&](const TrainState& s, double) { stop = s.step == stop_at; };
    ASSERT_EQ(train(*first.model, first.data, first.config, 9, "id", {last, {}, {}}, watch, state),
              TrainOutcome::stopped);
    load_checkpoint(last, *second.model, resumed, "id");
    train(*second.model, second.data, second.config, 9, "id", {}, {}, resumed);
    fs::remove(last);
    EXPECT_EQ(second.weights(), whole.weights()) << stop_at;
    EXPECT_EQ(resumed.tokens, wanted.tokens);
    EXPECT_EQ(resumed.observations.size(), wanted.observations.size());
    for (std::size_t i = 0; i < wanted.observations.size(); ++i)
      if (!is_cost(wanted.observations[i].metric)) {
        EXPECT_EQ(resumed.observations[i].value, wanted.observations[i].value) << i;
      }
  }
}

TEST(MixedTraining, RecordsLengthsAndEachTask) {
  Trainee t(0.5, growing);
  TrainState state;
  train(*t.model, t.data, t.config, 9, "id", {}, {}, state);
  std::vector<double> lengths;
  int own = 0, mixed = 0;
  for (const Observation& o : state.observations) {
    if (o.metric == "length") lengths.push_back(o.value);
    if (o.split != "val" || o.metric != "nll") continue;
    ++(o.coords.contains("mix") ? mixed : own);
    EXPECT_EQ(o.coords.value("mix", t.other.text()), t.other.text());
  }
  ASSERT_EQ(lengths.size(), 5u);
  EXPECT_LT(lengths.front(), 16);  // mean of lengths from 8 to about 20
  EXPECT_GT(lengths.back(), 20);   // to about the mean of 8 to 47
  EXPECT_EQ(own, 3);
  EXPECT_EQ(mixed, 3);
  std::int64_t tokens = 0;
  for (int step = 0; step < 20; ++step)
    for (unsigned i = 0; i < 10; ++i)
      tokens += growing.length(48, step, 9, static_cast<unsigned>(step) * 10 + i);
  EXPECT_EQ(state.tokens, tokens);
}

// Asked in a part's own symbols the model answers in them: as if it had been asked in those that it
// was trained in.
TEST(MixedTraining, SpeaksTheSymbolsOfEachPart) {
  Trainee t;
  const int shift = t.main.info().inputs - PES_FIRST_SYMBOL;
  StepInfo s;
  s.batch = 3, s.length = 40;
  const Batch own = Mixture(t.other).batch(0, PES_SPLIT_TEST, 1, 0, 3, 40),
              shifted = t.data.batch(1, PES_SPLIT_TEST, 1, 0, 3, 40);
  const Scores wanted = t.model->score(shifted, s), found = t.data.scorer(1, *t.model)(own, s);
  EXPECT_EQ(found.nats, wanted.nats);
  EXPECT_EQ(found.place, wanted.place);
  for (std::size_t i = 0; i < wanted.best.size(); ++i)
    EXPECT_EQ(found.best[i], wanted.best[i] < PES_FIRST_SYMBOL           ? wanted.best[i]
                             : wanted.best[i] < PES_FIRST_SYMBOL + shift ? -1
                                                                         : wanted.best[i] - shift);
  EXPECT_EQ(t.data.scorer(0, *t.model)(own, s).nats, t.model->score(own, s).nats);
}

// Padding changes nothing: examples of two lengths in one batch give the losses they give alone.
TEST(MixedTraining, PaddingChangesNoLoss) {
  Trainee t(0);
  std::int64_t tokens = 0;
  const LengthPlan plan{.kind = LengthKind::uniform, .least = 11};
  const std::vector<Batch> together = t.data.step(plan, 48, 0, 3, 0, 6, 1 << 20, tokens);
  ASSERT_EQ(together.size(), 1u);
  const std::vector<Batch> alone = t.data.step(plan, 48, 0, 3, 0, 6, 1, tokens);
  ASSERT_EQ(alone.size(), 6u);
  const auto score = [&](const Batch& b) {
    StepInfo s;
    s.batch = b.size, s.length = b.length;
    return t.model->score(b, s).nats;
  };
  std::vector<double> nats;
  for (const Batch& b : alone)
    for (const double x : score(b)) nats.push_back(x);
  const std::vector<double> padded = score(together[0]);
  ASSERT_EQ(padded.size(), nats.size());
  for (std::size_t i = 0; i < nats.size(); ++i) EXPECT_NEAR(padded[i], nats[i], 1e-4) << i;
}

}  // namespace
}  // namespace pesuite::testing
