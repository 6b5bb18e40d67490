// A one-bit memory among noise: pairs of an instruction (write, read, ignore) and a bit. Behind
// each read stands the bit that was last written.
#include "examples.h"

namespace {

constexpr double ignore_rates[] = {0.8, 0.1, 0.98};
constexpr pes_axis ignore_axis = {
    sizeof(pes_axis), "ignore", "", "share of instructions that are ignored",
    ignore_rates,     nullptr,  3,  1};

constexpr pes_shortcut write_is_near = {
    sizeof(pes_shortcut), "window", .80,
    "in half of the questions the last write, or a read of it, is one of three pairs before"};

struct FlipFlop : pes::Task {
  static constexpr pes_card card =
      pes::card<FlipFlop>({.name = "flipflop",
                           .summary = "the bit that was last written, among bits to ignore",
                           .taxonomy = "state tracking",
                           .paper = "Liu et al. 2023, arXiv:2306.00946"});
  enum Token { write = PES_FIRST_SYMBOL, read, ignore, zero, one };

  pes_shortcut bits_seen;

  FlipFlop(const pes_use& use, const pes::Values&) {
    bits_seen = tasks::measured_shortcut(
        "bag",
        "behind each write and each read stands the bit that is asked for, so it was seen more "
        "often",
        use.train_length,
        {{12, .74}, {16, .72}, {24, .70}, {32, .69}, {64, .67}, {128, .63}, {512, .56}});
    inputs = outputs = one + 1;
    head = PES_LM;
    axes = {&ignore_axis};
    shortcuts = {&bits_seen, &write_is_near};
  }
  static int pairs(int length) {
    pes::require_length(length, 4, "a bit is written first and read last");
    return length / 2;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const double p = r.draws(0) ? ignore_rates[0] : r.axis(0);
    if (p < 0 || p > 1) throw pes::Refusal("axis ignore is a share, from 0 to 1");
    const std::uint64_t threshold = pes::probability(p);
    const int last = pairs(r.length) - 1;
    std::fill(e.tokens.begin(), e.tokens.end(), std::int32_t{PES_PAD});
    std::int32_t memory = zero;
    for (int i = 0; i <= last; ++i) {
      const bool ignored = random.event(threshold);
      const bool reads = random.below(2) == 1;
      const std::int32_t bit = zero + static_cast<std::int32_t>(random.below(2));
      const Token token = i == 0      ? write
                          : i == last ? read
                          : ignored   ? ignore
                          : reads     ? read
                                      : write;
      if (token == write) memory = bit;
      e.tokens[2 * i] = token;
      e.tokens[2 * i + 1] = token == read ? memory : bit;
    }
    oracle(e.tokens, e.targets);
    pes::certain(e);
    measure(e);
  }
  // From the bit behind a read to the bit that was last written.
  static void measure(pes::Example& e) {
    int written = 0;
    for (int t = 0; t < std::ssize(e.distances); t += 2) {
      if (e.tokens[t] == write) written = t;
      if (e.tokens[t] == read) e.distances[t] = t - written;
    }
  }
  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    std::fill(targets.begin(), targets.end(), pes::unscored);
    std::int32_t memory = zero;
    for (std::size_t t = 0; t + 1 < tokens.size(); t += 2) {
      if (tokens[t] == write) memory = tokens[t + 1];
      if (tokens[t] == read) targets[t] = memory;
    }
  }
  double chance(int) const { return 0.5; }
  // As in training: the first pair writes, the last one reads.
  double distinct(int length) const {
    constexpr double p = ignore_rates[0], act = (1 - p) / 2;
    const double repeat = (p * p + act * act) / 2 + act * act;  // of a pair in between
    return std::log10(2) - (pairs(length) - 2) * std::log10(repeat);
  }
};

}  // namespace

extern const pes_task flipflop = pes::task<FlipFlop>;
