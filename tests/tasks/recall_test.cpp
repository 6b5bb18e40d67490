// Associative recall, induction, selective copy and indirect indexing: worked examples, laws,
// refusals.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

std::ptrdiff_t scored(const Example& e) {
  return std::ssize(e.targets) - std::count(e.targets.begin(), e.targets.end(), -1);
}

// ------------------------------------------------------------------------------------ mqar

TEST(Mqar, RecallsTheValueOfEachKey) {
  constexpr int k = S + 5, other = S + 9, v = S + 128;  // values from symbol 128 on
  // keys are asked for where they stand; a value among the noise is no question
  const Tokens answers = solve(make_task("mqar(pairs=2, symbols=256)", 128),
                               {k, v + 3, other, v + 4, other, v + 9, k, 0, S + 77, k});
  EXPECT_EQ(answers[4], 4);
  EXPECT_EQ(answers[6], 3);
  EXPECT_EQ(answers[8], -1);
}

TEST(Mqar, AsksAtSlotsByAPowerLaw) {
  const Task t = make_task("mqar(pairs=1, symbols=512)", 256);
  constexpr int n = 20000, slots = 15;
  std::map<int, double> slot;
  for (int i = 0; i < n; ++i) {
    const Example e = sample(t, 2 + 2 * slots, i);
    ASSERT_EQ(scored(e), 1);
    const auto at = std::find_if(e.targets.begin(), e.targets.end(), [](int y) { return y >= 0; });
    ++slot[static_cast<int>(at - e.targets.begin() - 2) / 2];
    EXPECT_EQ(e.tokens[at - e.targets.begin()], e.tokens[0]);
    EXPECT_EQ(*at, e.tokens[1] - S - 256);
  }
  double all = 0;
  for (int g = 0; g < slots; ++g) all += std::pow(g + 1, -.99);
  for (int g = 0; g < slots; ++g)
    expect_rate(slot[g], n, std::pow(g + 1, -.99) / all, fmt::format("slot {}", g));
}

TEST(Mqar, HasDistinctKeysValuesAndSlots) {
  const Task t = make_task("mqar", 255);
  for (int i = 0; i < 300; ++i) {
    const Example e = sample(t, 128, i, PES_SPLIT_TEST, {8});
    ASSERT_EQ(scored(e), 8);
    std::set<int> keys, values;
    for (int p = 0; p < 8; ++p) {
      keys.insert(e.tokens[2 * p]);
      values.insert(e.tokens[2 * p + 1]);
    }
    EXPECT_EQ(keys.size(), 8u);
    EXPECT_EQ(values.size(), 8u);
    EXPECT_GE(*keys.begin(), S + 1);
    EXPECT_LT(*keys.rbegin(), S + 128);
    EXPECT_GE(*values.begin(), S + 128);
  }
  const Example blank = sample(make_task("mqar(noise=blank)", 255), 64, 0);
  EXPECT_EQ(std::count(blank.tokens.begin() + 8, blank.tokens.end(), S), 64 - 8 - 4);
}

// ------------------------------------------------------------------------------- induction

TEST(Induction, ContinuesTheSegment) {
  constexpr int a = S, b = S + 1, c = S + 2, d = S + 3, x = S + 9;
  const Tokens answers = solve(make_task("induction"), {a, b, c, d, x, x, a, b, c, d});
  EXPECT_EQ(Tokens(answers.begin() + 6, answers.begin() + 9), (Tokens{b, c, d}));
}

TEST(Induction, HasTheShapeOfItsDefinition) {
  const Task t = make_task("induction", 576);
  std::set<int> segments;
  for (int i = 0; i < 2000; ++i) {
    const Example e = sample(t, 64, i);
    const auto s = static_cast<int>(scored(e)) + 1;
    segments.insert(s);
    const auto again = std::find(e.tokens.begin() + 1, e.tokens.end(), e.tokens[0]);
    const long start = again - e.tokens.begin(), gap = start - s;
    ASSERT_TRUE(gap >= 0 && start + s <= 64);
    EXPECT_EQ(e.targets[start], e.tokens[1]);
    EXPECT_TRUE(std::equal(e.tokens.begin(), e.tokens.begin() + s, again));
    EXPECT_EQ(std::set<int>(e.tokens.begin(), e.tokens.begin() + s).size(),
              static_cast<std::size_t>(s));
  }
  EXPECT_EQ(*segments.begin(), 4);
  EXPECT_EQ(*segments.rbegin(), 16);
  EXPECT_EQ(segments.size(), 13u);
  for (const int gap : {32, 512}) {
    const Example e = sample(t, 544, 0, PES_SPLIT_TEST, {1. * gap});
    EXPECT_EQ(scored(e), 15);
    EXPECT_EQ(e.targets[16 + gap], e.tokens[1]);
  }
  EXPECT_EQ(sample(t, 288, 0).targets[288 - 16], sample(t, 288, 0).tokens[1]);  // filled
}

// Two examples are equal mostly where both have four symbols without a gap, 1/13 1/57 each; another
// symbol or a gap of one adds a sixtieth each.
TEST(Induction, KnowsHowManyExamplesThereAre) {
  const double shortest = std::log10(64. * 63 * 62 * 61) + 2 * std::log10(13 * 57);
  EXPECT_NEAR(make_task("induction").distinct(64), shortest - .015, .005);
}

// -------------------------------------------------------------------------- selective_copy

TEST(SelectiveCopy, RepeatsTheData) {
  constexpr int blank = S + 16;
  EXPECT_THAT(solve(make_task("selective_copy(items=2)"),
                    {bos, blank, S + 3, blank, blank, S + 1, sep, 0, 0, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, S + 3, S + 1, PES_EOS, -1));
}

TEST(SelectiveCopy, ScattersItsDataUniformly) {
  const Task t = make_task("selective_copy(items=4)");
  constexpr int n = 10000, mixed = 12;
  std::map<int, double> places;
  for (int i = 0; i < n; ++i) {
    const Example e = sample(t, 4 + mixed + 3, i);
    int data = 0;
    for (int p = 1; p <= mixed; ++p)
      if (e.tokens[p] != S + 16) ++places[p], ++data;
    ASSERT_EQ(data, 4);
  }
  for (int p = 1; p <= mixed; ++p) expect_rate(places[p], n, 4. / mixed, "place");
}

// -------------------------------------------------------------------------- indirect_index

TEST(IndirectIndex, FindsTheLetterAtTheOffset) {
  constexpr int sep = PES_SEP, zero = S + 52 + 15;  // offset 0
  EXPECT_THAT(solve(make_task("indirect_index"),
                    {PES_BOS, S + 4, S + 9, S, S + 7, sep, S + 9, sep, zero + 2, 0}),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, S + 7, -1));
  EXPECT_EQ(solve(make_task("indirect_index"),
                  {PES_BOS, S + 4, S + 9, S, S + 7, sep, S + 9, sep, zero - 1, 0})[8],
            S + 4);
}

// Lengths are uniform, and of each length all valid pairs of a letter and an offset.
TEST(IndirectIndex, DrawsLengthsThenValidPairs) {
  const Task t = make_task("indirect_index(least=8)", 64, 16);  // strings of 8 to 10
  std::map<long, double> lengths;
  std::map<std::pair<long, int>, double> pairs;  // of strings of eight
  constexpr int n = 30000;
  for (int i = 0; i < n; ++i) {
    const Example e = sample(t, 16, i);
    const long length = std::find(e.tokens.begin(), e.tokens.end(), PES_SEP) - e.tokens.begin() - 1;
    ++lengths[length];
    const auto source = std::find(e.tokens.begin() + 1, e.tokens.end(), e.tokens[2 + length]);
    if (length == 8) ++pairs[{source - e.tokens.begin() - 1, e.tokens[4 + length] - S - 52 - 15}];
  }
  for (const long length : {8, 9, 10}) expect_rate(lengths[length], n, 1. / 3, "length");
  EXPECT_EQ(pairs.size(), 64u);
  double chi = 0;
  for (const auto& [p, count] : pairs)
    chi += (count - lengths[8] / 64) * (count - lengths[8] / 64) / (lengths[8] / 64);
  EXPECT_LT(chi, 63 + 3.3 * std::sqrt(2 * 63));
}

TEST(Recall, RefusesWithSentences) {
  const auto refusal = [](const char* name, int length, std::vector<double> axes = {}) {
    return error_of([&] { sample(make_task(name, 250), length, 0, PES_SPLIT_TRAIN, axes); });
  };
  EXPECT_THAT(refusal("mqar", 14), HasSubstr("at least four a pair (16), not 14"));
  EXPECT_THAT(refusal("mqar", 65), HasSubstr("even number of tokens"));
  EXPECT_THAT(refusal("mqar", 64, {0}), HasSubstr("axis pairs takes whole numbers"));
  EXPECT_THAT(refusal("mqar", 64, {200}), HasSubstr("the number of keys, 127, not 200"));
  EXPECT_THAT(error_of([] { make_task("mqar", 256); }),
              HasSubstr("symbols=256 must be more than the longest length, 256"));
  EXPECT_THAT(error_of([] { make_task("mqar(symbols=255)", 128); }), HasSubstr("even"));
  EXPECT_THAT(refusal("induction", 7), HasSubstr("8 tokens are needed"));
  EXPECT_THAT(refusal("induction", 64, {64}), HasSubstr("does not fit into 64"));
  EXPECT_THAT(refusal("selective_copy", 34), HasSubstr("35 tokens are needed"));
  EXPECT_THAT(refusal("indirect_index", 80), HasSubstr("but there are 52; raise the option"));
  EXPECT_THAT(refusal("indirect_index", 13), HasSubstr("14 tokens are needed"));
}

}  // namespace
}  // namespace pesuite::testing
