// The language of brackets: nesting, its optimum against Bayes' rule written out and against its
// entropy rate.
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

constexpr int begin = PES_FIRST_SYMBOL, open = begin + 1;

Example window(const Task& task, std::uint64_t index, int length, std::int64_t start) {
  return sample(task, {PES_SPLIT_TEST, 3, index, length, start, {}});
}

TEST(Brackets, AreNestedAndNeverTooDeep) {
  const Task task = make_task("brackets", 1024);
  double deepest = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Example e = window(task, i, 1024, 0);
    EXPECT_EQ(e.tokens[0], begin);
    std::vector<int> stack;
    for (std::size_t t = 1; t < e.tokens.size(); ++t) {
      const int type = e.tokens[t] - open;
      if (type < 8) {
        stack.push_back(type);
      } else {
        ASSERT_FALSE(stack.empty());
        ASSERT_EQ(stack.back(), type - 8);
        stack.pop_back();
      }
      deepest = std::max<double>(deepest, static_cast<double>(stack.size()));
    }
  }
  EXPECT_EQ(deepest, 4);
}

// Entropy rate: the height at equilibrium is Binomial(4, 1/2).
TEST(Brackets, OptimumHasTheEntropyRate) {
  const double law[] = {1. / 16, 4. / 16, 6. / 16, 4. / 16, 1. / 16};
  double rate = std::log(8) / 2;
  for (int d = 1; d < 4; ++d)
    rate -= law[d] * ((4 - d) / 4. * std::log((4 - d) / 4.) + d / 4. * std::log(d / 4.));
  EXPECT_NEAR(rate, 1.5808, 1e-4);
  const Task task = make_task("brackets(document=8192)", 8192);
  Mean mean;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Example e = window(task, i, 8192, 0);
    double sum = 0;
    for (std::size_t t = 64; t < e.optimum.size(); ++t) sum += e.optimum[t];
    mean.add(sum / static_cast<double>(e.optimum.size() - 64));
  }
  expect_mean(mean, rate, "nats");
}

// P(the brackets of a window) for each height and stack that it may begin with, by multiplying
// what the definition says of each token.
double likelihood(const std::vector<std::int32_t>& x, std::vector<int> stack, int depth,
                  int types) {
  double p = 1;
  for (const std::int32_t token : x) {
    const int d = static_cast<int>(stack.size());
    if (token < open + types) {
      p *= static_cast<double>(depth - d) / depth / types;
      if (d == depth) return 0;
      stack.push_back(token - open);
    } else {
      if (d == 0 || stack.back() != token - open - types) return 0;
      p *= static_cast<double>(d) / depth;
      stack.pop_back();
    }
  }
  return p;
}
// The same, averaged over the stacks of a document that began long ago.
double likelihood(const std::vector<std::int32_t>& x, int depth, int types) {
  double total = 0, ways = 1;  // binomial coefficient
  for (int d = 0; d <= depth; ++d) {
    int stacks = 1;
    for (int i = 0; i < d; ++i) stacks *= types;
    for (int code = 0; code < stacks; ++code) {
      std::vector<int> stack;
      for (int i = 0, rest = code; i < d; ++i, rest /= types) stack.push_back(rest % types);
      total += ways / std::ldexp(1, depth) / stacks * likelihood(x, stack, depth, types);
    }
    ways = ways * (depth - d) / (d + 1);
  }
  return total;
}

TEST(Brackets, OptimumOfAWindowIsBayesRule) {
  const Task task = make_task("brackets(depth=3, types=2)");
  for (std::uint64_t i = 0; i < 40; ++i)
    for (const int start : {0, 100}) {
      const Example e = window(task, i, 12, start);
      std::vector<std::int32_t> x(e.tokens.begin() + (start == 0 ? 1 : 0), e.tokens.end());
      x.push_back(e.targets.back());
      for (std::size_t t = 0; t < e.optimum.size(); ++t) {
        const std::size_t known = t + (start == 0 ? 0 : 1);
        const std::vector<std::int32_t> before(x.begin(), x.begin() + known),
            through(x.begin(), x.begin() + known + 1);
        const double p = start == 0 ? likelihood(through, {}, 3, 2) / likelihood(before, {}, 3, 2)
                                    : likelihood(through, 3, 2) / likelihood(before, 3, 2);
        EXPECT_NEAR(e.optimum[t], -std::log(p), 1e-12) << i << " " << start << " " << t;
      }
    }
}

// The law itself, at a window's beginning and behind what opened in it.
TEST(Brackets, PredictsWhatCanCome) {
  const Task task = make_task("brackets(depth=2, types=3)");
  ASSERT_TRUE(task.has_predict());
  const int width = task.info().outputs, close = open + 3;
  const std::vector<std::int32_t> read = {begin, open + 1, open + 2, close + 2};
  const auto row = [&](std::int32_t start, std::int32_t t) {
    std::vector<double> nats((read.size() - start) * width);
    task.predict(read, start, nats);
    std::vector<double> p;
    for (int v = open; v < width; ++v) p.push_back(std::exp(-nats[(t - start) * width + v]));
    for (int v = 0; v < open; ++v) EXPECT_EQ(nats[(t - start) * width + v], HUGE_VAL);
    return p;
  };
  const auto near = [](std::vector<double> p) {
    return ::testing::Pointwise(::testing::DoubleNear(1e-12), p);
  };
  EXPECT_THAT(row(0, 0), near({1. / 3, 1. / 3, 1. / 3, 0, 0, 0}));
  EXPECT_THAT(row(0, 1), near({1. / 6, 1. / 6, 1. / 6, 0, .5, 0}));
  EXPECT_THAT(row(0, 2), near({0, 0, 0, 0, 0, 1}));
  EXPECT_THAT(row(0, 3), near({1. / 6, 1. / 6, 1. / 6, 0, .5, 0}));
  // depths 0, 1, 2 with 1/4, 1/2, 1/4; behind an opening one 1 and 2, each with 1/2
  EXPECT_THAT(row(2, 2), near({1. / 12, 1. / 12, 1. / 12, 0, 0, .75}));
  // behind both 0 with 1/3, 1 with 2/3; what opened before the window has any type
  EXPECT_THAT(row(2, 3), near({2. / 9, 2. / 9, 2. / 9, 1. / 9, 1. / 9, 1. / 9}));
}

}  // namespace
}  // namespace pesuite::testing
