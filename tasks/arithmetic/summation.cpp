// The sum of n digits modulo m, parity where m is 2: BOS, digits, ASK, the sum. A scratchpad adds
// digit by digit: the digit; the digit and the sum before it; their sum; that modulo m; the digits
// that are left.
#include "scratchpad.h"

namespace {

using namespace tasks;

struct Summation : Worked<Summation> {
  static constexpr bool names_asked = false;
  static constexpr pes_option options[] = {
      pes::integer("modulus", "10", 2, 100, "digits are below it, and the sum is taken modulo it"),
      pes::integer("least", "1", 1, 65536, "digits of the shortest sum"),
      Scratchpad::option(Scratchpad::icovr)};
  static constexpr pes_card card =
      pes::card<Summation>({.name = "summation",
                            .summary = "the sum of digits modulo 10, or the parity of bits",
                            .taxonomy = "arithmetic",
                            .paper = "Kazemnejad et al. 2023, arXiv:2305.19466"});

  static constexpr int digit0 = PES_FIRST_SYMBOL, tokens_around = 3;  // BOS, ASK, sum

  int modulus;

  Summation(const pes_use& use, const pes::Values& v)
      : Worked(v, digit0 + sums(v)), modulus(static_cast<int>(v.integer("modulus"))) {
    inputs = outputs = digit0 + (scratchpad.used() ? sums(v) + scratchpad.vocabulary() : modulus);
    declare_sizes(use, static_cast<int>(v.integer("least")),
                  Cost{1, tokens_around} + scratchpad.cost(1, 2, 1, 1, 1), "digits",
                  "digits to add");
  }

  // Of a digit and a sum modulo m.
  static int sums(const pes::Values& v) { return 2 * static_cast<int>(v.integer("modulus")) - 1; }

  std::vector<std::int32_t> drawn(pes::Random& random, int n) const {
    std::vector<std::int32_t> out(n);
    draw_uniform(random, out, digit0, modulus);
    return out;
  }
  // The sum, behind the steps to it.
  std::vector<std::int32_t> answer(Tokens digits) const {
    std::vector<Step> steps;
    int sum = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const int before = sum, total = sum + digits[i] - digit0;
      sum = total % modulus;
      if (scratchpad.used())
        steps.push_back({.input = {digits[i]},
                         .computation = {digits[i], digit0 + before},
                         .output = {digit0 + total},
                         .variables = {digit0 + sum},
                         .remaining = scratchpad.left(digits.subspan(i + 1))});
    }
    std::vector<std::int32_t> out;
    scratchpad.write(steps, out);
    out.push_back(digit0 + sum);
    return out;
  }
  double blind(Range) const { return 1. / modulus; }
  double log10_problems(int n, int) const override { return n * std::log10(modulus); }
};

}  // namespace

extern const pes_task summation = pes::task<Summation>;
