// The language of facts: what follows from what, and its optimum against the definition counted
// out.
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

constexpr int keys = 8, values = 8;
constexpr double change = 0.1;

Example facts_window(const Task& task, std::uint64_t index, int length, std::int64_t start) {
  return sample(task, {PES_SPLIT_TEST, 5, index, length, start, {}});
}
bool is_key(std::int32_t token) {
  return token >= S && token < S + keys;
}
bool is_value(std::int32_t token) {
  return token >= S + keys && token < S + keys + values;
}

TEST(Facts, AreKeysWithTheirValues) {
  const Task task = make_task("facts", 1024);
  const Example e = facts_window(task, 0, 1024, 0);
  for (std::size_t t = 0; t < e.tokens.size(); ++t)
    EXPECT_TRUE(t % 2 == 0 ? is_key(e.tokens[t]) : is_value(e.tokens[t])) << t;
}

// Shares over many examples: of the keys, and of values that are not the latest.
TEST(Facts, FollowTheirLaw) {
  const Task task = make_task("facts", 2048);
  double all = 0;
  for (int k = 0; k < keys; ++k) all += 1.0 / (k + 1);
  std::vector<Mean> shares(keys);
  Mean other;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Example e = facts_window(task, i, 2048, 0);
    std::vector<std::int32_t> latest(keys, -1);
    std::vector<double> count(keys);
    double changed = 0, again = 0;
    for (std::size_t t = 0; t + 1 < e.tokens.size(); t += 2) {
      const std::size_t k = e.tokens[t] - S;
      ++count[k];
      if (latest[k] >= 0) ++again, changed += latest[k] != e.tokens[t + 1] ? 1 : 0;
      latest[k] = e.tokens[t + 1];
    }
    for (int k = 0; k < keys; ++k) shares[k].add(count[k] / 1024);
    other.add(changed / again);
  }
  for (int k = 0; k < keys; ++k) expect_mean(shares[k], 1 / (k + 1.0) / all, "key");
  expect_mean(other, change * (values - 1) / values, "new values");
}

// Token by token from the definition, for windows that begin with a key, with a value, and
// anywhere.
TEST(Facts, OptimumIsThatOfTheDefinition) {
  const Task task = make_task("facts");
  double all = 0;
  for (int k = 0; k < keys; ++k) all += 1.0 / (k + 1);
  for (std::uint64_t i = 0; i < 20; ++i)
    for (const int start : {0, 100, 101}) {
      const Example whole = facts_window(task, i, start + 64, 0),
                    e = facts_window(task, i, 64, start);
      ASSERT_TRUE(std::equal(e.tokens.begin(), e.tokens.end(), whole.tokens.begin() + start));
      for (int t = 0; t < 64; ++t) {
        if (is_value(e.tokens[t])) {
          EXPECT_NEAR(e.optimum[t], std::log(all * (e.targets[t] - S + 1)), 1e-8);
          continue;
        }
        int seen = -1;  // the place of the value of the latest such key in the window
        for (int u = t - 2; u >= -1 && seen < 0; u -= 2)
          if (start + u >= 0 && whole.tokens[start + u] == e.tokens[t]) seen = u + 1;
        const double p = seen < 0                         ? 1.0 / values
                         : e.targets[t] == e.tokens[seen] ? 1 - change + change / values
                                                          : change / values;
        EXPECT_NEAR(e.optimum[t], -std::log(p), 1e-7) << i << " " << start << " " << t;
      }
    }
}

}  // namespace
}  // namespace pesuite::testing
