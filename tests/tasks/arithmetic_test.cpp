// Sums, differences, polynomials, counting, flip-flops and generated sequences: hand-made cases,
// laws, chance levels.
#include <map>
#include <set>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---------------------------------------------------------------------------------- addition

constexpr int plus = S + 10, equals = S + 11, hint = S + 12;

// "12+9=" as tokens behind BOS, with room for the answer.
std::vector<std::int32_t> sum_tokens(const std::string& text, int room) {
  std::vector<std::int32_t> out = {PES_BOS};
  for (const char c : text)
    out.push_back(c == '+' || c == '-' ? plus : c == '=' ? equals : S + (c - '0'));
  out.resize(out.size() + room);
  return out;
}
// Digits of the answer that the oracle gives; '$' is EOS, hints are letters from 'a' on.
std::string sum_answer(const char* task, const std::vector<std::int32_t>& tokens) {
  std::string out;
  for (const int y : solve(make_task(task), tokens)) {
    if (y == PES_EOS) out += '$';
    if (y >= hint) out += static_cast<char>('a' + y - hint);
    if (y >= S && y < plus) out += static_cast<char>('0' + y - S);
  }
  return out;
}

TEST(Addition, WritesSumsInEveryForm) {
  EXPECT_EQ(sum_answer("addition", sum_tokens("95+07=", 5)), "201$");
  EXPECT_EQ(sum_answer("addition", sum_tokens("12+07=", 5)), "910$");
  EXPECT_EQ(sum_answer("addition(reversed=false)", sum_tokens("95+07=", 5)), "102$");
  EXPECT_EQ(sum_answer("addition(pad=false)", sum_tokens("12+7=", 5)), "91$");
  EXPECT_EQ(sum_answer("addition(pad=false, reversed=false)", sum_tokens("95+7=", 5)), "102$");
  EXPECT_EQ(sum_answer("addition(pad=false)", sum_tokens("0+0=", 5)), "0$");
}

TEST(Addition, HintsNameThePlaces) {
  // n = 2: weights 2, 1, 0 have the hints s, s + 1, s + 2; here s = 3
  constexpr int d = hint + 3, e = d + 1, f = d + 2;
  std::vector<std::int32_t> x = {PES_BOS, e, S + 9, f, S + 5, plus, e, S, f, S + 7, equals};
  x.resize(x.size() + 7);
  EXPECT_EQ(sum_answer("addition(index_hints=true)", x), "f2e0d1$");
  EXPECT_EQ(sum_answer("addition(index_hints=true, reversed=false)", x), "d1e0f2$");
  // every start occurs, and no other
  const Task t = make_task("addition(index_hints=true)", 42);  // six digits, seven places
  std::map<int, double> starts;
  constexpr int many = 6000;
  for (int i = 0; i < many; ++i) {
    const Example ex = sample(t, 30, i);  // four digits
    EXPECT_EQ(*std::find(ex.tokens.begin(), ex.tokens.end(), plus), plus);
    ++starts[ex.tokens[1]];
  }
  EXPECT_EQ(starts.size(), 3u);
  EXPECT_EQ(starts.begin()->first, hint + 1);  // the highest place is that of the carry
  for (const auto& [token, count] : starts) expect_rate(count, many, 1. / 3, "start");
}

// Positions of an example, in training of every start that leaves room, in a test of the first.
TEST(Addition, CoupledIdsFollowTheWeights) {
  const auto placed = [](const std::string& options, pes_split split, int length, int index) {
    const Task t = make_task("addition(coupled_ids=true" + options + ")", 17, 17);
    Example e;
    e.tokens.resize(static_cast<std::size_t>(length));
    e.targets.resize(e.tokens.size());
    std::vector<std::int32_t> positions(e.tokens.size(), -1);
    Task::Request r;
    r.split = split, r.length = length, r.index = static_cast<std::uint64_t>(index);
    t.sample(r, e.tokens, e.targets, {}, positions);
    return positions;
  };
  EXPECT_EQ(make_task("addition(coupled_ids=true)", 17, 17).positions(), 7);  // 4 digits, 5 places
  EXPECT_EQ(make_task("addition", 17, 17).positions(), 0);
  // BOS a a a a + b b b b = c c c c c EOS
  EXPECT_THAT(placed("", PES_SPLIT_TEST, 17, 0),
              ElementsAre(0, 5, 4, 3, 2, 1, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 0));
  EXPECT_THAT(placed(", reversed=false", PES_SPLIT_TEST, 17, 0),
              ElementsAre(0, 5, 4, 3, 2, 1, 5, 4, 3, 2, 1, 6, 5, 4, 3, 2, 0));
  // PAD, behind an example of two digits
  EXPECT_THAT(placed("", PES_SPLIT_TEST, 12, 0), ElementsAre(0, 3, 2, 1, 3, 2, 1, 2, 3, 4, 0, 0));
  std::set<int> starts;
  for (int i = 0; i < 100; ++i) starts.insert(placed("", PES_SPLIT_TRAIN, 11, i)[3]);
  EXPECT_EQ(starts, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(make_task("addition(coupled_ids=true, last_id=40)", 17, 17).positions(), 41);
  EXPECT_THAT(error_of([] { make_task("addition(coupled_ids=true, index_hints=true)"); }),
              HasSubstr("choose one"));
  EXPECT_THAT(error_of([] { make_task("addition(coupled_ids=true, last_id=5)", 17, 17); }),
              HasSubstr("sums of 5 digits need 6"));
}

struct Sum {
  std::vector<int> a, b, c;  // most significant digit first, of c as it is written
};
Sum parse(const Example& e) {
  Sum out;
  std::vector<int>* at = &out.a;
  for (const int x : e.tokens) {
    if (x == plus) at = &out.b;
    if (x == equals) at = &out.c;
    if (x >= S && x < plus) at->push_back(x - S);
  }
  return out;
}
std::uint64_t value(const std::vector<int>& digits) {
  std::uint64_t out = 0;
  for (const int d : digits) out = 10 * out + static_cast<unsigned>(d);
  return out;
}

TEST(Addition, SumsAreRightAndOperandsFollowTheirLaw) {
  constexpr int many = 8000, n = 4;
  std::map<std::size_t, double> sizes;
  std::map<int, double> leading, single;
  for (int i = 0; i < many; ++i) {
    const Sum s = parse(sample(make_task("addition(pad=false, reversed=false)"), 3 * n + 5, i));
    ASSERT_EQ(value(s.a) + value(s.b), value(s.c));
    ++sizes[s.a.size()];
    if (s.a.size() == 1)
      ++single[s.a[0]];
    else
      ++leading[s.a[0]];
  }
  EXPECT_EQ(sizes.size(), 4u);
  for (const auto& [size, count] : sizes) expect_rate(count, many, 1. / n, "digits");
  EXPECT_EQ(leading.begin()->first, 1);
  for (const auto& [digit, count] : leading) expect_rate(count, many - sizes[1], 1. / 9, "leading");
  for (const auto& [digit, count] : single) expect_rate(count, sizes[1], 1. / 10, "single");
}

TEST(Addition, AxisAsksForFullOperands) {
  const Task t = make_task("addition");
  for (int i = 0; i < 200; ++i) {
    const Example e = sample(t, 35, i, PES_SPLIT_TEST, {1});
    const Sum s = parse(e);
    EXPECT_EQ(s.a.size(), 10u);
    EXPECT_NE(s.a[0], 0);
    EXPECT_NE(s.b[0], 0);
    EXPECT_EQ(e.tokens.back(), PES_EOS);
    EXPECT_EQ(value(s.a) + value(s.b), value({s.c.rbegin(), s.c.rend()}));
  }
  EXPECT_THAT(error_of([&] { sample(t, 35, 0, PES_SPLIT_TEST, {2}); }), HasSubstr("axis operands"));
  EXPECT_THAT(error_of([&] { sample(t, 7, 0); }), HasSubstr("8 tokens are needed"));
}

// All pairs of two-digit operands with their probabilities, answers as the oracle gives them.
TEST(Addition, ChanceOfSmallNumbersIsExact) {
  for (const char* name : {"addition", "addition(reversed=false)", "addition(pad=false)",
                           "addition(pad=false, reversed=false)"})
    for (const bool full : {false, true}) {
      const Task t = make_task(name);
      const bool pad = std::string(name).find("pad") == std::string::npos;
      std::map<std::size_t, std::map<int, double>> seen;
      const auto p = [&](int x) {
        return full ? (x < 10 ? 0 : 1. / 90) : x < 10 ? 1. / 20 : 1. / 180;
      };
      double targets = 0;
      for (int a = 0; a < 100; ++a)
        for (int b = 0; b < 100; ++b) {
          const auto text = pad ? fmt::format("{:02}+{:02}=", a, b) : fmt::format("{}+{}=", a, b);
          std::size_t rank = 0;
          for (const int target : solve(t, sum_tokens(text, 5)))
            if (target >= 0) seen[rank++][target] += p(a) * p(b);
          targets += static_cast<double>(rank) * p(a) * p(b);
        }
      double best = 0;
      for (const auto& [rank, symbols] : seen) {
        double most = 0;
        for (const auto& [symbol, count] : symbols) most = std::max(most, count);
        best += most / targets;
      }
      Task::Request r;
      r.length = 11, r.axes = {full ? 1. : 0.};
      EXPECT_NEAR(t.chance(r).accuracy, best, 1e-12) << name << (full ? ", full" : "");
      if (!full) {
        EXPECT_NEAR(t.chance(11), best, 1e-12) << name;
      }
    }
}

// -------------------------------------------------------------------------------- subtraction

TEST(Subtraction, WritesDifferencesInEveryForm) {
  EXPECT_EQ(sum_answer("subtraction", sum_tokens("102-07=", 4)), "59$");
  EXPECT_EQ(sum_answer("subtraction", sum_tokens("012-07=", 4)), "50$");
  EXPECT_EQ(sum_answer("subtraction(reversed=false)", sum_tokens("102-07=", 4)), "95$");
  EXPECT_EQ(sum_answer("subtraction(pad=false)", sum_tokens("50-3=", 4)), "74$");
  EXPECT_EQ(sum_answer("subtraction(pad=false, reversed=false)", sum_tokens("100-1=", 4)), "99$");
  EXPECT_EQ(sum_answer("subtraction(pad=false)", sum_tokens("12-12=", 4)), "0$");
}

// Of c - b = a, a and b are what is drawn: neither the answer nor what is taken away is special.
TEST(Subtraction, DifferencesAreRightAndFollowTheLawOfOperands) {
  constexpr int many = 8000, n = 4;
  const Task t = make_task("subtraction(pad=false, reversed=false)");
  std::map<std::size_t, double> taken, left;
  for (int i = 0; i < many; ++i) {
    const Sum s = parse(sample(t, 3 * n + 5, i));
    ASSERT_EQ(value(s.a) - value(s.b), value(s.c));
    ++taken[s.b.size()], ++left[s.c.size()];
  }
  for (const auto* sizes : {&taken, &left}) {
    EXPECT_EQ(sizes->size(), 4u);
    for (const auto& [size, count] : *sizes) expect_rate(count, many, 1. / n, "digits");
  }
  const Example full = sample(make_task("subtraction"), 35, 0, PES_SPLIT_TEST, {1});
  const Sum s = parse(full);
  EXPECT_EQ(s.a.size(), 11u);
  EXPECT_EQ(s.b.size(), 10u);
  EXPECT_EQ(value(s.a) - value(s.b), value({s.c.rbegin(), s.c.rend()}));
  EXPECT_EQ(full.tokens.back(), PES_EOS);
}

// All answers of at most two digits with their probabilities.
TEST(Subtraction, ChanceOfSmallNumbersIsExact) {
  for (const bool pad : {false, true})
    for (const bool full : {false, true}) {
      const Task t = make_task(pad ? "subtraction" : "subtraction(pad=false)");
      std::map<std::size_t, std::map<int, double>> seen;
      double targets = 0;
      for (int c = 0; c < 100; ++c) {
        const double p = full ? (c < 10 ? 0 : 1. / 90) : c < 10 ? 1. / 20 : 1. / 180;
        const auto text = pad ? fmt::format("{:03}-05=", c + 5) : fmt::format("{}-5=", c + 5);
        std::size_t rank = 0;
        for (const int target : solve(t, sum_tokens(text, 4)))
          if (target >= 0) seen[rank++][target] += p;
        targets += static_cast<double>(rank) * p;
      }
      double best = 0;
      for (const auto& [rank, symbols] : seen) {
        double most = 0;
        for (const auto& [symbol, count] : symbols) most = std::max(most, count);
        best += most / targets;
      }
      Task::Request r;
      r.length = 11, r.axes = {full ? 1. : 0.};
      EXPECT_NEAR(t.chance(r).accuracy, best, 1e-12) << pad << full;
    }
}

// --------------------------------------------------------------------------------- polynomial

// Tokens of x and of terms c x^d, each given as {c, d}; ASK and room for the value.
std::vector<std::int32_t> polynomial_tokens(int x, const std::vector<std::pair<int, int>>& terms) {
  std::vector<std::int32_t> out = {PES_BOS, S + 13 + x, PES_SEP};
  for (const auto& [c, d] : terms) out.push_back(S + 7 + c), out.push_back(S + d);
  out.insert(out.end(), {PES_ASK, 0});
  return out;
}
int polynomial_value(int x, const std::vector<std::pair<int, int>>& terms) {
  const auto targets = solve(make_task("polynomial"), polynomial_tokens(x, terms));
  EXPECT_EQ(std::ranges::count(targets, -1), std::ssize(targets) - 1);
  return targets[targets.size() - 2] - (S + 16);
}

TEST(Polynomial, IsEvaluatedModuloTen) {
  EXPECT_EQ(polynomial_value(2, {{3, 0}, {1, 1}, {1, 2}}), 9);  // 3 + 2 + 4
  EXPECT_EQ(polynomial_value(2, {{3, 3}, {3, 3}}), 8);          // 48
  EXPECT_EQ(polynomial_value(-2, {{1, 3}}), 2);                 // -8
  EXPECT_EQ(polynomial_value(0, {{-3, 0}, {2, 1}}), 7);         // 0^0 is 1
  EXPECT_EQ(polynomial_value(-1, {{-3, 1}, {0, 3}}), 3);
}

// By all polynomials of one and of two terms.
TEST(Polynomial, ChanceOfFewTermsIsExact) {
  const Task t = make_task("polynomial", 64, 9);
  std::array<double, 10> one{}, two{};
  for (int x = -2; x <= 2; ++x)
    for (int c = -3; c <= 3; ++c)
      for (int d = 0; d < 4; ++d) {
        one[static_cast<std::size_t>(polynomial_value(x, {{c, d}}))] += 1. / 140;
        for (int e = -3; e <= 3; ++e)
          for (int f = 0; f < 4; ++f) {
            double sum = c * std::pow(x, d) + e * std::pow(x, f);
            sum -= 10 * std::floor(sum / 10);
            two[static_cast<std::size_t>(sum)] += 1. / 3920;
          }
      }
  double likeliest = 0;
  for (std::size_t v = 0; v < 10; ++v) likeliest = std::max(likeliest, (one[v] + two[v]) / 2);
  EXPECT_NEAR(t.chance(7), *std::ranges::max_element(one), 1e-12);
  EXPECT_NEAR(t.chance(9), likeliest, 1e-12);
}

// ---------------------------------------------------------------------------------- counting

constexpr int a = S, b = S + 1, zero = S + 5, is = zero + 11, plus_plus = is + 1, end = is + 2,
              nop = is + 3, print = is + 4;

TEST(Counting, RunsAProgram) {
  const Task t = make_task("counting", 256, 64);
  const auto printed = [&](std::vector<std::int32_t> x) {
    x.insert(x.begin(), PES_BOS);
    x.push_back(0);
    return solve(t, x)[x.size() - 2] - zero;
  };
  EXPECT_EQ(printed({a, is, zero, end, a, plus_plus, end, nop, end, a, plus_plus, end, print, a}),
            2);
  EXPECT_EQ(printed({a, is, zero, end, b, is, zero, end, b, plus_plus, end, print, a}), 0);
  EXPECT_EQ(printed({a, is, zero, end, a, plus_plus, end, a, is, zero, end, print, a}), 0);
}

struct Program {
  int sets = 0, increments = 0, passes = 0;
  int lines() const { return sets + increments + passes; }
};
Program count_lines(const Example& e) {
  Program p;
  for (const int x : e.tokens) {
    p.sets += x == is;
    p.increments += x == plus_plus;
    p.passes += x == nop;
  }
  return p;
}

TEST(Counting, LongerProgramsHaveMoreLinesThatDoNothing) {
  const Task t = make_task("counting", 512, 132);
  double active[2] = {}, most = 0;
  for (int i = 0; i < 500; ++i) {
    const Program shorter = count_lines(sample(t, 132, i)), longer = count_lines(sample(t, 324, i));
    EXPECT_EQ(shorter.lines(), 32);
    EXPECT_EQ(longer.lines(), 128);
    active[0] += shorter.sets + shorter.increments;
    active[1] += longer.sets + longer.increments;
    most = std::max<double>(most, longer.sets + longer.increments);
    EXPECT_EQ(count_lines(sample(t, 196, i)).lines(), 64);
  }
  EXPECT_NEAR(active[0] / 500, active[1] / 500, 0.6);
  EXPECT_LE(most, 32);
}

// Of fewer lines training has all programs, and none would be left for testing.
TEST(Counting, TheProgramsOfThePaperTakeRoom) {
  EXPECT_THAT(error_of([] { make_task("counting(preset=paper)", 256, 47); }),
              HasSubstr("length 47 is too short, 48 tokens are needed: of fewer lines there are"));
  make_task("counting(preset=paper)", 256, 48);
  make_task("counting", 256, 16);
}

TEST(Counting, LinesHaveTheirWeights) {
  const Task t = make_task("counting(variables=1)", 132, 132);
  double sets = 0, passes = 0, n = 0;
  for (int i = 0; i < 2000; ++i) {
    const Example e = sample(t, 132, i);
    int held = -1;
    for (std::size_t k = 1; e.tokens[k] != print;) {
      // once the variable is set and below 10, every line is possible
      const bool all = held >= 0 && held < 10;
      const int kind = e.tokens[k] == nop ? nop : e.tokens[k + 1];
      sets += all && kind == is;
      passes += all && kind == nop;
      n += all;
      held = kind == is ? 0 : kind == plus_plus ? held + 1 : held;
      EXPECT_LE(held, 10);
      k += kind == is ? 4 : kind == nop ? 2 : 3;
    }
  }
  expect_rate(sets, n, 2. / 32, "SET");
  expect_rate(passes, n, 22. / 32, "pass");
}

// The law of what is printed, against programs of three lines written out.
TEST(Counting, ChanceOfThreeLinesIsExact) {
  // one variable, weights 2:22:8; before it is set only SET and pass are possible
  const double first = 2. / 24, set = 2. / 32, inc = 8. / 32, pass = 22. / 32;
  const double none = 1 - first;
  const double two = first * inc * inc;
  const double one = first * inc * pass * 2 + first * set * inc + none * first * inc;
  const double any = 1 - none * none * none;
  EXPECT_NEAR(make_task("counting(variables=1)", 16, 16).chance(16), (any - one - two) / any,
              1e-12);
}

// ---------------------------------------------------------------------------------- flip-flop

TEST(Majority, NamesTheOneLeaderSoFar) {
  // a tie has no leader and is not scored
  EXPECT_THAT(solve(make_task("majority"), {S, S + 1, S + 1, S, S, S + 1, S + 1, S + 1}),
              ElementsAre(0, -1, 1, -1, 0, -1, 1, 1));
  EXPECT_THAT(solve(make_task("majority(symbols=3)"), {S + 2, S, S + 1, S + 1, S, S, S + 2}),
              ElementsAre(2, -1, -1, 1, -1, 0, 0));
  // against counts from the beginning at each position
  const Task t = make_task("majority(symbols=5)");
  for (int i = 0; i < 50; ++i) {
    const Example e = sample(t, 64, i);
    for (std::size_t at = 0; at < e.tokens.size(); ++at) {
      std::map<int, int> counts;
      for (std::size_t s = 0; s <= at; ++s) ++counts[e.tokens[s] - S];
      std::vector<std::pair<int, int>> order;
      for (const auto& [symbol, count] : counts) order.emplace_back(-count, symbol);
      std::sort(order.begin(), order.end());
      const bool tie = order.size() > 1 && order[0].first == order[1].first;
      ASSERT_EQ(e.targets[at], tie ? -1 : order[0].second) << at;
    }
  }
}

TEST(FlipFlop, ReadsWhatWasLastWritten) {
  constexpr int w = S, r = S + 1, i = S + 2, O = S + 3, I = S + 4;
  EXPECT_THAT(solve(make_task("flipflop"), {w, I, i, O, r, I, w, O, i, I, r, O}),
              ElementsAre(-1, -1, -1, -1, I, -1, -1, -1, -1, -1, O, -1));
}

TEST(FlipFlop, InstructionsHaveTheirRates) {
  const Task t = make_task("flipflop");
  for (const double ignore : {0.8, 0.1, 0.98}) {
    double counts[3] = {}, ones = 0, n = 0;
    for (int i = 0; i < 2000; ++i) {
      const Example e = sample(t, 65, i, PES_SPLIT_TEST, {ignore});
      EXPECT_EQ(e.tokens[0], S);
      EXPECT_EQ(e.tokens[62], S + 1);
      EXPECT_EQ(e.tokens[64], PES_PAD);
      for (int k = 2; k < 62; k += 2, ++n) ++counts[e.tokens[k] - S];
      ones += e.tokens[63] == S + 4;
    }
    for (int k = 0; k < 3; ++k)
      expect_rate(counts[k], n, k == 2 ? ignore : (1 - ignore) / 2, fmt::format("{}", k));
    expect_rate(ones, 2000, 0.5, "bit");
  }
}

// ---------------------------------------------------------------------------------- posgen

TEST(PosGen, FollowsItsRecurrence) {
  for (const std::string variant : {"recursive", "cot", "semi"}) {
    const Task t = make_task("posgen(variant=" + variant + ")");
    for (int i = 0; i < 50; ++i) {
      const Example e = sample(t, 100, i);
      const auto x = [&](int l) { return e.tokens[l + 1] - S; };
      for (int l = 4; l < 99; ++l) {
        const int far = variant == "recursive" ? l - 4 : variant == "cot" ? 0 : (l - 4) / 2;
        EXPECT_EQ(x(l), (x(far) + x(l - 3) + x(l - 2) + x(l - 1)) % 17) << variant << " " << l;
        EXPECT_EQ(e.targets[l], e.tokens[l + 1]);
      }
      for (int l = 0; l < 4; ++l) EXPECT_EQ(e.targets[l], -1);
    }
  }
}

// No start, and so no sequence, is in two splits; together they are all of them.
TEST(PosGen, SplitsShareNoSequence) {
  const Task t = make_task("posgen");
  std::map<std::vector<std::int32_t>, int> owner;
  std::array<double, 3> size{};
  const std::array<int, 3> examples = {400000, 80000, 80000};
  for (int split = 0; split < 3; ++split)
    for (int i = 0; i < examples[split]; ++i) {
      const Example e = sample(t, 6, i, static_cast<pes_split>(split));
      const auto [at, is_new] =
          owner.emplace(std::vector(e.tokens.begin() + 1, e.tokens.begin() + 5), split);
      size[split] += is_new;
      ASSERT_EQ(at->second, split);
    }
  const double all = 17 * 17 * 17 * 17;
  EXPECT_NEAR(size[0] / all, 0.8, 0.01);  // of 66 800, 400 000 draws miss about 170
  EXPECT_NEAR(size[1] / all, 0.1, 0.005);
  EXPECT_NEAR(size[2] / all, 0.1, 0.005);
}

}  // namespace
}  // namespace pesuite::testing
