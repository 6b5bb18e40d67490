// The five pitfalls that `pesuite guide pitfalls` names, each shown to be one, and the remedy to be
// one, on the encodings that are built.
#include <gmock/gmock.h>

#include <numbers>
#include <pesuite/pesuite.hpp>

#include "tests/plugins/hooks.h"

namespace pesuite::testing {
namespace {

constexpr ModelShape model{1, 1, 1, 16, 16, 64, 4096};

// Angle by which pair r turns at position 1, and the length it comes out with.
struct Turn {
  double angle, length;
};
Turn turn(const std::string& expression, int pair, int length = 64) {
  golden::Values q = zeros({1, 1, length, 16});
  for (int r = 0; r < 8; ++r) q.data[static_cast<std::size_t>(16 + r)] = 1;
  const auto y = Hooks(expression, model).turned(q, q)[0];
  const double a = y[static_cast<std::size_t>(16 + pair)],
               b = y[static_cast<std::size_t>(16 + pair + 8)];
  return {std::atan2(b, a), std::hypot(a, b)};
}

TEST(Pitfalls, UntrainedShareIsToldPastTheTable) {
  Hooks table("learned", model), formula("alibi", model);
  EXPECT_EQ(table.encoding.untrained(64), 0);
  EXPECT_EQ(table.encoding.untrained(256), 0.75);
  EXPECT_EQ(formula.encoding.untrained(256), 0);
}

// Entropy of the last row of softmax over scores of random content.
double entropy(const std::string& expression, int length) {
  const golden::Values q = drawn({1, 1, length, 16}, 3), k = drawn({1, 1, length, 16}, 4);
  const auto scores = Hooks(expression, model).scores(q, k);
  double sum = 0, weighted = 0;
  for (auto s = scores.end() - length; s != scores.end(); ++s) {
    sum += std::exp(*s);
    weighted += *s * std::exp(*s);
  }
  return std::log(sum) - weighted / sum;
}
TEST(Pitfalls, AttentionSpreadsUnlessScoresGrowWithLength) {
  const double near = entropy("linear(factor=8)", 64), far = entropy("linear(factor=8)", 512);
  EXPECT_GT(far, near + 0.9 * std::log(8));
  EXPECT_LT(entropy("yarn(factor=8, original=64)", 512), far - 0.1);
  const double m = 0.1 * std::log(8) + 1;
  EXPECT_NEAR(turn("yarn(factor=8, original=64)", 0, 512).length, m, 1e-12);
  EXPECT_NEAR(turn("linear(factor=8)", 0, 512).length, 1, 1e-12);
}

TEST(Pitfalls, OneFactorSlowsTheFastestPairOthersDoNot) {
  EXPECT_NEAR(turn("linear(factor=8)", 0).angle, 1.0 / 8, 1e-12);
  EXPECT_NEAR(turn("ntk(factor=8)", 0).angle, 1, 1e-12);
  EXPECT_NEAR(turn("yarn(factor=8, original=64)", 0).angle, 1, 1e-12);
  const double slow = turn("rope", 7).angle;  // which all of them squeeze
  for (const char* expression :
       {"linear(factor=8)", "ntk(factor=8)", "yarn(factor=8, original=64)"})
    EXPECT_NEAR(turn(expression, 7).angle, slow / 8, slow * 1e-6) << expression;
}

TEST(Pitfalls, TablesAreMadeOnce) {
  pes::Table table;
  int made = 0;
  const auto value = [&](std::int64_t row, std::int64_t column) {
    ++made;
    return static_cast<double>(10 * row + column);
  };
  EXPECT_EQ(table.extend(4, 3, value)[11], 32);
  EXPECT_EQ(made, 12);
  table.extend(4, 3, value);
  table.extend(2, 3, value);  // a shorter sequence takes the same rows
  EXPECT_EQ(made, 12);
  EXPECT_EQ(table.extend(5, 3, value)[14], 42);  // a longer one adds to them
  EXPECT_EQ(made, 15);
  EXPECT_EQ(table.range(3, 3, 3, value)[8], 52);  // its end, and what follows
  EXPECT_EQ(made, 18);
  EXPECT_EQ(table.range(1000, 2, 3, value)[5], 10012);  // none of those between
  EXPECT_EQ(made, 24);
  EXPECT_EQ(table.range(1001, 2, 3, value)[0], 10010);
  EXPECT_EQ(made, 27);
  EXPECT_EQ(table.range(999, 1, 3, value)[2], 9992);  // they follow each other
  EXPECT_EQ(made, 30);
}

TEST(Pitfalls, IntegerWavelengthsRepeatTheirPhases) {
  const auto differs = [](const std::string& expression) {  // of one period of pair 1 and the next
    constexpr int length = 128;
    golden::Values q = zeros({1, 1, length, 16});
    for (int n = 0; n < length; ++n) q.data[static_cast<std::size_t>(n * 16 + 1)] = 1;
    const auto y = Hooks(expression, model).turned(q, q)[0];
    const double w = std::pow(10000, -1.0 / 8);
    const int period = static_cast<int>(std::lround(2 * std::numbers::pi / w));
    double most = 0;
    for (int n = 0; n + period < length; ++n)
      most = std::max(most, std::fabs(y[static_cast<std::size_t>(n * 16 + 1)] -
                                      y[static_cast<std::size_t>((n + period) * 16 + 1)]));
    return most;
  };
  EXPECT_LT(differs("resonance"), 1e-13);
  EXPECT_GT(differs("rope"), 0.01);
}

}  // namespace
}  // namespace pesuite::testing
