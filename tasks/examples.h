// What the tasks of all families have in common: symbols drawn, answers scored, examples dealt to
// the splits, and the best guess of one who sees nothing.
#pragma once

#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace tasks {

using Tokens = std::span<const std::int32_t>;
using Targets = std::span<std::int32_t>;

inline constexpr std::int32_t unscored = -1;

// --------------------------------------------------------------------------------- drawing

// Symbols first .. first + count - 1, independent and uniform.
inline void draw_uniform(pes::Random& random, std::span<std::int32_t> out, int first, int count) {
  for (std::int32_t& x : out)
    x = first + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(count)));
}

// The same without repetition, out.size() <= count: the first steps of Fisher and Yates' shuffle.
inline void draw_distinct(pes::Random& random, std::span<std::int32_t> out, int first, int count) {
  std::vector<std::int32_t> deck(static_cast<std::size_t>(count));
  std::iota(deck.begin(), deck.end(), first);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::swap(deck[i], deck[i + random.below(static_cast<std::uint32_t>(deck.size() - i))]);
    out[i] = deck[i];
  }
}

inline bool coin(pes::Random& random) {
  return random.below(2) == 1;
}

// --------------------------------------------------------------------------------- scoring

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

// Targets of an lm task: tokens first .. first + count - 1, each read after the one before it.
inline void score_tokens(Targets targets, Tokens tokens, std::size_t first, std::size_t count) {
  std::fill(targets.begin(), targets.end(), unscored);
  const Tokens asked = tokens.subspan(first, count);
  std::copy(asked.begin(), asked.end(), targets.begin() + static_cast<std::ptrdiff_t>(first) - 1);
}

// Refuses a request that is shorter than `least` tokens.
inline void require_length(int length, int least, const char* reason) {
  if (length < least)
    throw pes::Refusal("length " + std::to_string(length) + " is too short, " +
                       std::to_string(least) + " tokens are needed: " + reason);
}

// "9", "2.5", for refusals.
inline std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", x);
  return text;
}

// ---------------------------------------------------------------------------------- splits

// Problems of a space so small that random examples would meet in training and test are dealt to
// the splits by a hash of their content: of ten, eight to training and one each to the others.
inline bool belongs_to(pes_split split, std::uint64_t salt, Tokens problem) {
  for (const std::int32_t x : problem) salt = pes::mix64(salt, static_cast<std::uint32_t>(x));
  const std::uint64_t card = salt % 10;
  return split == (card < 8 ? PES_SPLIT_TRAIN : card < 9 ? PES_SPLIT_VALIDATION : PES_SPLIT_TEST);
}
inline constexpr double log10_divisible =
    2;  // spaces of fewer than 100 problems leave a split empty
// Whether sequences drawn of 10^x are dealt: of many more no two are alike.
constexpr bool is_dealt(double x) {
  return x >= log10_divisible && x < 12;
}

// ------------------------------------------------------------------------------- shortcuts

// How far a shortcut gets hangs on how long examples are. Between the lengths at which it was
// measured, ascending, a level is linear in log T; outside of them it is the nearest.
struct Measured {
  int length;
  double level;
};
inline double level_at(int length, std::initializer_list<Measured> measured) {
  const auto above = std::find_if(measured.begin(), measured.end(),
                                  [&](const Measured& m) { return m.length >= length; });
  if (above == measured.end()) return std::prev(above)->level;
  if (above == measured.begin()) return above->level;
  const Measured below = *std::prev(above);
  const double part =
      std::log(1. * length / below.length) / std::log(1. * above->length / below.length);
  return below.level + part * (above->level - below.level);
}
// Such a shortcut. What was measured is what it gets `above` a level, of chance for instance.
inline pes_shortcut measured_shortcut(const char* name, const char* why, int length,
                                      std::initializer_list<Measured> measured, double above = 0) {
  return {sizeof(pes_shortcut), name, std::min(1., above + level_at(length, measured)), why};
}

// -------------------------------------------------------------------------------- guessing

// Who sees nothing of an example, but knows the law of its answers and how many tokens of the
// answer came before, names the likeliest token of each rank.
class BlindGuess {
 public:
  // Token number `rank` of the answer is `token` in a share `p` of the examples.
  void add(std::size_t rank, int token, double p) {
    if (rank >= law_.size()) law_.resize(rank + 1);
    law_[rank][token] += p;
  }
  // Expected share of right tokens among those asked for.
  double accuracy() const {
    double right = 0, asked = 0;
    for (const auto& of_rank : law_) {
      double best = 0;
      for (const auto& [token, p] : of_rank) {
        best = std::max(best, p);
        asked += p;
      }
      right += best;
    }
    return right / asked;
  }

 private:
  std::vector<std::map<int, double>> law_;
};

// log10 of the sum of 10^x.
inline double log10_sum(const std::vector<double>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double each : x) sum += std::pow(10, each - top);
  return top + std::log10(sum);
}
// log10 of n (n - 1) ... (n - k + 1): ordered samples without repetition.
inline double log10_samples(int n, int k) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += std::log10(n - i);
  return sum;
}

}  // namespace tasks
