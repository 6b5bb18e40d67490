// The sum of a sequence modulo 10, one label a sequence. The sum does not depend on the order, so
// reading needs no positions: a negative control.
#include "sequences.h"

#include <numeric>

namespace {

using namespace sandbox;

struct ModsumCls : pes::Task {
  static constexpr pes_card card = pes::card<ModsumCls>(
      {.name = "modsum_cls",
       .summary = "the sum of the whole sequence modulo 10, read from the last position",
       .taxonomy = "aggregation"});
  static constexpr int symbols = 20, modulus = 10;

  ModsumCls(const pes_use&, const pes::Values&) {
    inputs = symbols;  // raw ids, without the reserved ones
    outputs = modulus;
    head = PES_CLS;
    determined = true;
  }
  static int label(Tokens x) { return std::accumulate(x.begin(), x.end(), 0) % modulus; }

  void sample(const pes::Request&, pes::Random& random, pes::Example& e) const {
    draw_uniform(random, e.tokens, 0, symbols);
    score_last(e.targets, label(e.tokens));
  }
  void oracle(Tokens tokens, Targets targets) const { score_last(targets, label(tokens)); }
  double chance(int) const { return 1.0 / modulus; }
  double distinct(int length) const { return length * std::log10(symbols); }
};

}  // namespace

extern const pes_task modsum_cls = pes::task<ModsumCls>;
