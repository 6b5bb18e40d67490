// The language of exact lags: its followers, and its optimum against Bayes' rule written out.
#include "tasks/corpus/toylag_tables.h"

#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

constexpr int symbols = 24, topics = 6;

double topic(int z, int symbol) {
  return toylag::topic_symbols[z][symbol] * 0x1p-16;
}

// P(x_t | topic z, the symbols before), spec of the language word by word.
double likelihood(const std::vector<int>& x, std::size_t t, int z) {
  if (t < 3) return topic(z, x[t]);
  return .30 * topic(z, x[t]) + .35 * (toylag::follower[0][x[t - 1]] == x[t]) +
         .35 * (toylag::follower[1][x[t - 3]] == x[t]);
}

std::vector<int> document(const Task& task, std::uint64_t index, int length) {
  const Example e = sample(task, {PES_SPLIT_TEST, 3, index, length, 0, {}});
  std::vector<int> x(e.tokens.begin(), e.tokens.end());
  x.push_back(e.targets.back());
  for (int& symbol : x) symbol -= PES_FIRST_SYMBOL;
  return x;
}

TEST(ToylagTables, AreLawsAndPermutations) {
  for (const auto& law : toylag::topic_symbols) {
    int sum = 0;
    for (const int units : law) sum += units;
    EXPECT_EQ(sum, 1 << 16);
  }
  for (const auto& follower : toylag::follower)
    EXPECT_EQ(std::set<int>(std::begin(follower), std::end(follower)).size(), symbols);
}

TEST(ToylagTask, FollowsItsLagsInTheirProportions) {
  const Task task = make_task("toylag", 512);
  double near = 0, far = 0, expected_near = 0, expected_far = 0, n = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const std::vector<int> x = document(task, i, 512);
    for (std::size_t t = 3; t < x.size(); ++t, ++n) {
      const int a = toylag::follower[0][x[t - 1]], b = toylag::follower[1][x[t - 3]];
      near += x[t] == a;
      far += x[t] == b;
      double by_topic_a = 0,
             by_topic_b = 0;  // of the mixture of all topics: near enough for a mean
      for (int z = 0; z < topics; ++z) {
        by_topic_a += topic(z, a) / topics;
        by_topic_b += topic(z, b) / topics;
      }
      expected_near += .35 + .35 * (a == b) + .30 * by_topic_a;
      expected_far += .35 + .35 * (a == b) + .30 * by_topic_b;
    }
  }
  // The topic correlates with the symbols that it wrote, hence a bound wider than sampling noise.
  EXPECT_NEAR(near / n, expected_near / n, .02);
  EXPECT_NEAR(far / n, expected_far / n, .02);
}

// Cost of x_t = ln P(x_s..x_{t-1}) - ln P(x_s..x_t), each a sum over topics of products.
TEST(ToylagTask, PaysTheOptimumOfBayes) {
  const Task task = make_task("toylag", 256);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::vector<int> x = document(task, i, 256);
    for (const std::int64_t start : {0, 1, 100}) {
      const int length = 60;
      const Example window = sample(task, {PES_SPLIT_TEST, 3, i, length, start, {}});
      double log_product[topics] = {};
      double before = 0;
      for (std::size_t t = start; t <= static_cast<std::size_t>(start + length); ++t) {
        double joint = 0;
        for (int z = 0; z < topics; ++z) {
          log_product[z] += std::log(likelihood(x, t, z));
          joint += std::exp(log_product[z]) / topics;
        }
        if (t > static_cast<std::size_t>(start)) {
          ASSERT_NEAR(window.optimum[t - start - 1], before - std::log(joint), 1e-10) << t;
        }
        before = std::log(joint);
      }
    }
  }
}

// Writer and optimum follow one law: paid on average is what the reader expects to pay.
TEST(ToylagTask, PaysWhatItExpects) {
  const Task task = make_task("toylag", 256);
  Mean excess;
  for (std::uint64_t i = 0; i < 128; ++i) {
    const std::vector<int> x = document(task, i, 256);
    std::array<double, topics> posterior;
    posterior.fill(1.0 / topics);
    Mean mine;
    for (std::size_t t = 0; t < x.size(); ++t) {
      std::vector<int> alternative(x.begin(), x.begin() + t + 1);
      double paid = 0, expected = 0, total = 0;
      for (int symbol = 0; symbol < symbols; ++symbol) {
        alternative[t] = symbol;
        double p = 0;
        for (int z = 0; z < topics; ++z) p += posterior[z] * likelihood(alternative, t, z);
        total += p;
        expected -= p * std::log(p);
        if (symbol == x[t]) paid = -std::log(p);
      }
      ASSERT_NEAR(total, 1, 1e-12);
      mine.add(paid - expected);
      double sum = 0;
      for (int z = 0; z < topics; ++z) sum += posterior[z] *= likelihood(x, t, z);
      for (double& p : posterior) p /= sum;
    }
    excess.add(mine.value());
  }
  expect_mean(excess, 0, "nats paid beyond those expected");
}

TEST(ToylagTask, GivesWindowsOfOneDocument) {
  const Task task = make_task("toylag", 512);
  const Example all = sample(task, {PES_SPLIT_TRAIN, 1, 7, 512, 0, {}});
  const Example window = sample(task, {PES_SPLIT_TRAIN, 1, 7, 64, 200, {}});
  EXPECT_TRUE(std::equal(window.tokens.begin(), window.tokens.end(), all.tokens.begin() + 200));
  EXPECT_TRUE(std::equal(window.targets.begin(), window.targets.end(), all.targets.begin() + 200));
}

TEST(ToylagTask, RefusesWindowsBeyondTheDocument) {
  EXPECT_THAT(error_of([] { make_task("toylag(document=256)", 512); }),
              HasSubstr("set document to at least that"));
  const Task task = make_task("toylag(document=256)", 256);
  EXPECT_THAT(error_of([&] {
                sample(task, {PES_SPLIT_TRAIN, 1, 0, 100, 200, {}});
              }),
              HasSubstr("does not fit into a document of 256"));
}

}  // namespace
}  // namespace pesuite::testing
