// Scratchpads: each task's steps, worked by hand; every layout; what fits; refusals.
#include <algorithm>
#include <string>

#include "base/text.h"
#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

// The tokens of a scratchpad whose first token is `first`.
struct Marks {
  int i, c, o, v, r, end;
  explicit Marks(int first)
      : i(first), c(first + 1), o(first + 2), v(first + 3), r(first + 4), end(first + 5) {}
};

// What the oracle writes behind a prompt.
Tokens answer(const std::string& task, const Tokens& prompt) {
  Tokens tokens = prompt;
  tokens.resize(256, pad);
  const Tokens targets = solve(make_task(task), tokens);
  for (std::size_t t = 0; t + 1 < prompt.size(); ++t) EXPECT_EQ(targets[t], -1);
  const auto first = targets.begin() + static_cast<std::ptrdiff_t>(prompt.size()) - 1;
  return {first, std::find(first, targets.end(), -1)};
}

TEST(Scratchpad, AddsDigitByDigit) {
  const Marks m(S + 19);
  const auto digit = [](int d) { return S + d; };
  EXPECT_EQ(answer("summation(scratchpad=icovr)", {bos, digit(7), digit(8), digit(2), ask}),
            (Tokens{m.i, digit(7), m.c,      digit(7), digit(0), m.o, digit(7),  m.v, digit(7),  //
                    m.r, digit(8), digit(2),                                                     //
                    m.i, digit(8), m.c,      digit(8), digit(7), m.o, digit(15), m.v, digit(5),
                    m.r, digit(2),                                                               //
                    m.i, digit(2), m.c,      digit(2), digit(5), m.o, digit(7),  m.v, digit(7),  //
                    m.r, m.end,    digit(7)}));
  const Marks bits(S + 3);
  EXPECT_EQ(answer("summation(modulus=2, scratchpad=v)", {bos, S + 1, S, S + 1, S + 1, ask}),
            (Tokens{bits.v, S + 1, bits.v, S + 1, bits.v, S, bits.v, S + 1, bits.end, S + 1}));
}

TEST(Scratchpad, AddsAndSubtractsFromTheLowestDigit) {
  const Marks m(S + 12);
  constexpr int plus = S + 10, equals = S + 11;
  // 47 + 95 = 142
  EXPECT_EQ(answer("addition(scratchpad=icovr)", {bos, S + 4, S + 7, plus, S + 9, S + 5, equals}),
            (Tokens{m.i,   S + 7, S + 5, m.c,   S + 7, S + 5, S,     S + 1, S + 2, m.o, S + 2,  //
                    m.v,   S + 1, m.r,   S + 4, plus,  S + 9,                                   //
                    m.i,   S + 4, S + 9, m.c,   S + 4, S + 9, S + 1, S + 1, S + 4, m.o, S + 4,  //
                    m.v,   S + 1, m.r,   plus,                                                  //
                    m.i,   S,     S,     m.c,   S,     S,     S + 1, S,     S + 1, m.o, S + 1,  //
                    m.v,   S,     m.r,   plus,                                                  //
                    m.end, S + 2, S + 4, S + 1, eos}));
  // 142 - 95 = 047, where numbers are not padded
  EXPECT_EQ(answer("subtraction(pad=false, reversed=false, scratchpad=ov)",
                   {bos, S + 1, S + 4, S + 2, plus, S + 9, S + 5, equals}),
            (Tokens{m.o, S + 7, m.v, S + 1, m.o, S + 4, m.v, S + 1, m.o, S, m.v, S, m.end,  //
                    S + 4, S + 7, eos}));
}

TEST(Scratchpad, TakesThePolynomialTermByTerm) {
  constexpr int degree = S, coefficient = degree + 4 + 3, x = coefficient + 4 + 2, digit = x + 3,
                value = digit + 10 + 6 + 24;
  const Marks m(digit + 10);
  // -3 x^3 + 2 x^1 at -2: 24 - 4
  const Tokens first = {coefficient - 3, degree + 3}, second = {coefficient + 2, degree + 1};
  EXPECT_EQ(answer("polynomial(scratchpad=icovr)",
                   {bos, x - 2, sep, first[0], first[1], second[0], second[1], ask}),
            (Tokens{m.i, first[0],  first[1],  m.c,       first[0],  value - 8, m.o, value + 24,  //
                    m.v, digit + 4, m.r,       second[0], second[1],                              //
                    m.i, second[0], second[1], m.c,       second[0], value - 2, m.o, value - 4,   //
                    m.v, digit + 0, m.r,       m.end,     digit + 0}));
}

TEST(Scratchpad, WalksAChainFromItsBeginning) {
  constexpr int plus = S, minus = S + 1, one = S + 2, a = S + 3, b = S + 9, c = S + 40;
  const Marks m(S + 3 + 128);
  EXPECT_EQ(
      answer("lego(least=2, scratchpad=icor)",
             {bos, b, minus, a, c, plus, b, a, minus, one, ask, b}),
      (Tokens{m.i,   a,   m.c, minus, one, plus,  m.o, minus, m.r, b, minus, a, c, plus, b,  //
              m.i,   b,   m.c, minus, a,   minus, m.o, plus,  m.r, c, plus,  b,              //
              m.end, plus}));
}

TEST(Scratchpad, SortsBySelection) {
  const Marks m(S + 36);  // digits, letters
  EXPECT_EQ(answer("sort(content=mixed, scratchpad=ior)", {bos, S + 5, S + 9, S + 2, sep}),
            (Tokens{m.i, S + 5, m.o, S + 2, m.r, S + 9, S + 5,  //
                    m.i, S + 9, m.o, S + 5, m.r, S + 9,         //
                    m.i, S + 9, m.o, S + 9, m.r, m.end, S + 2, S + 5, S + 9, eos}));
}

// The same problem in every layout: its steps are those of the full one without the parts that
// are left out.
TEST(Scratchpad, HasEveryLayout) {
  const Marks m(S + 19);
  const Tokens prompt = {bos, S + 7, S + 8, S + 2, ask};
  const Tokens full = answer("summation(scratchpad=icovr)", prompt);
  int layouts = 0;
  for (const auto* const* o = task_catalog().task("summation").descriptor->card->options;
       *o != nullptr; ++o) {
    if (std::string_view((*o)->name) != "scratchpad") continue;
    for (const std::string& layout : split((*o)->choices, '|')) {
      ++layouts;
      if (layout == "none") continue;
      Tokens wanted;
      bool kept = true;
      for (const std::int32_t token : full) {
        if (token >= m.i && token < m.end)
          kept = layout.find("icovr"[token - m.i]) != std::string::npos;
        if (token == m.end) kept = true;
        if (kept) wanted.push_back(token);
      }
      EXPECT_EQ(answer("summation(scratchpad=" + layout + ")", prompt), wanted) << layout;
    }
  }
  EXPECT_EQ(layouts, 32);
  EXPECT_EQ(answer("summation", prompt), Tokens{S + 7});
}

// Each layout of each task: examples are what the oracle says of them.
TEST(Scratchpad, IsSolvedInEveryLayout) {
  int tasks = 0, layouts = 0;
  for (const std::string& name : task_catalog().task_names()) {
    const auto* const* o = task_catalog().task(name).descriptor->card->options;
    for (; o != nullptr && *o != nullptr; ++o) {
      if (std::string_view((*o)->name) != "scratchpad") continue;
      ++tasks;
      for (const std::string& layout : split((*o)->choices, '|')) {
        ++layouts;
        const Task t = make_task(fmt::format("{}(scratchpad={})", name, layout), 192, 128);
        for (const int length : {128, 192})
          for (int i = 0; i < 8; ++i) {
            const Example e = sample(t, length, i);
            EXPECT_EQ(solve(t, e.tokens), e.targets) << name << " " << layout;
          }
      }
    }
  }
  EXPECT_EQ(tasks, 6);
  EXPECT_EQ(layouts, 4 * 32 + 16 + 8);
}

// What problems are said to take is what the largest of them take.
TEST(Scratchpad, TakesAsManyTokensAsItSays) {
  for (const char* task :
       {"summation(scratchpad=icovr)", "summation(scratchpad=v)", "polynomial(scratchpad=icovr)",
        "polynomial(scratchpad=co)", "sort(scratchpad=ior, repeats=true)",
        "addition(scratchpad=icovr)", "addition(scratchpad=o)", "subtraction(scratchpad=icovr)",
        "subtraction(scratchpad=cv)"}) {
    const Task t = make_task(task, 512, 64);
    for (const int length : {128, 200, 512}) {
      int padding = length;
      for (int i = 0; i < 64; ++i) {
        const Example e = sample(t, length, i, PES_SPLIT_TEST);
        padding = std::min(padding, static_cast<int>(std::ranges::count(e.tokens, pad)));
      }
      const int filled = length - padding;
      const Example same = sample(t, filled, 0, PES_SPLIT_TEST);
      EXPECT_EQ(std::ranges::count(same.tokens, pad), 0) << task << " at " << filled;
    }
  }
}

TEST(Scratchpad, RefusesWhatItDoesNotHave) {
  EXPECT_THAT(error_of([] { make_task("lego(scratchpad=v)"); }), HasSubstr("is none of none, i"));
  EXPECT_THAT(error_of([] { make_task("addition(scratchpad=o, index_hints=true)"); }),
              HasSubstr("index_hints cannot name; choose one"));
  EXPECT_THAT(error_of([] { make_task("addition(scratchpad=o, coupled_ids=true)"); }),
              HasSubstr("coupled_ids cannot name; choose one"));
  EXPECT_THAT(
      error_of([] { make_task("lego(scratchpad=icor)"); }),
      HasSubstr("a training length of 64 holds no problem of size 4; that takes 71 tokens"));
}

}  // namespace
}  // namespace pesuite::testing
