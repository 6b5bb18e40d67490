// Natural numbers of any size as bits, least significant first, and expressions of two of them.
#pragma once

#include "strings.h"

namespace chomsky {

inline constexpr int between_numbers = 2;  // the operator

// Uniform on 1 .. 2^bits - 1, with leading zeros.
inline Word draw_number(pes::Random& random, int bits) {
  Word x;
  do {
    x = draw_word(random, bits, 2);
  } while (std::find(x.begin(), x.end(), 1) == x.end());
  return x;
}
// a, the operator, b: n symbols, at least 3, of which a has 1 .. n-2.
inline Word draw_pair(pes::Random& random, int n) {
  const int bits = random.between(1, n - 2);
  Word x = draw_number(random, bits);
  x.push_back(between_numbers);
  const Word b = draw_number(random, n - 1 - bits);
  x.insert(x.end(), b.begin(), b.end());
  return x;
}
struct Pair {
  Word a, b;
};
inline Pair split_pair(const Word& x) {
  const auto middle = std::find(x.begin(), x.end(), between_numbers);
  return {Word(x.begin(), middle), Word(middle == x.end() ? middle : middle + 1, x.end())};
}
// log10 of the number of pairs of n symbols, were they equally likely.
inline double distinct_pairs(int n) {
  double equals = 0;  // P(two pairs are the same)
  for (int bits = 1; bits <= n - 2; ++bits)
    equals += 1 / (std::ldexp(1, bits) - 1) / (std::ldexp(1, n - 1 - bits) - 1);
  return -std::log10(equals / (n - 2) / (n - 2));
}

inline void trim(Word& x) {  // leading zeros, which stand at the end; 0 keeps one
  while (x.size() > 1 && x.back() == 0) x.pop_back();
}

// The law of answers of up to n bits and their termination, as one who is blind sees it.
inline constexpr int termination = 2;
inline pes::BlindGuess blind_guess(int n) {
  return pes::BlindGuess(n + 1, termination + 1);
}
inline void add_answer(pes::BlindGuess& guess, const Word& answer, double p) {
  const double hit = p / static_cast<double>(answer.size() + 1);
  int rank = 0;
  for (const int bit : answer) guess.add(rank++, bit, p, hit);
  guess.add(rank, termination, p, hit);
}

}  // namespace chomsky
