// Sums of two numbers of as many digits, all of them 0 to 4, so that nothing is carried:
// BOS a + b = c EOS. Which digits belong together is all there is to learn.
#include "sized.h"

namespace {

using namespace tasks;

constexpr int digit0 = PES_FIRST_SYMBOL, plus = digit0 + 10, equals = plus + 1;

constexpr pes_shortcut place_of_end = {
    sizeof(pes_shortcut), "position", .34,
    "the answer ends at every third position, so EOS is not asked for elsewhere"};

struct NoCarryAddition : Sized {
  static constexpr pes_option options[] = {
      pes::integer("least", "2", 1, 65536, "digits of the smallest numbers")};
  static constexpr pes_card card = pes::card<NoCarryAddition>(
      {.name = "no_carry_addition",
       .summary = "adds digit by digit without carries, at sizes beyond training",
       .taxonomy = "algorithmic"});

  NoCarryAddition(const pes_use& use, const pes::Values& v) {
    inputs = outputs = equals + 1;
    head = PES_LM;
    determined = true;
    shortcuts = {&place_of_end};
    declare_sizes(use, static_cast<int>(v.integer("least")), {3, 4}, "digits",
                  "digits of each number");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = drawn_for(r, 0);
    const std::size_t n = random.between(range.low, range.high);
    std::vector<std::int32_t> question(2 * n + 2, plus);  // a + b =
    question.back() = equals;
    do {
      for (const std::size_t at : {std::size_t{0}, n + 1}) {
        draw_uniform(random, std::span(question).subspan(at, 1), digit0 + 1, 4);
        draw_uniform(random, std::span(question).subspan(at + 1, n - 1), digit0, 5);
      }
    } while (splits_matter(static_cast<int>(n)) &&
             !belongs_to(r.split, pes::hash64(card.name), question));
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    e.tokens[0] = PES_BOS;
    std::copy(question.begin(), question.end(), e.tokens.begin() + 1);
    const std::size_t sum = 2 * n + 3;
    for (std::size_t i = 0; i < n; ++i)
      e.tokens[sum + i] = question[i] + question[n + 1 + i] - digit0;
    e.tokens[sum + n] = PES_EOS;
    score_tokens(e.targets, e.tokens, sum, n + 1);
  }
  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto sign = std::find(tokens.begin(), tokens.end(), plus) - tokens.begin();
    const auto n = static_cast<std::size_t>(sign) - 1;  // digits
    if (3 * n + 4 > tokens.size()) return;
    for (std::size_t i = 0; i < n; ++i)
      targets[2 * n + 2 + i] = tokens[1 + i] + tokens[n + 2 + i] - digit0;
    targets[3 * n + 2] = PES_EOS;
  }

  // P(the sum of two digits, uniform on low .. 4, is s).
  static double sum_law(int low, int s) {
    const int digits = 5 - low, apart = std::abs(s - low - 4);
    return std::max(0, digits - apart) / static_cast<double>(digits * digits);
  }
  pes::Chance chance_at(const pes::Request& r) const {
    const Range range = sizes(r);
    const double share = 1.0 / (range.high - range.low + 1);
    BlindGuess guess;
    for (int n = range.low; n <= range.high; ++n) {
      for (int i = 0; i < n; ++i)
        for (int s = 0; s <= 8; ++s) guess.add(i, digit0 + s, share * sum_law(i == 0 ? 1 : 0, s));
      guess.add(n, PES_EOS, share);
    }
    return {guess.accuracy(), share * sum_law(1, 5) * std::pow(sum_law(0, 4), range.low - 1)};
  }
  double log10_problems(int n, int) const override {
    return 2 * (std::log10(4) + (n - 1) * std::log10(5));
  }
};

}  // namespace

extern const pes_task no_carry_addition = pes::task<NoCarryAddition>;
