// The product of two binary numbers, least significant bit first. Inputs of one or two symbols hold
// a single number, and the answer is empty or 0.
#include "binary.h"

namespace {

using namespace chomsky;

struct BinaryMultiplication {
  static constexpr const char* name = "binary_multiplication";
  static constexpr const char* summary = "the product of two binary numbers";
  static constexpr const char* taxonomy = "context-sensitive";
  static constexpr int symbols = 3, classes = 2, least = 1;
  static constexpr bool terminated = true;

  static int answer_length(int n) { return n - 1; }
  static Word draw(pes::Random& random, int n) {
    if (n > 2) return draw_pair(random, n);
    Word x;
    for (int i = 0, number = random.between(0, (1 << n) - 2); i < n; ++i)
      x.push_back(number >> i & 1);
    return x;
  }
  static Word solve(const Word& x) {
    if (x.size() <= 2) return Word(x.size() - 1, 0);
    const auto [a, b] = split_pair(x);
    Word product(a.size() + b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] == 1)
        for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += b[j];
    int carry = 0;
    for (int& bit : product) {
      carry += bit;
      bit = carry % 2;
      carry /= 2;
    }
    trim(product);
    return product;
  }

  // The law of a product's bits has no formula known to us: all products are tried where they are
  // few. Elsewhere one half of many drawn ones is guessed from the other; error below 0.1 points.
  static double blind(int n) {
    if (n <= 2) return 1;
    pes::BlindGuess guess = blind_guess(n), drawn = guess;
    if (n <= most_to_enumerate) {
      enumerate(n, guess);
      return guess.accuracy();
    }
    constexpr int bits_to_draw = 1 << 21;
    const int draws = std::max(bits_to_draw / n, 1024);
    for (int i = 0; i < 2 * draws; ++i) {
      pes::Random random(0, pes::purpose("binary_multiplication"), static_cast<unsigned>(i));
      add_answer(i < draws ? guess : drawn, solve(draw_pair(random, n)), 1.0 / draws);
    }
    return guess.accuracy(drawn);
  }
  static constexpr int most_to_enumerate = 14;
  static void enumerate(int n, pes::BlindGuess& guess) {
    for (int bits = 1; bits <= n - 2; ++bits) {
      const int a_end = 1 << bits, b_end = 1 << (n - 1 - bits);
      const double share = 1.0 / (n - 2) / (a_end - 1) / (b_end - 1);
      for (int a = 1; a < a_end; ++a)
        for (int b = 1; b < b_end; ++b) {
          Word product;
          for (int rest = a * b; rest > 0; rest /= 2) product.push_back(rest % 2);
          add_answer(guess, product, share);
        }
    }
  }
  static std::vector<pes_shortcut> known(bool, int length) {
    return {tasks::measured_shortcut(
        "bag", "of short numbers the bits that are set tell the product", length,
        {{12, .64}, {16, .60}, {24, .57}, {32, .55}, {48, .54}, {64, .52}, {128, .51}})};
  }
  static double distinct(int n) { return n > 2 ? distinct_pairs(n) : std::log10((1 << n) - 1); }
};

}  // namespace

extern const pes_task binary_multiplication = pes::task<StringTask<BinaryMultiplication>>;
