// What the tasks of this library have in common: uniform symbols, scored answers, digits.
#pragma once

#include <algorithm>
#include <array>
#include <pesuite/pesuite.hpp>

namespace sandbox {

using Tokens = std::span<const std::int32_t>;
using Targets = std::span<std::int32_t>;

constexpr std::int32_t unscored = -1;

// Symbols first .. first + count - 1, independent and uniform.
inline void draw_uniform(pes::Random& random, std::span<std::int32_t> out, int first, int count) {
  for (std::int32_t& x : out)
    x = first + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(count)));
}

inline bool coin(pes::Random& random) {
  return random.below(2) == 1;
}

// Targets of a cls task: `label` at the last position.
inline void score_last(Targets targets, std::int32_t label) {
  std::fill(targets.begin(), targets.end(), unscored);
  targets.back() = label;
}

// Targets of an lm task whose sequence ends with `answer`, read after the token before it.
inline void score_answer(Targets targets, Tokens answer) {
  std::fill(targets.begin(), targets.end(), unscored);
  std::copy(answer.begin(), answer.end(), targets.end() - 1 - std::ssize(answer));
}

// Three decimal digits of n < 1000, most significant first.
constexpr int digit_count = 3;
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

// Refuses a request that is shorter than `least` tokens.
inline void require_length(int length, int least, const char* reason) {
  if (length < least)
    throw pes::Refusal("length " + std::to_string(length) + " is too short, " +
                       std::to_string(least) + " tokens are needed: " + reason);
}

}  // namespace sandbox
