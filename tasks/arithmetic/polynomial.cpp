// The value modulo 10 of a polynomial of n terms at a small whole number: BOS x SEP, terms c x^d,
// ASK, the value.
#include <array>

#include "sized.h"

namespace {

using namespace tasks;

constexpr int modulus = 10, largest_coefficient = 3, largest_x = 2, degrees = 4;
constexpr int coefficients = 2 * largest_coefficient + 1, points = 2 * largest_x + 1;

constexpr int degree0 = PES_FIRST_SYMBOL, coefficient0 = degree0 + degrees + largest_coefficient,
              x0 = coefficient0 + largest_coefficient + 1 + largest_x, digit0 = x0 + largest_x + 1;

constexpr int tokens_around = 5;  // BOS, x, SEP, and ASK, value

constexpr int modulo(int value) {
  return (value % modulus + modulus) % modulus;
}
constexpr int power(int x, int degree) {
  int out = 1;
  for (; degree > 0; --degree) out *= x;
  return out;
}

constexpr pes_shortcut terms_counted = {sizeof(pes_shortcut), "bag", .32,
                                        "short polynomials at 0 and 1 are sums of coefficients"};

struct Polynomial : Sized {
  static constexpr pes_option options[] = {
      pes::integer("least", "1", 1, 65536, "terms of the shortest polynomial")};
  static constexpr pes_card card =
      pes::card<Polynomial>({.name = "polynomial",
                             .summary = "the value of a polynomial modulo 10",
                             .taxonomy = "arithmetic",
                             .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});

  Polynomial(const pes_use& use, const pes::Values& v) {
    inputs = outputs = digit0 + modulus;
    head = PES_LM;
    determined = true;
    shortcuts = {&terms_counted};
    declare_sizes(use, static_cast<int>(v.integer("least")), 2, tokens_around, "terms",
                  "terms of the polynomial");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const std::size_t n = random.between(range.low, range.high);
    std::vector<std::int32_t> question(2 * n + 2, PES_SEP);  // x, SEP, terms
    do {
      question[0] = x0 + random.between(-largest_x, largest_x);
      for (std::size_t i = 0; i < n; ++i) {
        question[2 + 2 * i] =
            coefficient0 + random.between(-largest_coefficient, largest_coefficient);
        question[3 + 2 * i] = degree0 + random.between(0, degrees - 1);
      }
    } while (splits_matter(static_cast<int>(n)) &&
             !belongs_to(r.split, pes::hash64(card.name), question));
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    e.tokens[0] = PES_BOS;
    const auto ask = std::copy(question.begin(), question.end(), e.tokens.begin() + 1);
    ask[0] = PES_ASK;
    ask[1] = value(question);
    score_tokens(e.targets, e.tokens, 2 * n + tokens_around - 1, 1);
  }
  // Of x, SEP and terms, as a token.
  static std::int32_t value(Tokens question) {
    int sum = 0;
    for (std::size_t t = 2; t + 1 < question.size(); t += 2)
      sum = modulo(sum + (question[t] - coefficient0) *
                             power(question[0] - x0, question[t + 1] - degree0));
    return digit0 + sum;
  }
  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask =
        static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin());
    if (ask > 1 && ask < tokens.size()) targets[ask] = value(tokens.subspan(1, ask - 1));
  }

  using Law = std::array<double, modulus>;
  // Of the value at x of polynomials with one term more.
  static Law longer(const Law& law, int x) {
    constexpr double share = 1.0 / (coefficients * degrees);
    Law out{};
    for (int c = -largest_coefficient; c <= largest_coefficient; ++c)
      for (int d = 0; d < degrees; ++d)
        for (int sum = 0; sum < modulus; ++sum)
          out[modulo(sum + c * power(x, d))] += share * law[sum];
    return out;
  }
  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = sizes(r);
    const double share = 1.0 / (points * (range.high - range.low + 1));
    BlindGuess guess;
    for (int x = -largest_x; x <= largest_x; ++x) {
      Law law{1};
      for (int n = 1; n <= range.high; ++n) {
        law = longer(law, x);
        if (n < range.low) continue;
        for (int v = 0; v < modulus; ++v) guess.add(0, digit0 + v, share * law[v]);
      }
    }
    return {guess.accuracy(), guess.accuracy()};
  }
  double log10_problems(int n, int) const override {
    return std::log10(points) + n * std::log10(coefficients * degrees);
  }
};

}  // namespace

extern const pes_task polynomial = pes::task<Polynomial>;
