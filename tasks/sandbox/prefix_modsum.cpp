// Running sums modulo m: y_t = (x_0 + ... + x_{t-1}) mod m, or up to x_t. The first position holds
// no sum (y_0 is 0, or x_0 itself) and is not scored.
#include "sequences.h"

namespace {

using namespace sandbox;

struct PrefixModsum : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("m", "10", 2, 10, "modulus, and number of symbols"),
      pes::flag("inclusive", "false", "the sum at a position includes the symbol read there")};
  static constexpr pes_card card = pes::card<PrefixModsum>(
      {.name = "prefix_modsum",
       .summary = "the sum of all earlier symbols modulo m, at each position",
       .version = "2",
       .taxonomy = "state tracking"});

  int m;
  bool inclusive;
  pes_shortcut first_sums;

  PrefixModsum(const pes_use& use, const pes::Values& v)
      : m(static_cast<int>(v.integer("m"))), inclusive(v.flag("inclusive")) {
    inputs = PES_FIRST_SYMBOL + m;
    outputs = m;
    head = PES_TAG;
    determined = true;
    first_sums = measured_shortcut("bag", "the first sums are those of one symbol and of two",
                                   use.train_length,
                                   {{12, .04}, {16, .03}, {24, .02}, {32, .01}, {48, 0}}, 1.0 / m);
    if (!inclusive) shortcuts = {&first_sums};
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, 2, "the first position is not scored");
    do {
      draw_uniform(random, e.tokens, PES_FIRST_SYMBOL, m);
    } while (is_dealt(distinct(r.length)) &&
             !belongs_to(r.split, pes::hash64(card.name), e.tokens));
    oracle(e.tokens, e.targets);
    e.targets[0] = unscored;
  }
  void oracle(Tokens tokens, Targets targets) const {
    int sum = 0;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const int through = (sum + tokens[t] - PES_FIRST_SYMBOL) % m;
      targets[t] = inclusive ? through : sum;
      sum = through;
    }
  }
  double chance(int) const { return 1.0 / m; }
  double distinct(int length) const { return length * std::log10(m); }
};

}  // namespace

extern const pes_task prefix_modsum = pes::task<PrefixModsum>;
