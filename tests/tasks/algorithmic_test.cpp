// Copies, sorts and sums: worked examples, sizes, splits, refusals.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

TEST(Copy, RepeatsWhatItReads) {
  EXPECT_THAT(solve(make_task("copy"), {bos, S + 2, S, S + 5, sep, 0, 0, 0, 0, pad}),
              ElementsAre(-1, -1, -1, -1, S + 2, S, S + 5, eos, -1, -1));
}
TEST(Reverse, RepeatsFromTheEnd) {
  EXPECT_THAT(solve(make_task("reverse"), {bos, S + 2, S, S + 5, sep, 0, 0, 0, 0}),
              ElementsAre(-1, -1, -1, -1, S + 5, S, S + 2, eos, -1));
}
TEST(BucketSort, SortsInNaturalOrder) {
  EXPECT_THAT(solve(make_task("bucket_sort"), {bos, S + 4, S, S + 4, S + 1, sep, 0, 0, 0, 0, 0}),
              ElementsAre(-1, -1, -1, -1, -1, S, S + 1, S + 4, S + 4, eos, -1));
}
TEST(NoCarryAddition, AddsDigitByDigit) {  // 1203 + 2110 = 3313
  constexpr int plus = S + 10, equals = S + 11;
  const Tokens question = {bos, S + 1, S + 2, S, S + 3, plus, S + 2, S + 1, S + 1, S, equals};
  Tokens tokens = question;
  tokens.resize(16);
  const Tokens answer = solve(make_task("no_carry_addition"), tokens);
  EXPECT_EQ(Tokens(answer.begin() + 10, answer.begin() + 15),
            (Tokens{S + 3, S + 3, S + 1, S + 3, eos}));
  EXPECT_THAT(Tokens(answer.begin(), answer.begin() + 10), Each(-1));
}

// The order of the symbols is a fixed permutation that is not the order of their tokens.
TEST(Sort, HasAHiddenOrder) {
  const Task t = make_task("sort", 256, 128);
  const Example all = sample(t, 103, 0, PES_SPLIT_TRAIN, {50});
  const Tokens order(all.tokens.begin() + 52, all.tokens.begin() + 102);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 50u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  for (int i = 1; i < 200; ++i) {
    const Example e = sample(t, 43, i, PES_SPLIT_TEST, {20});
    std::vector<long> ranks;
    for (int k = 22; k < 42; ++k)
      ranks.push_back(std::find(order.begin(), order.end(), e.tokens[k]) - order.begin());
    EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
    EXPECT_TRUE(
        std::is_permutation(e.tokens.begin() + 1, e.tokens.begin() + 21, e.tokens.begin() + 22));
  }
}
TEST(Sort, OfMixedItemsIsNatural) {
  EXPECT_THAT(solve(make_task("sort(content=mixed)"), {bos, S + 3, S + 1, S + 2, sep, 0, 0, 0, 0}),
              ElementsAre(-1, -1, -1, -1, S + 1, S + 2, S + 3, eos, -1));
}

// ------------------------------------------------------------------------------------ sizes

int size_of(const Example& e) {
  return static_cast<int>(std::find(e.tokens.begin(), e.tokens.end(), sep) - e.tokens.begin()) - 1;
}

TEST(Sizes, AreDrawnInTrainingAndFillLongerExamples) {
  for (const char* name : {"copy", "reverse", "sort", "bucket_sort"}) {
    const Task t = make_task(name, 256, 23);
    std::map<int, double> sizes;
    constexpr int n = 6000;
    for (int i = 0; i < n; ++i) ++sizes[size_of(sample(t, 23, i))];
    EXPECT_EQ(sizes.size(), 10u);
    for (const auto& [size, count] : sizes)
      expect_rate(count, n, .1, fmt::format("{} of size {}", name, size));
    for (int i = 0; i < 50; ++i) {
      const Example e = sample(t, 43, i);
      EXPECT_EQ(size_of(e), 20);
      EXPECT_EQ(e.tokens.back(), eos);
    }
    EXPECT_EQ(t.axes()[0].name, "items");
    EXPECT_EQ(t.axes()[0].trained, 10);
  }
}

TEST(Sizes, FollowTheAxis) {
  const Task t = make_task("reverse(content=mixed, least=3)", 64, 19);
  EXPECT_THAT(t.axes()[0].values.front(), 3);
  EXPECT_EQ(t.axes()[0].trained, 6);  // 3 .. 8
  for (int n = 3; n <= 16; ++n) {
    const Example e = sample(t, 35, 5, PES_SPLIT_TEST, {1. * n, 1});
    EXPECT_EQ(size_of(e), n);
    EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), pad), 35 - 2 * n - 3);
    for (int i = 1; i <= n; ++i) EXPECT_GE(e.tokens[i], S + 10) << "letters";
  }
}

TEST(Contents, AreOneKindAnExample) {
  const Task t = make_task("copy(content=mixed)", 64, 27);
  double letters = 0;
  for (int i = 0; i < 4000; ++i) {
    const Example e = sample(t, 27, i);
    const bool letter = e.tokens[1] >= S + 10;
    letters += letter;
    for (int k = 1; k <= size_of(e); ++k) EXPECT_EQ(e.tokens[k] >= S + 10, letter);
  }
  expect_rate(letters, 4000, .5, "letters");
}

TEST(Unique, MeansNoItemOrNoPairTwice) {
  const Task items = make_task("copy(unique=1)", 128, 55), pairs = make_task("copy(unique=2)");
  for (int i = 0; i < 300; ++i) {
    const Example a = sample(items, 55, i), b = sample(pairs, 55, i, PES_SPLIT_TRAIN, {26});
    EXPECT_EQ(std::set<int>(a.tokens.begin() + 1, a.tokens.begin() + 1 + size_of(a)).size(),
              static_cast<std::size_t>(size_of(a)));
    std::set<std::pair<int, int>> seen;
    for (int k = 1; k < 26; ++k) EXPECT_TRUE(seen.insert({b.tokens[k], b.tokens[k + 1]}).second);
  }
}

// ----------------------------------------------------------------------------------- splits

// Nothing of the test split occurs in training, however small the problems are.
TEST(Splits, ShareNoProblem) {
  for (const char* name : {"copy", "copy(content=bits)", "reverse(content=mixed)", "sort",
                           "sort(content=mixed)", "bucket_sort", "no_carry_addition", "addition",
                           "addition(pad=false)", "subtraction", "majority"}) {
    const Task t = make_task(name, 64, 23);
    std::set<Tokens> train;
    for (int i = 0; i < 4000; ++i) train.insert(sample(t, 23, i).tokens);
    for (const pes_split split : {PES_SPLIT_VALIDATION, PES_SPLIT_TEST})
      for (int i = 0; i < 1000; ++i)
        ASSERT_FALSE(train.contains(sample(t, 23, i, split).tokens)) << name;
  }
}

TEST(NoCarryAddition, HasNoCarriesAndNoLeadingZeros) {
  const Task t = make_task("no_carry_addition", 64, 19);
  for (int i = 0; i < 500; ++i) {
    const Example e = sample(t, 19, i);
    const long n = std::find(e.tokens.begin(), e.tokens.end(), S + 10) - e.tokens.begin() - 1;
    EXPECT_GE(n, 2);
    EXPECT_LE(n, 5);
    for (long k = 0; k < n; ++k) {
      const int a = e.tokens[1 + k] - S, b = e.tokens[n + 2 + k] - S;
      EXPECT_TRUE(a >= (k == 0) && a <= 4 && b >= (k == 0) && b <= 4);
      EXPECT_EQ(e.tokens[2 * n + 3 + k] - S, a + b);
    }
  }
}

TEST(Algorithmic, RefusesWithSentences) {
  const auto refusal = [](const char* name, int length, std::vector<double> axes = {}) {
    return error_of([&] { sample(make_task(name), length, 0, PES_SPLIT_TRAIN, axes); });
  };
  EXPECT_THAT(refusal("copy", 4), HasSubstr("5 tokens are needed"));
  EXPECT_THAT(refusal("copy", 23, {11}),
              HasSubstr("axis items takes whole numbers from 1 to 10 at length 23, not 11"));
  EXPECT_THAT(refusal("copy", 23, {1.5}), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("no_carry_addition", 9), HasSubstr("10 tokens are needed"));
  EXPECT_THAT(refusal("reverse(content=mixed)", 23, {5, 2}), HasSubstr("axis content"));
  EXPECT_THAT(error_of([] { make_task("copy(least=40)"); }),
              HasSubstr("holds no problem of size 40; that takes 83 tokens"));
}

}  // namespace
}  // namespace pesuite::testing
