// Our kernels for tables by distance and values for keys, where attention is not kind to them: tile
// edges, hidden keys, huge scores, groups of heads; against the reference in double.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "backend/factory.h"
#include "tests/gpu/subject.h"
#include "tests/tensor/attention_cases.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

// Both ways, in bf16 and by the reference, from the same inputs.
void expect_same(const AttentionExample& c, std::vector<Values> in, double bound = 2e-2) {
  for (std::size_t i = 0; i < 3; ++i)  // so that rounding them to bf16 changes nothing
    for (double& x : in[i].data) x = std::round(x * 16) / 16;
  const auto backend = subject(Precision::bf16);
  const Result wanted = run(*open_backend("reference", {}), in, fused(c));
  const Result actual = run(*backend, in, fused(c));
  EXPECT_THAT(backend->attention_route(), HasSubstr("read tile by tile")) << c.name;
  EXPECT_LT(relative(actual.y, wanted.y), bound / 2) << c.name;
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
    for (const double x : actual.gradients[i].data) ASSERT_TRUE(std::isfinite(x)) << c.name;
    EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), bound)
        << c.name << ", input " << i;
  }
  const Result again = run(*subject(Precision::bf16), in, fused(c));
  EXPECT_EQ(again.y.data, actual.y.data) << c.name << " repeats bit by bit";
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_EQ(again.gradients[i].data, actual.gradients[i].data) << c.name << ", input " << i;
}

TEST(TiledAttention, IsThatOfTheReferenceAtTheEdgesOfTiles) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  for (const std::int64_t T : {31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 256, 300})
    for (const std::int64_t size : {8, 32, 40, 64, 128}) {
      AttentionExample c = {"table and keys", 2, 2, 1, T, size, 64, {2, T}, {2, 1, 1, T}};
      c.name += ", " + std::to_string(T) + " tokens, heads of " + std::to_string(size);
      expect_same(c, inputs(c));
    }
}

TEST(TiledAttention, TakesEveryFormOfWhatIsAdded) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t T = 150;
  for (const Shape& table : {Shape{0}, {1, T}, {4, T}, {4, T + 90}})
    for (const Shape& keys : {Shape{0}, {T}, {1, T}, {4, 1, T}, {3, 1, 1, T}, {3, 4, 1, T}})
      if (given(table) || given(keys)) {
        const AttentionExample c = {
            "table " + table.text() + ", keys " + keys.text(), 3, 4, 2, T, 16, 24, table, keys};
        expect_same(c, inputs(c));
      }
}

// Keys that nothing sees but themselves, whole tiles of them, and scores far from 0.
TEST(TiledAttention, KeepsNumbersFiniteWhereScoresAreExtreme) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const AttentionExample c = {"", 1, 2, 2, 200, 16, 16, {2, 200}, {2, 1, 200}};
  const auto with = [&](const char* name, double far, double key) {
    AttentionExample named = c;
    named.name = name;
    std::vector<Values> in = inputs(c);
    for (std::int64_t d = 70; d < 200; ++d)  // further than a tile
      in[3].data[static_cast<std::size_t>(d)] = far;
    for (std::int64_t j = 0; j < 100; ++j) in[4].data[static_cast<std::size_t>(j)] += key;
    expect_same(named, in, 3e-2);
  };
  with("hidden by numbers", -1e6, 0);
  with("all weight far away", 90, 0);
  with("keys of weight", 0, 100);
  with("keys without", 0, -1e4);
}

TEST(TiledAttention, AddsToGradientsThatAreThere) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const AttentionExample c = {"used twice", 2, 2, 1, 90, 16, 16, {2, 90}, {2, 1, 90}};
  const Build twice = [&](Tape& t, const std::vector<Tensor>& x) {
    const Tensor first = ops::linear(t, attend(t, attention(c, x)), x[5], {});
    return ops::linear(t, attend(t, attention(c, x)), x[5], {}, first);
  };
  std::vector<Values> in = inputs(c);
  in.push_back(random_values({8, 16}, 6));
  const Result wanted = run(*open_backend("reference", {}), in, twice);
  const Result actual = run(*subject(Precision::bf16), in, twice);
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), 2e-2) << "input " << i;
}

// The forward pass knows a line as slopes, without what stands at distance 0.
TEST(TiledAttention, LearnsFromALineThatDoesNotStartAtZero) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const AttentionExample c = {"line", 2, 2, 2, 90, 16, 16, {2, 90}};
  std::vector<Values> in = inputs(c);
  for (std::size_t i = 0; i < in[3].data.size(); ++i)
    in[3].data[i] = 3 - 0.125 * static_cast<double>(i % 90);
  expect_same(c, in);
}

void expect_split(const AttentionExample& c, const std::vector<Values>& in, std::int64_t level,
                  std::int64_t window, double bound = 2e-2) {
  const Build build = by_shared_rows(c, level);
  const auto backend = subject_that_splits();
  const Result wanted = run(*open_backend("reference", {}), in, build);
  const Result actual = run(*backend, in, build);
  const std::string up_to = " up to a distance of " + std::to_string(window) + ",";
  EXPECT_EQ(backend->attention_route().find(up_to) != std::string::npos, window > 0)
      << c.name << ": " << backend->attention_route();
  EXPECT_LT(relative(actual.y, wanted.y), bound / 2) << c.name;
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_LT(relative(actual.gradients[i], wanted.gradients[i]), bound)
        << c.name << ", input " << i;
  const Result again = run(*subject_that_splits(), in, build);
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    EXPECT_EQ(again.gradients[i].data, actual.gradients[i].data) << c.name << ", input " << i;
}

TEST(TiledAttention, LeavesToCudnnWhereTheTableIsLevel) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  struct Split {
    std::int64_t T, level, window;  // 0: all is ours
    std::int64_t D = 16, E = 24, G = 2, heads_of_table = 4;
  };
  for (const Split& s : {Split{127, 33, 0},
                         {128, 33, 64},
                         {129, 64, 64, 16, 24, 4},
                         {200, 65, 0, 16, 24, 1},
                         {256, 129, 0},
                         {300, 65, 128},
                         {300, 1, 64, 64, 64},
                         {190, 60, 64, 128, 128},
                         {257, 64, 64, 40, 40, 2, 1}}) {
    AttentionExample c = {"", 2, 4, s.G, s.T, s.D, s.E, {s.heads_of_table, s.T}};
    c.name = std::to_string(s.T) + " tokens, level from " + std::to_string(s.level);
    expect_split(c, inputs_with_rows(c, s.level), s.level, s.window);
  }
}

TEST(TiledAttention, IsRightWhereAllWeightIsBeyondOrNone) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const AttentionExample c = {"", 1, 2, 2, 200, 16, 16, {2, 200}};
  for (const double level : {-1e6, -30.0, 30.0, 1e4}) {
    std::vector<Values> in = inputs_with_rows(c, 50);
    for (std::size_t h = 0; h < 2; ++h) in[3].data[50 * 2 + h] = level;
    AttentionExample named = c;
    named.name = "level at " + std::to_string(level);
    expect_split(named, in, 50, 64, 3e-2);
  }
}

}  // namespace
}  // namespace pesuite::testing
