// Sums and differences of two decimal numbers: how operands are drawn, and the laws of digits.
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
// c - b for c >= b, with as many digits as c has.
Digits difference(const Digits& c, const Digits& b);
// Without leading zeros; 0 keeps one.
Digits trimmed(Digits);

using Visit = std::function<void(int, int, double)>;

// The law of one such number, digit by digit.
class OperandLaw {
 public:
  OperandLaw(int n, Operands operands) : n_(n), operands_(operands) {}

  // visit(weight, digit, probability) for each digit of a number padded to n digits.
  void padded(const Visit&) const;
  // The same for numbers of `size` digits without leading zeros; returns how probable that is.
  double of_size(int size, const Visit&) const;

 private:
  int n_;
  Operands operands_;
};

// The law of sums of two such numbers, of n + 1 digits where they are padded.
class SumLaw {
 public:
  SumLaw(int n, Operands);

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
