// Which token is drawn: by hand, over all that the random number may be.
#include "model/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace pesuite::testing {
namespace {

const std::vector<double> logits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};

// Share of the numbers in [0, 1) that draw each token.
std::map<std::int32_t, double> shares(const Sampling& s, const std::vector<double>& of = logits) {
  constexpr int steps = 1000;
  std::map<std::int32_t, double> out;
  for (int i = 0; i < steps; ++i) out[draw(of, s, (i + 0.5) / steps)] += 1.0 / steps;
  return out;
}
void expect_shares(const Sampling& s, const std::map<std::int32_t, double>& wanted) {
  const auto found = shares(s);
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [token, share] : wanted) EXPECT_NEAR(found.at(token), share, 1e-3) << token;
}

TEST(Sampling, DrawsByProbability) {
  expect_shares({}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
  expect_shares({.temperature = 0.5},
                {{0, 0.01 / 0.3}, {1, 0.16 / 0.3}, {2, 0.04 / 0.3}, {3, 0.09 / 0.3}});
  expect_shares({.temperature = 0}, {{1, 1.0}});
}

TEST(Sampling, KeepsTheLikeliest) {
  expect_shares({.top_k = 2}, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expect_shares({.top_k = 9}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
  expect_shares({.top_p = 0.69}, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expect_shares({.top_p = 0.75}, {{1, 4.0 / 9}, {2, 2.0 / 9}, {3, 3.0 / 9}});
  expect_shares({.top_p = 1e-9}, {{1, 1.0}});
  expect_shares({.top_k = 3, .top_p = 0.5}, {{1, 4.0 / 7}, {3, 3.0 / 7}});
}

TEST(Sampling, TakesTheFirstOfEquals) {
  EXPECT_EQ(draw(std::vector<double>{1, 3, 3, 2}, {.temperature = 0}, 0.9), 1);
  EXPECT_EQ(draw(std::vector<double>{1, 3, 3, 2}, {.top_k = 1}, 0.9), 1);
}

TEST(Sampling, SurvivesLargeAndInfiniteLogits) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(shares({}, {1e4, -1e4, -infinite}).size(), 1u);
  for (const double x : {std::nan(""), infinite})
    EXPECT_THROW(draw(std::vector<double>{1, x}, {}, 0.5), Error);
  EXPECT_THROW(draw(std::vector<double>{-infinite, -infinite}, {}, 0.5), Error);
}

TEST(Sampling, RefusesWhatIsNoSetting) {
  for (const Sampling& s : {Sampling{.temperature = -1}, Sampling{.temperature = std::nan("")},
                            Sampling{.top_k = -1}, Sampling{.top_p = 0}, Sampling{.top_p = 1.1}})
    EXPECT_THROW(check(s), Error);
}

}  // namespace
}  // namespace pesuite::testing
