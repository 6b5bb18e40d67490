// Rotations by learned or drawn angles, and scores that grow with the number of keys, where golden
// vectors do not reach: what they start as, shared keys, what is refused.
#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/plugins/hooks.h"

namespace pesuite::testing::contextual {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr int T = 6, D = 8, W = 16;
const golden::Values q = drawn({1, 2, T, D}, 1), k = drawn({1, 2, T, D}, 2),
                     x = drawn({1, T, W}, 3);

std::string refusal(const std::string& expression, const ModelShape& shape) {
  try {
    Hooks h(expression, shape);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
constexpr ModelShape usual{1, 2, 2, D, W, 64, 4096};

TEST(GrapeM, StartsAsRope) {
  for (const char* expression : {"grape_m", "grape_m(heads=own, slow=3)"})
    for (const int offset : {0, 1000})
      EXPECT_THAT(Hooks(expression).scores(q, k, offset),
                  Pointwise(DoubleNear(1e-4), Hooks("rope").scores(q, k, offset)))
          << expression;  // the logarithms of frequencies are kept in fp32
}
TEST(GrapeM, IsSlowRopeWhileItsGatesAreEqual) {  // they start so, at sigmoid(b/16)
  const double step = 1 / (1 + std::exp(-std::log(std::expm1(1e-3)) / 16));
  const double factor = 1 / step;
  EXPECT_THAT(
      Hooks("grape_m(contextual=true)").scores(q, k, 0, x),
      Pointwise(DoubleNear(1e-5), Hooks(fmt::format("linear(factor={})", factor)).scores(q, k)));
}

TEST(Fope, WithoutNoiseIsRopeOfItsFastPairs) {
  EXPECT_THAT(Hooks("fope(gain=0, kept=4)").scores(q, k, 5),
              Pointwise(DoubleNear(1e-9), Hooks("rope").scores(q, k, 5)));
  // of the frequencies 1, 0.1, 0.01, 0.001 two turn within 64 tokens
  EXPECT_THAT(Hooks("fope(gain=0)").scores(q, k, 5),
              Pointwise(DoubleNear(1e-9), Hooks("p_rope(p=0.5)").scores(q, k, 5)));
  EXPECT_THAT(Hooks("fope(gain=0, original=20)").scores(q, k, 5),
              Pointwise(DoubleNear(1e-9), Hooks("p_rope(p=0.25)").scores(q, k, 5)));
}
TEST(Fope, DrawsTheSameAgain) {
  Hooks one("fope"), again("fope");
  EXPECT_TRUE(one.parameters.empty());
  EXPECT_EQ(one.scores(q, k), again.scores(q, k));
  EXPECT_NE(one.scores(q, k), Hooks("fope(draw=2)").scores(q, k));
  EXPECT_NE(one.scores(q, k), Hooks("rope").scores(q, k));
  // what is trained starts as what is drawn: the identity with noise of gain / sqrt(pairs)
  const Hooks learned("fope(learned=true, kept=4, gain=0.5)");
  ASSERT_EQ(learned.parameters.size(), 2U);
  double noise = 0;
  for (const golden::Values& p : learned.parameters)
    for (std::size_t i = 0; i < p.data.size(); ++i) {
      const double unit = i % 16 / 4 == i % 4 ? 1 : 0;
      noise += (p.data[i] - unit) * (p.data[i] - unit) / 64;
    }
  EXPECT_NEAR(std::sqrt(noise), 0.25, 0.08);
}

// Two equal query heads over one key head: both see what a model of one head sees.
TEST(Contextual, HeadsThatShareKeysTurnAsTheirKeysDo) {
  golden::Values one{{1, 1, T, D}, {q.data.begin(), q.data.begin() + T * D}}, twice = q;
  std::copy_n(one.data.begin(), T * D, twice.data.begin() + T * D);
  const golden::Values key{{1, 1, T, D}, {k.data.begin(), k.data.begin() + T * D}};
  for (const char* expression :
       {"repo", "repo(layout=interleaved, features=4)", "grape_m(contextual=true, heads=own)",
        "grape_m(heads=own)", "fope", "fope(learned=true)"}) {
    Hooks shared(expression, {1, 2, 1, D, W, 64, 4096}),
        alone(expression, {1, 1, 1, D, W, 64, 4096});
    for (Hooks* h : {&shared, &alone})
      for (std::size_t i = 0; i < h->parameters.size(); ++i)
        h->parameters[i] = drawn(h->parameters[i].shape, 11 + i);
    const std::vector<double> s = shared.scores(twice, key, 0, x), a = alone.scores(one, key, 0, x);
    ASSERT_EQ(s.size(), 2 * a.size()) << expression;
    for (std::size_t i = 0; i < s.size(); ++i)
      ASSERT_NEAR(s[i], a[i % a.size()], 1e-10) << expression << " " << i;
  }
  Hooks selective("selective_rope(gate=true)", {1, 2, 1, D, W, 64, 4096});
  for (golden::Values& p : selective.parameters) p = drawn(p.shape, 5);
  const std::vector<double> s = selective.scores(twice, key, 0, x);
  for (std::size_t i = 0; i < s.size() / 2; ++i) ASSERT_NEAR(s[i], s[i + s.size() / 2], 1e-12);
}

TEST(SelectiveRope, IsNoneUntilItHasLearned) {
  EXPECT_THAT(Hooks("selective_rope").scores(q, k, 0, x),
              Pointwise(DoubleNear(1e-2), Hooks("none").scores(q, k)));
  EXPECT_THAT(refusal("selective_rope", {1, 3, 3, 8, 16, 64, 64}),
              HasSubstr("a width that the 3 heads divide, not 16"));
  EXPECT_THAT(refusal("selective_rope", {1, 2, 2, 7, 14, 64, 64}), HasSubstr("even head size"));
  EXPECT_THAT(refusal("fope", {1, 2, 2, 7, 14, 64, 64}), HasSubstr("even head size"));
  EXPECT_THAT(refusal("fope(kept=5)", usual), HasSubstr("has 4 pairs"));
  EXPECT_THAT(refusal("grape_ap(features=3)", usual), HasSubstr("an even number"));
  EXPECT_THAT(refusal("repo(base=0.5)", usual), HasSubstr("needs a base from 1 on"));
}

TEST(Ssmax, StartsWithScoresOfTheUsualSize) {
  const ModelShape shape{1, 2, 2, D, W, T, 4096};  // trained at T tokens
  const std::vector<double> plain = Hooks("none", shape).scores(q, k),
                            scaled = Hooks("ssmax", shape).scores(q, k);
  double sum = 0;
  for (int i = 0; i < T; ++i) {
    const double gain =
        scaled[static_cast<std::size_t>(i * T)] / plain[static_cast<std::size_t>(i * T)];
    EXPECT_NEAR(gain, std::log(i + 1) * T / std::log(720), 1e-6);
    sum += gain;
  }
  EXPECT_NEAR(sum / T, 1, 1e-6);
  EXPECT_TRUE(Hooks("ssmax(learned=false)").parameters.empty());
  EXPECT_THAT(Hooks("ssmax(learned=false)", shape).scores(q, k),
              Pointwise(DoubleNear(1e-6), scaled));
  // beyond the training length scores go on growing: those of token 99 by ln 100
  const std::vector<double> far = Hooks("ssmax(start=0.5)", shape).scores(q, k, 99);
  EXPECT_NEAR(far[0] / plain[0], 0.5 * std::log(100), 1e-6);
}

}  // namespace
}  // namespace pesuite::testing::contextual
