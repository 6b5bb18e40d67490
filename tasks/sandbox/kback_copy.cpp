// Copy the symbol k positions back: y_t = x_{t-k} for t >= k, on independent uniform symbols.
#include "sequences.h"

namespace {

using namespace sandbox;

struct KbackCopy : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("k", "3", 1, 16, "how many positions back"),
      pes::integer("symbols", "50", 2, 65536, "size of the alphabet")};
  static constexpr pes_card card =
      pes::card<KbackCopy>({.name = "kback_copy",
                            .summary = "the symbol k positions back, at each position",
                            .taxonomy = "relative position"});

  int k, symbols;
  pes_shortcut seen, near;

  KbackCopy(const pes_use& use, const pes::Values& v)
      : k(static_cast<int>(v.integer("k"))), symbols(static_cast<int>(v.integer("symbols"))) {
    inputs = outputs = symbols;  // raw ids, without the reserved ones
    head = PES_TAG;
    determined = true;
    seen = measured_shortcut(
        "bag", "the answer was read before, and at first few symbols were", use.train_length,
        {{12, .18}, {16, .17}, {24, .15}, {32, .13}, {64, .10}, {128, .08}, {256, .05}, {512, .03}},
        1.0 / symbols);
    near = {sizeof(pes_shortcut), "window", 1, "with k below 8 that is the task"};
    shortcuts = {&seen};
    if (k < 8) shortcuts.push_back(&near);
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, k + 1, "the first k positions have nothing k back");
    draw_uniform(random, e.tokens, 0, symbols);
    oracle(e.tokens, e.targets);
  }
  void oracle(Tokens tokens, Targets targets) const {
    for (int t = 0; t < std::ssize(tokens); ++t) targets[t] = t < k ? unscored : tokens[t - k];
  }
  double chance(int) const { return 1.0 / symbols; }
  double distinct(int length) const { return length * std::log10(symbols); }
};

}  // namespace

extern const pes_task kback_copy = pes::task<KbackCopy>;
