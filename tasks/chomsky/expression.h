// Bracketed expressions modulo 5 of an exact number of symbols n:
//
//   n = 1, 2, 3, 4:  d, -d, (d), (-d)
//   n >= 5:          (left op right), left of 1 .. n-4 symbols, uniformly
//
// with digits d uniform on 0 .. 4 and operators uniform on the first two or three of + - *.
#pragma once

#include "regular.h"

namespace chomsky {

inline constexpr int modulus = 5;
enum Symbol { plus = modulus, minus, times, open, close, unknown, equals };

inline void draw_expression(pes::Random& random, int n, int operators, Word& out) {
  const bool bracket = n >= 3, pair = n >= 5;
  if (bracket) out.push_back(open);
  if (pair) {
    const int left = random.between(1, n - 4);
    draw_expression(random, left, operators, out);
    out.push_back(plus + random.between(0, operators - 1));
    draw_expression(random, n - 3 - left, operators, out);
  } else {
    if (n % 2 == 0) out.push_back(minus);
    out.push_back(random.between(0, modulus - 1));
  }
  if (bracket) out.push_back(close);
}

inline int apply(int op, int a, int b) {
  const int value = op == plus ? a + b : op == minus ? a - b : a * b;
  return (value % modulus + modulus) % modulus;
}

// The value of the expression that starts at x[at]; `at` moves behind it. The unknown counts as
// `guess`.
inline int evaluate(const Word& x, std::size_t& at, int guess = 0) {
  const int s = x[at++];
  if (s == unknown) return guess;
  if (s < modulus) return s;
  if (s == minus) return apply(minus, 0, evaluate(x, at, guess));
  int value = evaluate(x, at, guess);  // behind an opening bracket
  if (x[at] != close) {
    const int op = x[at++];
    value = apply(op, value, evaluate(x, at, guess));
  }
  ++at;
  return value;
}

// log10 of the number of expressions of n symbols, were they equally likely.
inline double distinct_expressions(int n, int operators) {
  // P(two expressions are the same), by size
  std::vector<long double> equals(static_cast<std::size_t>(std::max(n, 4) + 1), 1.0L / modulus);
  for (int k = 5; k <= n; ++k) {
    equals[k] = 0;
    for (int left = 1; left <= k - 4; ++left)
      equals[k] += equals[left] * equals[k - 3 - left] / operators / (k - 4) / (k - 4);
  }
  return static_cast<double>(-std::log10(equals[n]));
}

}  // namespace chomsky
