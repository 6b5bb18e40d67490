// Sums of two decimal numbers: how operands are drawn, and the law of the digits of a sum.
#pragma once

#include <array>
#include <functional>
#include <pesuite/pesuite.hpp>
#include <vector>

namespace addition {

using Digits = std::vector<int>;  // least significant first

enum class Operands { any, full };  // 1 .. n digits, uniformly, or n digits

// A number without leading zeros, of n digits at most; one digit may be 0.
Digits draw_number(pes::Random&, int n, Operands);
// The sum, with one digit more than the longer number has.
Digits sum(const Digits& a, const Digits& b);
// Without leading zeros; 0 keeps one.
Digits trimmed(Digits);

// The law of sums of two such numbers, digit by digit.
class SumLaw {
 public:
  SumLaw(int n, Operands);

  // visit(weight, digit, probability) for each digit of a sum padded to n + 1 digits.
  using Visit = std::function<void(int, int, double)>;
  void padded(const Visit&) const;
  // The same for sums of `size` digits without leading zeros; returns how probable that size is.
  double of_size(int size, const Visit&) const;

 private:
  // The carry, and whether the highest digit of a, of b is behind us.
  static constexpr int states = 8, carry = 1, end_a = 2, end_b = 4;
  using State = std::array<double, states>;
  struct Move {
    int from, to, digit;
    double p;
  };
  std::vector<std::vector<Move>> moves_;  // by weight
  std::vector<State> forward_;            // law of the state before each weight
};

// P(two pairs of operands are the same).
double repeat(int n, Operands);

}  // namespace addition
