// A one-bit memory among noise: pairs of an instruction (write, read, ignore) and a bit. Behind
// each read stands the bit that was last written.
#include <array>

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
                           .version = "2",
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
        {{6, .80},
         {8, .81},
         {12, .76},
         {16, .76},
         {24, .73},
         {32, .72},
         {64, .67},
         {128, .63},
         {256, .605},
         {512, .575}});
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
    std::fill(e.tokens.begin(), e.tokens.end(), std::int32_t{PES_PAD});
    do {
      draw(random, pes::probability(p), pairs(r.length) - 1, e.tokens);
    } while (tasks::is_dealt(distinct_at(r.length, p)) &&
             !tasks::belongs_to(r.split, pes::hash64(card.name), e.tokens));
    oracle(e.tokens, e.targets);
    pes::certain(e);
    measure(e);
  }
  // Pairs 0 to `last`.
  static void draw(pes::Random& random, std::uint64_t ignore_rate, int last,
                   std::span<std::int32_t> tokens) {
    std::int32_t memory = zero;
    for (int i = 0; i <= last; ++i) {
      const bool ignored = random.event(ignore_rate);
      const bool reads = random.below(2) == 1;
      const std::int32_t bit = zero + static_cast<std::int32_t>(random.below(2));
      const Token token = i == 0      ? write
                          : i == last ? read
                          : ignored   ? ignore
                          : reads     ? read
                                      : write;
      if (token == write) memory = bit;
      tokens[2 * i] = token;
      tokens[2 * i + 1] = token == read ? memory : bit;
    }
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
  // All reads of an example say the same most easily, where there are few.
  pes::Chance chance_at(const pes::Request& r) const {
    const double p = r.draws(0) ? ignore_rates[0] : r.axis(0), act = (1 - p) / 2;
    const int inner = pairs(r.length) - 2;
    // P(the reads so far, k of them, all say 1, and the memory holds 0 or 1)
    std::vector<std::array<double, 2>> ones(static_cast<std::size_t>(inner) + 2);
    ones[0] = {0.5, 0.5};
    for (int i = 0; i < inner; ++i)
      for (int k = i + 1; k >= 0; --k) {
        const double read = k > 0 ? act * ones[k - 1][1] : 0;
        const double written = act * (ones[k][0] + ones[k][1]) / 2;
        ones[k] = {p * ones[k][0] + written, p * ones[k][1] + written + read};
      }
    double exact = 0;
    for (const auto& [zero_held, one_held] : ones) exact = std::max(exact, one_held);
    return {0.5, exact};
  }
  double distinct(int length) const { return distinct_at(length, ignore_rates[0]); }
  // The first pair writes, the last one reads.
  static double distinct_at(int length, double p) {
    const double act = (1 - p) / 2;
    const double repeat = (p * p + act * act) / 2 + act * act;  // of a pair in between
    return std::log10(2) - (pairs(length) - 2) * std::log10(repeat);
  }
};

}  // namespace

extern const pes_task flipflop = pes::task<FlipFlop>;
