// Multi-query associative recall: pairs of keys and values, then the keys again among noise; what
// was the value of each? (Arora et al. 2023, "Zoology", section 3.2 and appendix)
//
//   k1 v1 .. kD vD, then slots of two tokens: a key that asks, or noise, and noise
//
// Slots near the pairs are asked more often: P(slot g) is proportional to (g + 1)^(a - 1).
#include <array>

#include "examples.h"

namespace {

using namespace tasks;

constexpr double a = .01;  // of the power law

// e^-x for x >= 0 from + - * / alone, the same bits everywhere: e^(-x/1024) by Taylor, squared ten
// times.
double portable_exp_minus(double x) {
  const double y = -x / 1024;
  double sum = 1;
  for (int k = 12; k >= 1; --k) sum = 1 + y / k * sum;
  for (int i = 0; i < 10; ++i) sum *= sum;
  return sum;
}

struct Mqar : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("pairs", "4", 1, 4096, "keys with values in training"),
      pes::integer("symbols", "256", 4, 65536,
                   "a blank, keys (up to the middle) and values (from the middle on)"),
      pes::choice("noise", "random", "random|blank", "what stands where nothing is asked")};
  static constexpr pes_card card =
      pes::card<Mqar>({.name = "mqar",
                       .summary = "recalls the values of several keys that were seen together",
                       .taxonomy = "associative recall",
                       .paper = "Arora et al. 2023, arXiv:2312.04927"});

  int pairs, symbols;
  bool blank;
  std::array<double, 5> pair_counts;
  pes_axis pairs_axis;
  std::vector<std::uint64_t> weights;  // of slots 0, 1, ...
  pes_shortcut one_of_the_pairs, pairs_are_near;

  Mqar(const pes_use& use, const pes::Values& v)
      : pairs(static_cast<int>(v.integer("pairs"))),
        symbols(static_cast<int>(v.integer("symbols"))),
        blank(v.is("noise", "blank")),
        pair_counts{1. * pairs, 2. * pairs, 4. * pairs, 8. * pairs, 16. * pairs},
        pairs_axis{sizeof(pes_axis),
                   "pairs",
                   "",
                   "keys with values",
                   pair_counts.data(),
                   nullptr,
                   static_cast<int>(pair_counts.size()),
                   1} {
    if (symbols % 2 != 0)
      throw pes::Refusal("half of the symbols are values, so their number is even, not " +
                         std::to_string(symbols));
    if (use.max_length >= symbols)
      throw pes::Refusal("symbols=" + std::to_string(symbols) +
                         " must be more than the longest "
                         "length, " +
                         std::to_string(use.max_length) +
                         ", so that chance repeats "
                         "do not crowd out the pairs");
    inputs = PES_FIRST_SYMBOL + symbols;
    outputs = values();
    head = PES_TAG;
    determined = true;
    axes = {&pairs_axis};
    for (int g = 0; g < use.max_length / 2; ++g)
      weights.push_back(static_cast<std::uint64_t>(
          portable_exp_minus((1 - a) * pes::portable_log(g + 1)) * 0x1p40));
    one_of_the_pairs = {sizeof(pes_shortcut), "bag", 1.0 / pairs,
                        "the answer is one of the values that were seen"};
    pairs_are_near = {sizeof(pes_shortcut), "window", share_near(use.train_length) / pairs,
                      "the value, among others, is in the window of questions near the pairs"};
    shortcuts = {&one_of_the_pairs, &pairs_are_near};
  }
  // Share of the questions that have their value among the last eight tokens, as if slots were
  // drawn with replacement.
  double share_near(int length) const {
    double near = 0, all = 0;
    for (int g = 0; g < length / 2 - pairs; ++g) {
      const auto weight = static_cast<double>(weights[g]);
      all += weight;
      for (int i = 0; i < pairs; ++i)
        if (2 * (pairs - i) + 2 * g - 1 < 8) near += weight / pairs;
    }
    return near / std::max(all, 1.0);
  }
  int keys() const { return symbols / 2 - 1; }
  int values() const { return symbols / 2; }
  int key0() const { return PES_FIRST_SYMBOL + 1; }
  int value0() const { return PES_FIRST_SYMBOL + symbols / 2; }

  int pairs_of(const pes::Request& r) const {
    const double d = r.draws(0) ? pairs : r.axis(0);
    if (!(d >= 1) || d != static_cast<int>(d) || d > keys())
      throw pes::Refusal("axis pairs takes whole numbers from 1 to the number of keys, " +
                         std::to_string(keys()) + ", not " + number_text(d));
    if (r.length % 2 != 0 || r.length < 4 * d)
      throw pes::Refusal("an example has an even number of tokens, at least four a pair (" +
                         std::to_string(static_cast<int>(4 * d)) + "), not " +
                         std::to_string(r.length));
    return static_cast<int>(d);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t d = pairs_of(r);
    std::vector<std::int32_t> key(d), value(d);
    draw_distinct(random, key, key0(), keys());
    draw_distinct(random, value, value0(), values());
    for (std::size_t i = 0; i < d; ++i) {
      e.tokens[2 * i] = key[i];
      e.tokens[2 * i + 1] = value[i];
    }
    const auto noise = e.tokens.subspan(2 * d);
    draw_uniform(random, noise, PES_FIRST_SYMBOL, blank ? 1 : symbols);
    std::fill(e.targets.begin(), e.targets.end(), unscored);
    const std::vector<std::size_t> slots = draw_slots(random, noise.size() / 2, d);
    for (std::size_t i = 0; i < d; ++i) {
      const std::size_t at = 2 * d + 2 * slots[i];
      e.tokens[at] = key[i];
      e.targets[at] = value[i] - value0();
      if (!e.distances.empty()) e.distances[at] = static_cast<std::int32_t>(at - (2 * i + 1));
    }
  }
  // Distinct slots, one after the other by their weights among those that are left.
  std::vector<std::size_t> draw_slots(pes::Random& random, std::size_t slots,
                                      std::size_t count) const {
    std::vector<std::uint64_t> left(weights.begin(),
                                    weights.begin() + static_cast<std::ptrdiff_t>(slots));
    std::uint64_t sum = std::accumulate(left.begin(), left.end(), std::uint64_t{0});
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t x = random.below64(sum);
      std::size_t g = 0;
      while (x >= left[g]) x -= left[g++];
      out.push_back(g);
      sum -= left[g];
      left[g] = 0;
    }
    return out;
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    // A key's first occurrence is in its pair: noise stands behind all pairs.
    std::vector<int> value_of(inputs, -1);
    for (std::size_t t = 0; t + 1 < tokens.size(); t += 2) {
      int& known = value_of[tokens[t]];
      if (known >= 0) targets[t] = known;
      if (known < 0 && tokens[t + 1] >= value0()) known = tokens[t + 1] - value0();
    }
  }

  pes::Chance chance_at(const pes::Request& r) const {
    return {1.0 / values(), std::pow(10, -log10_samples(values(), pairs_of(r)))};
  }
  double distinct(int length) const {  // at least: the pairs, and noise
    const double noise = blank ? 0 : std::max(0, length - 3 * pairs) * std::log10(symbols);
    return log10_samples(keys(), pairs) + log10_samples(values(), pairs) + noise;
  }
};

}  // namespace

extern const pes_task mqar = pes::task<Mqar>;
