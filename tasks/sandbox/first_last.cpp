// Does the last symbol equal the first? The longest distance that a sequence has.
#include "sequences.h"

namespace {

using namespace sandbox;

struct FirstLast : pes::Task {
  static constexpr pes_option options[] = {pes::choice(
      "variant", "uniform", "uniform|app",
      "the last symbol of negatives: uniform on the other symbols, or as in a published "
      "comparison (raw ids), where difference 1 is twice as likely and 49 never occurs")};
  static constexpr pes_card card =
      pes::card<FirstLast>({.name = "first_last",
                            .summary = "whether the last symbol equals the first",
                            .taxonomy = "long distance"});
  static constexpr int symbols = 50;

  bool app;
  int first;  // token of symbol 0

  FirstLast(const pes_use&, const pes::Values& v)
      : app(v.is("variant", "app")), first(app ? 0 : PES_FIRST_SYMBOL) {
    inputs = first + symbols;
    outputs = 2;
    head = PES_CLS;
    determined = true;
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, 2, "a first and a last symbol");
    draw_uniform(random, e.tokens.first(e.tokens.size() - 1), first, symbols);
    const int step = coin(random) ? 0 : difference(random);
    e.tokens.back() = first + (e.tokens.front() - first + step) % symbols;
    oracle(e.tokens, e.targets);
  }
  int difference(pes::Random& random) const {
    return app ? std::max(1, random.between(0, symbols - 2)) : random.between(1, symbols - 1);
  }
  void oracle(Tokens tokens, Targets targets) const {
    score_last(targets, tokens.front() == tokens.back() ? 1 : 0);
  }
  double chance(int) const { return 0.5; }
  double distinct(int length) const {
    return (length - 1) * std::log10(symbols) + std::log10(app ? symbols - 1 : symbols);
  }
};

}  // namespace

extern const pes_task first_last = pes::task<FirstLast>;
