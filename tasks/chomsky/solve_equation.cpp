// Which digit is x in an equation modulo 5, such as ((1-x)+3)=2?
#include "expression.h"
#include "strings.h"

namespace {

using namespace chomsky;

struct SolveEquation {
  static constexpr const char* name = "solve_equation";
  static constexpr const char* summary = "the unknown digit of an equation modulo 5";
  static constexpr const char* taxonomy = "deterministic context-free";
  static constexpr int symbols = equals + 1, classes = modulus, least = 3, operators = 2;
  static constexpr bool terminated = false;

  static int answer_length(int) { return 1; }
  static Word draw(pes::Random& random, int n) {
    Word x;
    draw_expression(random, n - 2, operators, x);
    std::size_t end = 0;
    const int value = evaluate(x, end);
    // the first digit from a uniform place on, cyclically
    std::size_t at = random.below(static_cast<std::uint32_t>(x.size()));
    while (x[at] >= modulus) at = (at + 1) % x.size();
    x[at] = unknown;
    x.push_back(equals);
    x.push_back(value);
    return x;
  }
  static Word solve(const Word& x) {  // x stands once and is never multiplied: one digit fits
    for (int guess = 0; guess < modulus; ++guess) {
      std::size_t at = 0;
      if (evaluate(x, at, guess) == x.back()) return {guess};
    }
    return {0};
  }
  static double blind(int) { return 1.0 / modulus; }
  // Each equation comes from one expression; which digit is hidden is left out of the count.
  static double distinct(int n) { return distinct_expressions(n - 2, operators); }
};

}  // namespace

extern const pes_task solve_equation = pes::task<StringTask<SolveEquation>>;
