// The tasks of the Chomsky hierarchy: hand-made cases, laws of inputs and answers, arithmetic
// against machine integers, chance levels against all inputs of small sizes.
#include <cmath>
#include <map>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Tokens of a word, one character a symbol of `alphabet`; then `slots` of EMPTY.
std::vector<std::int32_t> word(const std::string& text, const std::string& alphabet, int slots) {
  std::vector<std::int32_t> out;
  for (const char c : text) out.push_back(S + static_cast<int>(alphabet.find(c)));
  out.insert(out.end(), slots, S + static_cast<int>(alphabet.size()));
  return out;
}
// The scored targets of what the oracle says, as digits.
std::string answer(const Task& task, const std::vector<std::int32_t>& tokens) {
  std::string out;
  for (const int y : solve(task, tokens))
    if (y >= 0) out += std::to_string(y);
  return out;
}
std::string answer(const char* task, const std::string& text, const std::string& alphabet,
                   int slots) {
  return answer(make_task(task), word(text, alphabet, slots));
}

TEST(Regular, LabelsOfHandMadeWords) {
  const auto label = [](const char* task, const std::string& text, const std::string& alphabet) {
    return solve(make_task(task), word(text, alphabet, 0)).back();
  };
  EXPECT_EQ(label("parity", "10110", "01"), 1);
  EXPECT_EQ(label("parity", "0110", "01"), 0);
  EXPECT_EQ(label("even_pairs", "aabba", "ab"), 0);  // ab and ba
  EXPECT_EQ(label("even_pairs", "aab", "ab"), 1);
  EXPECT_EQ(label("cycle_nav", "++0+-", "0+-"), 2);
  EXPECT_EQ(label("cycle_nav", "--", "0+-"), 3);
  const std::string symbols = "01234+-*";
  EXPECT_EQ(label("mod_arith_simple", "1+2*3-4", symbols), 3);  // 1 + 6 - 4
  EXPECT_EQ(label("mod_arith_simple", "2-4*3", symbols), 0);    // -10
  EXPECT_EQ(label("mod_arith_simple", "3", symbols), 3);
  std::vector<std::int32_t> even = {PES_FILL, S + 4, S + 7, S + 4};
  EXPECT_EQ(solve(make_task("mod_arith_simple"), even).back(), 1);  // 16
}

TEST(DeterministicContextFree, HandMadeCases) {
  // the examples of the source: 0 1 1 0 PUSH1 POP POP, and popping an empty stack
  EXPECT_EQ(answer("stack", "0110Bpp", "01pAB", 8), "1102");
  EXPECT_EQ(answer("stack", "110ppp", "01pAB", 7), "2");
  EXPECT_EQ(answer("stack", "1", "01pAB", 2), "12");
  const std::string symbols = "01234+-*()";
  EXPECT_EQ(answer("mod_arith", "((1-2)*(-4))", symbols, 1), "4");
  EXPECT_EQ(answer("mod_arith", "-3", symbols, 1), "2");
  EXPECT_EQ(answer("mod_arith", "(-3)", symbols, 1), "2");
  EXPECT_EQ(answer("mod_arith", "(1--2)", symbols, 1), "3");
  const std::string equation = symbols + "x=";
  EXPECT_EQ(answer("solve_equation", "((1-x)+3)=2", equation, 1), "2");
  EXPECT_EQ(answer("solve_equation", "x=4", equation, 1), "4");
  EXPECT_EQ(answer("solve_equation", "(-x)=4", equation, 1), "1");
}

TEST(ContextSensitive, HandMadeCases) {
  EXPECT_EQ(answer("missing_duplicate", "1011?1", "01?-", 1), "0");
  EXPECT_EQ(answer("missing_duplicate", "?0110-", "01?-", 1), "1");
  EXPECT_EQ(answer("odds_first", "01110", "01", 5), "11010");
  EXPECT_EQ(answer("binary_addition", "001+01101", "01+", 10), "010112");     // 4 + 22
  EXPECT_EQ(answer("binary_addition", "1001+000001", "01+", 12), "1001012");  // 9 + 32
  EXPECT_EQ(answer("binary_addition", "00", "01+", 3), "02");
  EXPECT_EQ(answer("binary_multiplication", "001*01101", "01*", 9), "00011012");  // 4 * 22
  EXPECT_EQ(answer("binary_multiplication", "01", "01*", 2), "02");
  EXPECT_EQ(answer("binary_multiplication", "0", "01*", 1), "2");
  EXPECT_EQ(answer("sqrt", "100101", "01", 3), "110");  // 37
  EXPECT_EQ(answer("sqrt", "111", "01", 2), "10");      // 7
}

TEST(Strings, HaveATokenByTokenForm) {
  const Task t = make_task("binary_addition(mode=lm)");
  // 4 + 22 = 26
  std::vector<std::int32_t> x = {PES_BOS, S, S, S + 1, S + 2, S, S + 1, S + 1, S, S + 1, PES_SEP};
  const std::size_t asked = x.size() - 1;
  x.resize(x.size() + 7);
  const auto y = solve(t, x);
  EXPECT_THAT(std::vector<int>(y.begin() + asked, y.end()),
              ElementsAre(S, S + 1, S, S + 1, S + 1, PES_EOS, -1, -1));
  const Example e = sample(t, 64, 3);
  EXPECT_EQ(e.tokens[0], PES_BOS);
  EXPECT_EQ(std::count(e.tokens.begin(), e.tokens.end(), PES_EOS), 1);
}

// Numbers of an example, little endian, and its answer without the termination.
std::uint64_t number(const std::vector<int>& bits) {
  std::uint64_t out = 0;
  for (std::size_t i = bits.size(); i-- > 0;) out = 2 * out + static_cast<unsigned>(bits[i]);
  return out;
}

TEST(Binary, AgreesWithMachineIntegers) {
  for (const bool product : {false, true}) {
    const Task t = make_task(product ? "binary_multiplication" : "binary_addition");
    for (int length = 5; length < 100; ++length) {
      const Example e = sample(t, length, static_cast<std::uint64_t>(length));
      std::vector<int> a, b, y;
      bool second = false;
      for (const int x : e.tokens) {
        if (x < S || x > S + 2) continue;
        if (x == S + 2)
          second = true;
        else
          (second ? b : a).push_back(x - S);
      }
      for (const int x : e.targets)
        if (x >= 0) y.push_back(x);
      ASSERT_EQ(y.back(), 2);
      y.pop_back();
      EXPECT_EQ(number(y), product ? number(a) * number(b) : number(a) + number(b)) << length;
      EXPECT_TRUE(y.size() == 1 || y.back() == 1) << "leading zeros, length " << length;
    }
  }
}

TEST(Sqrt, AgreesWithMachineIntegers) {
  const Task t = make_task("sqrt");
  for (int length = 2; length < 90; ++length) {
    const Example e = sample(t, length, 1);
    std::uint64_t x = 0, root = 0;
    for (const int token : e.tokens)
      if (token == S || token == S + 1) x = 2 * x + static_cast<unsigned>(token - S);
    for (const int bit : e.targets)
      if (bit >= 0) root = 2 * root + static_cast<unsigned>(bit);
    const auto low = root * root;
    const auto high = (root + 1) * (root + 1);
    EXPECT_TRUE(low <= x && x < high) << x << " " << root;
  }
}

// Longest examples that fit, and the sizes that do not exist.
TEST(Strings, FillTheLength) {
  const auto inputs = [](const char* name, int length) {
    const Task t = make_task(name);
    const Example e = sample(t, length, 0);
    return std::count_if(e.tokens.begin(), e.tokens.end(), [&](int x) {
      return x >= S && x < t.info().inputs - 1;  // the last one is EMPTY
    });
  };
  EXPECT_EQ(inputs("stack", 65), 32);
  EXPECT_EQ(inputs("stack", 66), 32);
  EXPECT_EQ(inputs("binary_multiplication", 64), 32);
  EXPECT_EQ(inputs("sqrt", 60), 40);
  EXPECT_EQ(inputs("mod_arith", 64), 63);
  EXPECT_EQ(inputs("odds_first", 64), 32);
  EXPECT_THAT(error_of([] { sample(make_task("solve_equation"), 3, 0); }),
              HasSubstr("4 tokens are needed"));
}

// Expressions of every size are well formed and of that size exactly; the hidden digit is one.
TEST(Expressions, HaveTheirExactSize) {
  for (const char* name : {"mod_arith", "solve_equation"})
    for (int length = 4; length < 70; ++length) {
      const Example e = sample(make_task(name), length, 5);
      int depth = 0, unknowns = 0;
      for (const int x : e.tokens) {
        ASSERT_NE(x, PES_PAD);
        depth += x == S + 8 ? 1 : x == S + 9 ? -1 : 0;
        unknowns += x == S + 10 && std::string(name) == "solve_equation" ? 1 : 0;
        EXPECT_GE(depth, 0);
      }
      EXPECT_EQ(depth, 0);
      EXPECT_EQ(unknowns, std::string(name) == "solve_equation" ? 1 : 0);
    }
}

// Heights of stacks, places of operators, hidden places: uniform where the definition says so.
TEST(Inputs, FollowTheirLaws) {
  constexpr int many = 20000;
  std::map<long, double> operator_at, hidden_at;
  const Task add = make_task("binary_addition"), missing = make_task("missing_duplicate");
  for (int i = 0; i < many; ++i) {
    const Example a = sample(add, 21, i), m = sample(missing, 41, i);  // of 10 and 40 symbols
    ++operator_at[std::find(a.tokens.begin(), a.tokens.end(), S + 2) - a.tokens.begin()];
    ++hidden_at[std::find(m.tokens.begin(), m.tokens.end(), S + 2) - m.tokens.begin()];
  }
  EXPECT_EQ(operator_at.begin()->first, 1);
  EXPECT_EQ(operator_at.rbegin()->first, 8);
  for (const auto& [at, count] : operator_at) expect_rate(count, many, 1. / 8, "operator");
  EXPECT_EQ(hidden_at.size(), 40u);
  for (const auto& [at, count] : hidden_at) expect_rate(count, many, 1. / 40, "hidden");
}

struct Weighted {
  std::vector<int> answer;  // with its termination
  double p;
};
// The chance level by its definition: the commonest symbol at each rank, any of equals, examples
// counting alike.
double best_blind_guess(const std::vector<Weighted>& all) {
  std::map<std::size_t, std::map<int, double>> seen, hits;
  for (const Weighted& w : all)
    for (std::size_t r = 0; r < w.answer.size(); ++r) {
      seen[r][w.answer[r]] += w.p;
      hits[r][w.answer[r]] += w.p / static_cast<double>(w.answer.size());
    }
  double sum = 0;
  for (const auto& [rank, symbols] : seen) {
    double most = 0, right = 0, ties = 0;
    for (const auto& [symbol, count] : symbols) most = std::max(most, count);
    for (const auto& [symbol, count] : symbols)
      if (count > most - 1e-9) right += hits[rank][symbol], ++ties;
    sum += right / ties;
  }
  return sum;
}
std::vector<int> scored(const Task& t, const std::vector<std::int32_t>& tokens) {
  std::vector<int> out;
  for (const int y : solve(t, tokens))
    if (y >= 0) out.push_back(y);
  return out;
}

// All inputs of a small size with their probabilities, through the oracle.
TEST(Chance, OfSmallInputsIsExact) {
  for (const char* name : {"binary_addition", "binary_multiplication"})
    for (const int n : {4, 7, 10}) {
      const Task t = make_task(name);
      const bool product = std::string(name) == "binary_multiplication";
      std::vector<Weighted> all;
      for (int bits = 1; bits <= n - 2; ++bits)
        for (int a = 1; a < 1 << bits; ++a)
          for (int b = 1; b < 1 << (n - 1 - bits); ++b) {
            std::vector<std::int32_t> x;
            for (int i = 0; i < bits; ++i) x.push_back(S + (a >> i & 1));
            x.push_back(S + 2);
            for (int i = 0; i < n - 1 - bits; ++i) x.push_back(S + (b >> i & 1));
            x.resize(2 * n + (product ? 0 : 1), S + 3);
            all.push_back(
                {scored(t, x), 1.0 / (n - 2) / ((1 << bits) - 1) / ((1 << (n - 1 - bits)) - 1)});
          }
      EXPECT_NEAR(t.chance(2 * n + (product ? 0 : 1)), best_blind_guess(all), 1e-12) << name << n;
    }
  for (const int n : {1, 2, 5, 8, 9}) {
    const Task t = make_task("sqrt");
    std::vector<Weighted> all;
    for (int x = 1; x < 1 << n; ++x) {
      std::vector<std::int32_t> tokens;
      for (int i = n; i-- > 0;) tokens.push_back(S + (x >> i & 1));
      tokens.resize(n + (n + 1) / 2, S + 2);
      all.push_back({scored(t, tokens), 1.0 / ((1 << n) - 1)});
    }
    EXPECT_NEAR(t.chance(n + (n + 1) / 2), best_blind_guess(all), 1e-12) << n;
  }
}

TEST(Chance, OfSmallStacksIsExact) {
  for (const int n : {1, 2, 5, 7}) {
    const Task t = make_task("stack");
    std::vector<Weighted> all;
    for (int height = 1; height <= std::max(1, n - 1); ++height) {
      int inputs = 1;
      for (int i = 0; i < n; ++i) inputs *= i < height ? 2 : 3;
      for (int code = 0; code < inputs; ++code) {
        std::vector<std::int32_t> x;
        for (int i = 0, rest = code; i < n; ++i) {
          x.push_back(S + (i < height ? rest % 2 : 2 + rest % 3));
          rest /= i < height ? 2 : 3;
        }
        x.resize(2 * n + 1, S + 5);
        all.push_back({scored(t, x), 1.0 / inputs / std::max(1, n - 1)});
      }
    }
    EXPECT_NEAR(t.chance(2 * n + 1), best_blind_guess(all), 1e-12) << n;
  }
}

TEST(Chance, OfSmallSumsOfProductsIsExact) {
  const Task t = make_task("mod_arith_simple");
  std::map<int, double> labels;
  int inputs = 5 * 3 * 5 * 3 * 5;
  for (int code = 0; code < inputs; ++code) {
    std::vector<std::int32_t> x;
    for (int i = 0, rest = code; i < 5; ++i) {
      x.push_back(S + (i % 2 == 0 ? rest % 5 : 5 + rest % 3));
      rest /= i % 2 == 0 ? 5 : 3;
    }
    ++labels[solve(t, x).back()];
  }
  EXPECT_NEAR(t.chance(5) * inputs, labels[0], 1e-9);
  EXPECT_EQ(t.chance(6), t.chance(5));
}

}  // namespace
}  // namespace pesuite::testing
