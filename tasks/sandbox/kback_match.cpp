// Is this symbol the one k positions back? y_t = 1[x_t = x_{t-k}] for t >= k, balanced: x_t repeats
// x_{t-k} with probability 1/2, else it is one of the other symbols.
#include "sequences.h"

namespace {

using namespace sandbox;

struct KbackMatch : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("k", "3", 1, 16, "how many positions back"),
      pes::integer("symbols", "8", 2, 65536, "size of the alphabet")};
  static constexpr pes_card card = pes::card<KbackMatch>(
      {.name = "kback_match",
       .summary = "whether a symbol equals the one k positions back, at each position",
       .taxonomy = "relative position"});

  int k, symbols;

  KbackMatch(const pes_use&, const pes::Values& v)
      : k(static_cast<int>(v.integer("k"))), symbols(static_cast<int>(v.integer("symbols"))) {
    inputs = PES_FIRST_SYMBOL + symbols;
    outputs = 2;
    head = PES_TAG;
    determined = true;
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, k + 1, "the first k positions have nothing k back");
    draw_uniform(random, e.tokens.first(k), PES_FIRST_SYMBOL, symbols);
    for (int t = k; t < r.length; ++t)
      e.tokens[t] = coin(random) ? e.tokens[t - k] : other(random, e.tokens[t - k]);
    oracle(e.tokens, e.targets);
  }
  std::int32_t other(pes::Random& random, std::int32_t than) const {
    const std::int32_t token = random.between(PES_FIRST_SYMBOL, PES_FIRST_SYMBOL + symbols - 2);
    return token < than ? token : token + 1;
  }
  void oracle(Tokens tokens, Targets targets) const {
    for (int t = 0; t < std::ssize(tokens); ++t)
      targets[t] = t < k ? unscored : tokens[t] == tokens[t - k] ? 1 : 0;
  }
  double chance(int) const { return 0.5; }
  double distinct(int length) const { return length * std::log10(symbols); }
};

}  // namespace

extern const pes_task kback_match = pes::task<KbackMatch>;
