// The value modulo 10 of a polynomial of n terms at a small whole number: BOS x SEP, terms c x^d,
// ASK, the value. A scratchpad works it out term by term: c x^d; c, the value of x^d; that of the
// term; the sum modulo 10; the terms that are left.
#include <array>

#include "scratchpad.h"

namespace {

using namespace tasks;

constexpr int modulus = 10, largest_coefficient = 3, largest_x = 2, degrees = 4;
constexpr int coefficients = 2 * largest_coefficient + 1, points = 2 * largest_x + 1;

constexpr int degree0 = PES_FIRST_SYMBOL, coefficient0 = degree0 + degrees + largest_coefficient,
              x0 = coefficient0 + largest_coefficient + 1 + largest_x, digit0 = x0 + largest_x + 1,
              first_of_scratchpad = digit0 + modulus;  // its own tokens, then values of terms

constexpr int tokens_around = 5;  // BOS, x, SEP, and ASK, value

constexpr int modulo(int value) {
  return (value % modulus + modulus) % modulus;
}
constexpr int power(int x, int degree) {
  int out = 1;
  for (; degree > 0; --degree) out *= x;
  return out;
}
constexpr int largest_term = largest_coefficient * power(largest_x, degrees - 1);

constexpr pes_shortcut terms_counted = {sizeof(pes_shortcut), "bag", .32,
                                        "short polynomials at 0 and 1 are sums of coefficients"};

struct Polynomial : Worked<Polynomial> {
  static constexpr bool names_asked = false;
  static constexpr pes_option options[] = {
      pes::integer("least", "1", 1, 65536, "terms of the shortest polynomial"),
      Scratchpad::option(Scratchpad::icovr)};
  static constexpr pes_card card =
      pes::card<Polynomial>({.name = "polynomial",
                             .summary = "the value of a polynomial modulo 10",
                             .taxonomy = "arithmetic",
                             .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});

  int number0;  // the token of a term's value 0

  Polynomial(const pes_use& use, const pes::Values& v)
      : Worked(v, first_of_scratchpad),
        number0(first_of_scratchpad + scratchpad.vocabulary() + largest_term) {
    inputs = outputs = scratchpad.used() ? number0 + largest_term + 1 : first_of_scratchpad;
    if (!scratchpad.used()) shortcuts = {&terms_counted};
    declare_sizes(use, static_cast<int>(v.integer("least")),
                  Cost{2, tokens_around} + scratchpad.cost(2, 2, 1, 1, 2), "terms",
                  "terms of the polynomial");
  }

  // x, SEP, and n terms.
  static std::vector<std::int32_t> drawn(pes::Random& random, int n) {
    std::vector<std::int32_t> question(2 * n + 2, PES_SEP);
    question[0] = x0 + random.between(-largest_x, largest_x);
    for (int i = 0; i < n; ++i) {
      question[2 + 2 * i] =
          coefficient0 + random.between(-largest_coefficient, largest_coefficient);
      question[3 + 2 * i] = degree0 + random.between(0, degrees - 1);
    }
    return question;
  }

  // The value at x of the terms, behind the steps to it.
  std::vector<std::int32_t> answer(Tokens question) const {
    std::vector<Step> steps;
    int sum = 0;
    for (std::size_t t = 2; t + 1 < question.size(); t += 2) {
      const Tokens term = question.subspan(t, 2), left = question.subspan(t + 2);
      const int of_x = power(question[0] - x0, term[1] - degree0);
      const int value = (term[0] - coefficient0) * of_x;
      sum = modulo(sum + value);
      if (scratchpad.used())
        steps.push_back({.input = {term.begin(), term.end()},
                         .computation = {term[0], number0 + of_x},
                         .output = {number0 + value},
                         .variables = {digit0 + sum},
                         .remaining = scratchpad.left(left)});
    }
    std::vector<std::int32_t> out;
    scratchpad.write(steps, out);
    out.push_back(digit0 + sum);
    return out;
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
  double blind(Range range) const {
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
    return guess.accuracy();
  }
  double log10_problems(int n, int) const override {
    return std::log10(points) + n * std::log10(coefficients * degrees);
  }
};

}  // namespace

extern const pes_task polynomial = pes::task<Polynomial>;
