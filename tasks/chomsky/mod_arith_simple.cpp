// The value modulo 5 of a sum of products such as 1 + 2 * 3 - 4: operands at even places, operators
// at odd ones. An even length has one symbol less and FILL before it.
#include "regular.h"

namespace {

constexpr int modulus = 5, add = 5, subtract = 6, operators = 3;  // the last symbol is "times"

struct ModArithSimple : pes::Task {
  static constexpr pes_card card =
      pes::card<ModArithSimple>({.name = "mod_arith_simple",
                                 .summary = "the value of a sum of products modulo 5",
                                 .version = "2",
                                 .taxonomy = "regular",
                                 .paper = chomsky::paper});

  ModArithSimple(const pes_use&, const pes::Values&) {
    inputs = PES_FIRST_SYMBOL + modulus + operators;
    outputs = modulus;
    head = PES_CLS;
  }
  static int problem_length(int length) { return length - (length % 2 == 0 ? 1 : 0); }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto x = e.tokens.last(problem_length(static_cast<int>(e.tokens.size())));
    std::fill(e.tokens.begin(), e.tokens.end(), std::int32_t{PES_FILL});
    do
      for (std::size_t t = 0; t < x.size(); ++t)
        x[t] = PES_FIRST_SYMBOL + static_cast<std::int32_t>(t % 2 == 0 ? random.below(modulus)
                                                                       : add + random.below(3));
    while (distinct(r.length) >= tasks::log10_divisible &&
           !tasks::belongs_to(r.split, pes::hash64(card.name), x));
    oracle(e.tokens, e.targets);
    pes::certain(e);
  }
  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    const pes::Tokens x = tokens.last(problem_length(static_cast<int>(tokens.size())));
    int sum = 0, product = x[0] - PES_FIRST_SYMBOL;
    for (std::size_t t = 1; t + 1 < x.size(); t += 2) {
      const int op = x[t] - PES_FIRST_SYMBOL, operand = x[t + 1] - PES_FIRST_SYMBOL;
      if (op == add || op == subtract) {
        sum += product;
        product = op == add ? operand : -operand;
      } else {
        product *= operand;
      }
      sum %= modulus;
      product %= modulus;
    }
    pes::score_last(targets, ((sum + product) % modulus + modulus) % modulus);
  }

  // The commonest value, from the joint law of the finished terms' sum and the running product.
  double chance(int length) const {
    using Law = std::array<std::array<double, modulus>, modulus>;  // [sum][product]
    Law law{};
    law[0].fill(1.0 / modulus);
    for (int n = 1; n < problem_length(length); n += 2) {
      Law next{};
      for (int s = 0; s < modulus; ++s)
        for (int p = 0; p < modulus; ++p)
          for (int d = 0; d < modulus; ++d) {
            const double share = law[s][p] / (operators * modulus);
            next[(s + p) % modulus][d] += 2 * share;  // +d and -d are the same law
            next[s][p * d % modulus] += share;
          }
      law = next;
    }
    std::array<double, modulus> value{};
    for (int s = 0; s < modulus; ++s)
      for (int p = 0; p < modulus; ++p) value[(s + p) % modulus] += law[s][p];
    return *std::max_element(value.begin(), value.end());
  }
  double distinct(int length) const {
    const int operands = (problem_length(length) + 1) / 2;
    return operands * std::log10(modulus) + (operands - 1) * std::log10(operators);
  }
};

}  // namespace

extern const pes_task mod_arith_simple = pes::task<ModArithSimple>;
