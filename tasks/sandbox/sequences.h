// What the tasks of this library have in common: places named with digits.
#pragma once

#include <algorithm>
#include <array>

#include "examples.h"

namespace sandbox {

using namespace tasks;

// Three decimal digits of n < 1000, most significant first.
inline constexpr int digit_count = 3;
constexpr std::array<int, digit_count> digits(int n) {
  return {n / 100, n / 10 % 10, n % 10};
}

// How many of the three digits of a number with law `p` on 0, 1, ... are guessed right on average
// by one who knows the law only.
inline double digits_guessed(std::span<const double> p) {
  std::array<std::array<double, 10>, digit_count> law{};
  for (std::size_t n = 0; n < p.size(); ++n) {
    const auto d = digits(static_cast<int>(n));
    for (std::size_t k = 0; k < d.size(); ++k) law[k][d[k]] += p[n];
  }
  double guessed = 0;
  for (const auto& of_digit : law) guessed += *std::max_element(of_digit.begin(), of_digit.end());
  return guessed;
}

}  // namespace sandbox
