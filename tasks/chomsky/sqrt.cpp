// The integer part of the square root of a binary number, most significant bit first.
#include "binary.h"

namespace {

using namespace chomsky;

struct Sqrt {
  static constexpr const char* name = "sqrt";
  static constexpr const char* summary = "the integer part of the square root of a binary number";
  static constexpr const char* taxonomy = "context-sensitive";
  static constexpr int symbols = 2, classes = 2, least = 1;
  static constexpr bool terminated = false;

  static int answer_length(int n) { return (n + 1) / 2; }
  static Word draw(pes::Random& random, int n) { return draw_number(random, n); }

  // Two bits of the number give one of the root, as by hand: with root r and remainder q so far,
  // the next bit is set iff the new remainder 4q + (two bits) reaches 4r + 1.
  static Word solve(const Word& x) {
    Word root, remainder;  // most significant bit first
    for (std::size_t at = 0; at < x.size();) {
      const bool single = at == 0 && x.size() % 2 == 1;
      remainder.push_back(single ? 0 : x[at++]);
      remainder.push_back(x[at++]);
      Word step = root;
      step.insert(step.end(), {0, 1});
      const bool fits = subtract(remainder, step);
      root.push_back(fits ? 1 : 0);
    }
    return root;
  }
  // a -= b where that is not negative.
  static bool subtract(Word& a, Word b) {
    const std::size_t size = std::max(a.size(), b.size());
    Word difference(size);
    const auto bit = [&](const Word& w, std::size_t i) {
      return i < w.size() ? *(w.rbegin() + static_cast<std::ptrdiff_t>(i)) : 0;
    };
    int borrow = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int d = bit(a, i) - bit(b, i) - borrow;
      borrow = d < 0 ? 1 : 0;
      difference[size - 1 - i] = d + 2 * borrow;
    }
    if (borrow == 1) return false;
    a = Word(std::find(difference.begin(), difference.end(), 1), difference.end());
    return true;
  }

  // Bit j of the root is set where floor(z) is odd, z = sqrt(x) / 2^j, and z reaches up to
  // m = 2^(n/2 - j): of the squares up to m^2, those of odd intervals have k (2k + 1), k =
  // floor(m/2), and the last interval what is left of it.
  static double blind(int n) {
    double sum = 0;
    const double positive = 1 - std::pow(2, -n);
    for (int j = 0; j < answer_length(n); ++j) {
      const double m = std::pow(2, n / 2.0 - j), k = std::floor(m / 2);
      const double odd = k * (2 * k + 1) + std::max(0.0, m * m - (2 * k + 1) * (2 * k + 1));
      const double set = odd / (m * m) / positive;
      sum += std::max(set, 1 - set);
    }
    return sum / answer_length(n);
  }
  static double distinct(int n) { return n * std::log10(2) + std::log10(1 - std::pow(2, -n)); }
};

}  // namespace

extern const pes_task sqrt_task = pes::task<StringTask<Sqrt>>;
