// The sandbox problems: the worked examples of their definitions, balances, refusals.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ------------------------------------------------------------- examples of the definitions, solved

TEST(PrefixModsum, SumsWhatCameBefore) {
  const auto after_first = [](const Task& t, std::vector<int> x) {
    for (int& s : x) s += S;
    const std::vector<int> y = solve(t, x);
    return std::vector<int>(y.begin(), y.end());
  };
  EXPECT_THAT(after_first(make_task("prefix_modsum"), {3, 1, 4}), ElementsAre(0, 3, 4));
  EXPECT_THAT(after_first(make_task("prefix_modsum(inclusive=true)"), {3, 1, 4, 9}),
              ElementsAre(3, 4, 8, 7));
  EXPECT_THAT(after_first(make_task("prefix_modsum(m=5)"), {3, 1, 4}), ElementsAre(0, 3, 4));
  EXPECT_EQ(sample(make_task("prefix_modsum"), 64, 0).targets[0], -1);
}

TEST(ModsumCls, SumsAll) {
  EXPECT_THAT(solve(make_task("modsum_cls"), {19, 3, 0, 5}), ElementsAre(-1, -1, -1, 7));
}

TEST(KbackCopy, CopiesFromKBack) {
  EXPECT_THAT(solve(make_task("kback_copy(k=2)"), {7, 0, 49, 7, 3}), ElementsAre(-1, -1, 7, 0, 49));
}

TEST(KbackMatch, FindsTheMatchesAtThreeAndFive) {
  constexpr int A = S, B = S + 1, C = S + 2, D = S + 3;
  EXPECT_THAT(solve(make_task("kback_match(k=2)"), {A, B, C, B, D, B}),
              ElementsAre(-1, -1, 0, 1, 0, 1));
}

TEST(ShiftPattern, TextNamesTheStart) {
  constexpr int A = S + 47, B = S + 48, C = S + 49, X = S, Y = S + 1, Z = S + 2, zero = S + 50;
  // the answer's tokens are not looked at
  EXPECT_THAT(
      solve(make_task("shift_pattern(variant=text)"), {X, Y, A, B, C, Z, PES_ASK, 0, 0, 0, 0}),
      ElementsAre(-1, -1, -1, -1, -1, -1, zero, zero, zero + 2, PES_EOS, -1));
}

TEST(ShiftPattern, StrictWantsOrderAndAdjacency) {
  constexpr int A = S + 47, B = S + 48, C = S + 49, X = S;
  const Task t = make_task("shift_pattern");
  const auto label = [&](std::vector<int> x) { return solve(t, x).back(); };
  EXPECT_EQ(label({X, A, B, C, X}), 1);
  EXPECT_EQ(label({X, X, A, B, C}), 1);
  EXPECT_EQ(label({X, A, C, B, X}), 0);
  EXPECT_EQ(label({B, C, A, X, X}), 0);
  EXPECT_EQ(label({A, B, X, C, X}), 0);
  EXPECT_EQ(label({X, A, X, B, C}), 0);
}

TEST(FirstLast, ComparesTheEnds) {
  EXPECT_EQ(solve(make_task("first_last"), {S + 4, S, S, S + 4}).back(), 1);
  EXPECT_EQ(solve(make_task("first_last(variant=app)"), {4, 1, 1, 5}).back(), 0);
}

TEST(PairMatch, NamesSymbolAndPlaces) {
  constexpr int A = S, B = S + 1, C = S + 2, X = S + 3, Y = S + 4, Z = S + 5, ask = PES_ASK;
  const int digit = S + 256 + 64;  // behind the symbols of max_length = 256
  std::vector<int> sequence = {A, B, C, X, Y, Z, B, ask, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(std::vector<int>(solve(make_task("pair_match(variant=text)"), sequence)),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, B, digit, digit, digit + 1, digit, digit,
                          digit + 6, PES_EOS, -1));
  EXPECT_THAT(solve(make_task("pair_match"), {A, B, C, X, Y, Z, B, ask, 0, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, B, PES_EOS, -1));
  EXPECT_THAT(solve(make_task("pair_match(variant=bucket)"), {A, B, C, X, Y, Z, B, ask, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, digit + 2, -1));
}

// -------------------------------------------------------------------------------------- balances

constexpr int many = 20000;

// Calls visit(example) for `many` examples.
template <class Visit>
void for_each_example(const Task& task, int length, std::vector<double> axes, Visit visit) {
  for (int i = 0; i < many; ++i) visit(sample(task, length, i, PES_SPLIT_TRAIN, axes));
}

TEST(Balance, LabelsOfClasses) {
  for (const char* name : {"shift_pattern", "shift_pattern(variant=app)", "first_last",
                           "first_last(variant=app)", "modsum_cls"}) {
    const Task t = make_task(name);
    std::vector<int> seen(t.info().outputs);
    for_each_example(t, 64, {}, [&](const Example& e) { ++seen[e.targets.back()]; });
    for (const int count : seen) expect_rate(count, many, 1.0 / t.info().outputs, name);
  }
}

TEST(Balance, LabelsOfTags) {
  for (const char* name : {"prefix_modsum", "prefix_modsum(m=2)", "kback_copy", "kback_match"}) {
    const Task t = make_task(name);
    std::vector<double> seen(t.info().outputs);
    double n = 0;
    for (int i = 0; i < 2000; ++i)
      for (const int y : sample(t, 64, i).targets)
        if (y >= 0) ++seen[y], ++n;
    for (const double count : seen) expect_rate(count, n, 1.0 / t.info().outputs, name);
  }
}

TEST(Balance, EverySymbolIsEquallyLikely) {
  const Task t = make_task("modsum_cls");
  std::vector<int> seen(20);
  for (int i = 0; i < 1000; ++i)
    for (const int x : sample(t, 64, i).tokens) ++seen[x];
  for (const int count : seen) expect_rate(count, 64000, 1.0 / 20, "symbol");
}

// Mismatches of kback_match are uniform over the other symbols.
TEST(Balance, MismatchesAreUniform) {
  const Task t = make_task("kback_match(k=2)");
  std::map<int, double> difference;
  double n = 0;
  for (int i = 0; i < 2000; ++i) {
    const Example e = sample(t, 64, i);
    for (int p = 2; p < 64; ++p)
      if (e.targets[p] == 0) ++difference[(e.tokens[p] - e.tokens[p - 2] + 8) % 8], ++n;
  }
  EXPECT_EQ(difference.size(), 7u);
  for (const auto& [d, count] : difference) expect_rate(count, n, 1.0 / 7, "difference");
}

struct Range {
  const char* variant;
  int length;
  std::vector<double> axes;
  int low, high;
};

// Where the pattern starts, in every window: exactly the range of the definition, uniformly.
TEST(ShiftPatternWindows, AreThoseOfTheDefinition) {
  const std::vector<Range> ranges = {
      {"app", 64, {}, 2, 9},       {"app", 64, {0}, 2, 9},         {"app", 256, {0}, 2, 9},
      {"app", 64, {2}, 54, 61},    {"app", 256, {2}, 246, 253},    {"app", 64, {1}, 28, 35},
      {"strict", 64, {}, 2, 9},    {"strict", 64, {0}, 2, 9},      {"strict", 64, {1}, 28, 35},
      {"strict", 64, {2}, 53, 60}, {"strict", 256, {2}, 245, 252}, {"text", 69, {}, 0, 61},
      {"text", 69, {0}, 2, 9},     {"text", 69, {1}, 28, 35},      {"text", 69, {2}, 53, 60}};
  for (const Range& r : ranges) {
    const Task t = make_task(fmt::format("shift_pattern(variant={})", r.variant));
    const int first_of_pattern = std::string(r.variant) == "app" ? 48 : S + 47;
    std::map<int, double> starts;
    double n = 0;
    for (int i = 0; i < 4000; ++i) {
      const Example e = sample(t, r.length, i, PES_SPLIT_TRAIN, r.axes);
      const auto at = std::find_if(e.tokens.begin(), e.tokens.begin() + r.length,
                                   [&](int x) { return x >= first_of_pattern; });
      if (at != e.tokens.end()) ++starts[static_cast<int>(at - e.tokens.begin())], ++n;
    }
    EXPECT_EQ(starts.begin()->first, r.low) << r.variant << " " << r.length;
    EXPECT_EQ(starts.rbegin()->first, r.high) << r.variant << " " << r.length;
    for (const auto& [start, count] : starts)
      expect_rate(count, n, 1.0 / (r.high - r.low + 1), fmt::format("{} at {}", r.variant, start));
  }
}

TEST(ShiftPatternApp, HasItsPatternInPositivesOnly) {
  for_each_example(make_task("shift_pattern(variant=app)"), 64, {}, [](const Example& e) {
    const bool positive = e.targets.back() == 1;
    EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), 48), positive ? 1 : 0);
    EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), 49), positive ? 1 : 0);
    EXPECT_LT(*std::max_element(e.tokens.begin(), e.tokens.end()), 50);
  });
}

// A, B and C once each; the kinds of negatives in their proportions; the declared level of the
// place of C.
TEST(ShiftPatternStrict, HasEachSymbolOfThePatternOnce) {
  std::map<std::array<long, 3>, double> kinds;  // places of A, B, C behind the first of them
  std::map<long, std::array<double, 2>> place_of_c;
  for_each_example(make_task("shift_pattern"), 64, {}, [&](const Example& e) {
    std::array<long, 3> at{};
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), S + 47 + k), 1);
      at[k] = std::find(e.tokens.begin(), e.tokens.end(), S + 47 + k) - e.tokens.begin();
    }
    ++place_of_c[at[2]][e.targets.back()];
    const long first = *std::min_element(at.begin(), at.end());
    for (long& p : at) p -= first;
    ++kinds[at];
  });
  EXPECT_EQ(kinds.size(), 8u);
  for (const auto& [kind, count] : kinds) {
    const bool positive = kind == std::array<long, 3>{0, 1, 2};
    const bool gap = *std::max_element(kind.begin(), kind.end()) == 3;
    expect_rate(count, many, positive ? 1. / 2 : gap ? 1. / 8 : 1. / 20, "kind");
  }
  double right = 0;
  for (const auto& [place, counts] : place_of_c) right += std::max(counts[0], counts[1]);
  EXPECT_NEAR(right / many, 0.56875, 0.01);
  EXPECT_EQ(make_task("shift_pattern").info().shortcuts[0]->level, 0.56875);
}

// The app's negatives: difference 1 has probability 2/49 and 49 never occurs; ours are uniform.
TEST(FirstLastDifferences, AreUniformOrThoseOfTheApp) {
  const auto differences = [](const char* name) {
    std::vector<double> seen(50);
    for_each_example(make_task(name), 64, {}, [&](const Example& e) {
      ++seen[(e.tokens.back() - e.tokens.front() + 50) % 50];
    });
    return seen;
  };
  const std::vector<double> app = differences("first_last(variant=app)");
  EXPECT_EQ(app[49], 0);
  expect_rate(app[1], many, 1. / 2 * 2 / 49, "difference 1");
  expect_rate(app[7], many, 1. / 2 / 49, "difference 7");
  const std::vector<double> uniform = differences("first_last");
  for (int d = 1; d < 50; ++d) expect_rate(uniform[d], many, 1. / 2 / 49, "uniform");
}

TEST(PairMatchDistances, AreUniformAndOnTheAxis) {
  const Task t = make_task("pair_match");
  const int n = 64 - 3;
  const auto pair_of = [&](const Example& e) {
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j)
        if (e.tokens[i] == e.tokens[j]) return std::pair(i, j);
    return std::pair(0, 0);
  };
  std::vector<double> seen(n), first(n);
  for_each_example(t, 64, {}, [&](const Example& e) {
    const auto [i, j] = pair_of(e);
    ++seen[j - i];
    if (j - i == 10) ++first[i];
    EXPECT_EQ(std::set<int>(e.tokens.begin(), e.tokens.begin() + n).size(), n - 1u);
  });
  for (int d = 1; d < n; ++d) expect_rate(seen[d], many, 1.0 / (n - 1), "distance");
  for (int i = 0; i < n - 10; ++i) expect_rate(first[i], seen[10], 1.0 / (n - 10), "first place");

  const std::vector<Axis>& axes = t.axes();
  ASSERT_EQ(axes.size(), 1u);
  EXPECT_THAT(axes[0].values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));  // distances up to 252
  EXPECT_EQ(axes[0].trained, 6);                                     // up to 60 at length 64
  for (int i = 0; i < 200; ++i) {
    const auto [a, b] = pair_of(sample(t, 64, i, PES_SPLIT_TEST, {5}));
    EXPECT_GE(b - a, 32);
    EXPECT_LE(b - a, 60);
  }
}

TEST(Windows, SayWhichOccurInTraining) {
  EXPECT_EQ(make_task("shift_pattern").axes()[0].trained, 1);
  EXPECT_EQ(make_task("shift_pattern(variant=text)").axes()[0].trained, 3);
  EXPECT_THAT(make_task("shift_pattern").axes()[0].labels, ElementsAre("start", "mid", "end"));
}

// -------------------------------------------------------------------------------------- refusals

TEST(Refusals, AreSentences) {
  const auto refusal = [](const char* name, int length, std::vector<double> axes = {}) {
    return error_of([&] { sample(make_task(name), length, 0, PES_SPLIT_TRAIN, axes); });
  };
  EXPECT_THAT(refusal("kback_copy", 3), HasSubstr("length 3 is too short, 4 tokens are needed"));
  EXPECT_THAT(refusal("kback_match(k=16)", 16), HasSubstr("17 tokens are needed"));
  EXPECT_THAT(refusal("prefix_modsum", 1), HasSubstr("2 tokens are needed"));
  EXPECT_THAT(refusal("first_last", 1), HasSubstr("2 tokens are needed"));
  EXPECT_THAT(refusal("shift_pattern", 12), HasSubstr("13 tokens are needed"));
  EXPECT_THAT(refusal("shift_pattern", 64, {3}), HasSubstr("axis window"));
  EXPECT_THAT(refusal("pair_match", 4), HasSubstr("5 tokens are needed"));
  EXPECT_THAT(refusal("pair_match", 300), HasSubstr("it was made for lengths up to 256"));
  EXPECT_THAT(refusal("pair_match", 64, {6}), HasSubstr("no two of 61 symbols are 64 apart"));
  EXPECT_THAT(refusal("pair_match", 64, {0.5}), HasSubstr("axis distance has no value 0.5"));
  for (const char* name : {"pair_match(variant=text)", "shift_pattern(variant=text)"})
    EXPECT_THAT(error_of([&] { make_task(name, 2000); }), HasSubstr("three digits"));
}

// Longest sequences whose places have three digits: the last place is 999.
TEST(ThreeDigits, ReachTo999) {
  const Task shift = make_task("shift_pattern(variant=text)", 1007);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(solve(shift, sample(shift, 1007, i, PES_SPLIT_TEST, {2}).tokens)[1002], S + 50 + 9);
  EXPECT_NO_THROW(sample(make_task("pair_match(variant=text)", 1009), 1009, 0));
}

// -------------------------------------------------------------------------------------- identity

TEST(Identity, DistinguishesSplitsSeedsLengthsAndAxes) {
  const Task t = make_task("shift_pattern");
  const auto tokens = [&](pes_split split, std::uint64_t seed, std::uint64_t index, double window) {
    return sample(t, {split, seed, index, 64, -1, {window}}).tokens;
  };
  const std::set<std::vector<std::int32_t>> all = {
      tokens(PES_SPLIT_TRAIN, 1, 0, NAN), tokens(PES_SPLIT_VALIDATION, 1, 0, NAN),
      tokens(PES_SPLIT_TEST, 1, 0, NAN),  tokens(PES_SPLIT_TRAIN, 2, 0, NAN),
      tokens(PES_SPLIT_TRAIN, 1, 1, NAN), tokens(PES_SPLIT_TRAIN, 1, 0, 0),
      tokens(PES_SPLIT_TRAIN, 1, 0, 1)};
  EXPECT_EQ(all.size(), 7u);
  EXPECT_EQ(tokens(PES_SPLIT_TRAIN, 1, 0, NAN), tokens(PES_SPLIT_TRAIN, 1, 0, NAN));
}

}  // namespace
}  // namespace pesuite::testing
