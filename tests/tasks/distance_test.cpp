// How far back that stands which a target hangs on: as the tasks tell it, against a search from the
// target backwards; what evaluation makes of it; and tasks that tell what cannot be.
#include <map>

#include "model/evaluate.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {

namespace {

struct Told {
  std::vector<std::int32_t> tokens, targets, distances;
};
Told told(const Task& task, Task::Request r) {
  Told e;
  const auto n = static_cast<std::size_t>(task.tokens(r));
  e.tokens.resize(n), e.targets.resize(n), e.distances.resize(n, 77);
  task.sample(r, e.tokens, e.targets, {}, {}, e.distances);
  return e;
}
Told told(const Task& task, int length, std::uint64_t index, std::int64_t start = -1) {
  return told(task, {PES_SPLIT_TEST, 3, index, length, start, {}, 0});
}

}  // namespace

TEST(Distance, OfFlipFlopGoesBackToTheLastWrite) {
  constexpr int write = S, read = S + 1;
  const Task task = make_task("flipflop");
  for (int i = 0; i < 20; ++i) {
    const Told e = told(task, 128, i);
    for (int t = 0; t < 128; ++t) {
      int wanted = -1;
      if (t % 2 == 0 && e.tokens[t] == read) {
        int w = t;
        while (e.tokens[w] != write) w -= 2;
        wanted = t + 1 - (w + 1);
        EXPECT_EQ(e.targets[t], e.tokens[t + 1 - wanted]);
      }
      EXPECT_EQ(e.distances[t], wanted) << t;
    }
  }
}

TEST(Distance, OfLedgerGoesBackToTheLastMentionInTheWindow) {
  constexpr int set = S + 1, ask = S + 2;
  const Task task = make_task("ledger", 256);
  int in_sight = 0, out_of_sight = 0;
  for (int i = 0; i < 20; ++i)
    for (const int start : {0, 700}) {
      const Told e = told(task, 256, i, start);
      const auto is = [&](int t, int type) { return t >= 0 && e.tokens[t] == type; };
      // the value behind ASK entity attribute is the target of the attribute
      for (int t = 4; t < 256; ++t) {
        if (!is(t - 2, ask)) {
          if (!is(t - 2, set)) {
            EXPECT_EQ(e.distances[t], -1) << t;
          }
          continue;
        }
        int wanted = 0;
        for (int m = t - 1; m >= 2 && wanted == 0; --m)
          if ((is(m - 2, set) || is(m - 2, ask)) && e.tokens[m - 1] == e.tokens[t - 1] &&
              e.tokens[m] == e.tokens[t])
            wanted = t + 1 - (m + 1);
        // a mention that began before the window cannot be found here
        if (e.distances[t] == wanted || wanted > 0) {
          EXPECT_EQ(e.distances[t], wanted) << t;
        } else {
          EXPECT_GE(e.distances[t], t - 2) << t;
        }
        if (wanted > 0) {
          EXPECT_EQ(e.targets[t], e.tokens[t + 1 - wanted]);
        }
        ++(wanted > 0 ? in_sight : out_of_sight);
      }
    }
  EXPECT_GT(in_sight, 50);
  EXPECT_GT(out_of_sight, 50);
}

TEST(Distance, OfBracketsGoesBackToTheOneThatIsClosed) {
  constexpr int types = 8, open = S + 1, close = open + types;
  const Task task = make_task("brackets", 256);
  for (int i = 0; i < 20; ++i) {
    const Told e = told(task, 256, i, 100);
    for (int t = 0; t < 256; ++t) {
      int wanted = -1;
      if (e.targets[t] >= close) {
        wanted = 0;
        for (int o = t, height = 0; o >= 0 && wanted == 0; --o) {
          height += e.tokens[o] >= close ? 1 : 0;
          if (e.tokens[o] < close && height-- == 0) wanted = t + 1 - o;
        }
        if (wanted > 0) {
          EXPECT_EQ(e.targets[t], e.tokens[t + 1 - wanted] + types);
        }
      }
      EXPECT_EQ(e.distances[t], wanted) << i << " " << t;
    }
  }
}

TEST(Distance, OfFactsGoesBackToTheLatestValue) {
  constexpr int keys = 8;
  const Task task = make_task("facts");
  for (const int start : {0, 101})
    for (int i = 0; i < 20; ++i) {
      const Told e = told(task, 64, i, start);
      for (int t = start % 2; t < 64; t += 2) {
        int wanted = 0;
        for (int u = t - 2; u >= 0 && wanted == 0; u -= 2)
          if (e.tokens[u] == e.tokens[t]) wanted = t - u;
        // who begins with a value is told whose it is
        if (wanted > 0 || start == 0) {
          EXPECT_EQ(e.distances[t], wanted) << i << " " << t;
        }
        ASSERT_LT(e.tokens[t], S + keys);
        if (t > 0) {
          EXPECT_EQ(e.distances[t - 1], -1) << "a key hangs on nothing";
        }
      }
    }
}

TEST(Distance, OfAssociativeRecallGoesBackToTheValue) {
  const Task task = make_task("mqar(symbols=512)");
  for (int i = 0; i < 20; ++i) {
    const Told e = told(task, 64, i);
    int asked = 0;
    for (int t = 0; t < 64; ++t) {
      if (e.targets[t] < 0) {
        EXPECT_EQ(e.distances[t], -1);
        continue;
      }
      ++asked;
      const int value = t - e.distances[t];
      EXPECT_EQ(e.tokens[value - 1], e.tokens[t]);
      EXPECT_EQ(e.tokens[value], S + 256 + e.targets[t]);
    }
    EXPECT_EQ(asked, 4);
  }
}

TEST(Distance, StaysTheSameBehindFill) {
  const Task task = make_task("flipflop");
  const Told plain = told(task, {PES_SPLIT_TEST, 3, 0, 64, -1, {}, 0});
  const Told filled = told(task, {PES_SPLIT_TEST, 3, 0, 64, -1, {}, 10});
  ASSERT_EQ(filled.distances.size(), 74u);
  EXPECT_TRUE(std::all_of(filled.distances.begin(), filled.distances.begin() + 10,
                          [](int d) { return d == -1; }));
  EXPECT_TRUE(
      std::equal(plain.distances.begin(), plain.distances.end(), filled.distances.begin() + 10));
}

TEST(Distance, OfOtherTasksIsNotTold) {
  for (const int d : told(make_task("copy"), 64, 0).distances) EXPECT_EQ(d, -1);
}

TEST(Distance, ThatCannotBeIsRefused) {
  EXPECT_EQ(error_of([] { told(make_task("far_back"), 64, 0); }),
            "task 'far_back', example 0 of length 64: the target at position 63, 1, hangs on what "
            "stands 65 tokens before it, which cannot be");
}

// Whoever reads the bit that was written, but forgets what is 16 tokens away or more.
TEST(Recalled, IsScoredByDistance) {
  const Task task = make_task("flipflop", 128, 64);
  EvalConfig c;
  c.lengths = {128}, c.examples = 50, c.train_length = 64;
  std::int64_t near = 0, far = 0;
  const Scorer forgetful = [&](const Batch& b, const StepInfo&) {
    Scores s;
    for (std::size_t i = 0; i < b.targets.size(); ++i) {
      if (b.targets[i] < 0) continue;
      const bool known = b.distances[i] < 16;
      ++(known ? near : far);
      s.place.push_back(static_cast<std::int64_t>(i));
      s.nats.push_back(known ? 0 : 1);
      s.best.push_back(known ? b.targets[i] : b.targets[i] - 1);
    }
    return s;
  };
  std::int64_t targets = 0;
  std::map<int, std::pair<double, std::int64_t>> at;
  for (const Observation& o : evaluate(forgetful, task, c, 128, 5, 0)) {
    if (o.metric != "acc" || o.coords.value("bucket", "") != "recall") continue;
    if (o.coords.contains("dist_lo")) {
      EXPECT_EQ(o.coords.at("dist_hi"), 2 * o.coords.at("dist_lo").get<int>());
      at[o.coords.at("dist_lo")] = {o.value, o.count};
      continue;
    }
    targets = o.count;
    EXPECT_DOUBLE_EQ(o.value, static_cast<double>(near) / static_cast<double>(near + far));
  }
  EXPECT_EQ(targets, near + far);
  std::int64_t sum = 0;
  for (const auto& [distance, found] : at) {
    EXPECT_EQ(found.first, distance < 16 ? 1 : 0) << distance;
    sum += found.second;
  }
  EXPECT_EQ(sum, targets);
  EXPECT_EQ(at.begin()->first, 2);
  EXPECT_GT(at.rbegin()->first, 32);
}

}  // namespace pesuite::testing
