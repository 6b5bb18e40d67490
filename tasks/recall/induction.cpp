// A segment of distinct symbols, a gap of others, and the segment again: what followed the last
// time? (Olsson et al. 2022, "In-context learning and induction heads")
#include "examples.h"

namespace {

using namespace tasks;

constexpr int symbols = 64, shortest = 4, longest = 16;  // of the segment

struct Induction : pes::Task {
  static constexpr pes_card card = pes::card<Induction>(
      {.name = "induction",
       .summary = "continues a segment that was seen once, across gaps beyond training",
       .taxonomy = "associative recall",
       .paper = "Olsson et al. 2022, arXiv:2209.11895"});

  int train_length;
  std::vector<double> gaps;
  pes_axis gap_axis{};

  Induction(const pes_use& use, const pes::Values&) : train_length(use.train_length) {
    inputs = outputs = PES_FIRST_SYMBOL + symbols;
    head = PES_LM;
    determined = true;
    if (train_length < 2 * shortest)
      throw pes::Refusal("a training length of " + std::to_string(train_length) +
                         " does not hold the shortest segment twice, " +
                         std::to_string(2 * shortest));
    int trained = 0;
    for (int gap = 8; gap + 2 * longest <= use.max_length; gap *= 2) {
      gaps.push_back(gap);
      trained += gap + 2 * longest <= train_length ? 1 : 0;
    }
    gap_axis = {sizeof(pes_axis),
                "gap",
                "tokens",
                "between the segment, then of 16 symbols, and its repetition",
                gaps.data(),
                nullptr,
                static_cast<int>(gaps.size()),
                trained};
    if (!gaps.empty()) axes = {&gap_axis};
  }

  struct Shape {
    int segment, gap;
  };
  // Training draws both; longer examples have the longest segment and are filled by the gap.
  Shape shape(const pes::Request& r, pes::Random& random) const {
    if (!gaps.empty() && !r.draws(0)) {
      const double gap = r.axis(0);
      if (!(gap >= 0 && gap <= r.length - 2 * longest) || gap != static_cast<int>(gap))
        throw pes::Refusal("a gap of " + std::to_string(gap) + " between segments of " +
                           std::to_string(longest) + " does not fit into " +
                           std::to_string(r.length));
      return {longest, static_cast<int>(gap)};
    }
    require_length(r.length, 2 * shortest, "the shortest segment twice");
    const int most = std::min(longest, r.length / 2);
    if (r.length > train_length) return {most, r.length - 2 * most};
    const int segment = random.between(shortest, most);
    return {segment, random.between(0, r.length - 2 * segment)};
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Shape s = shape(r, random);
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    std::vector<std::int32_t> deck(symbols);  // the segment's symbols first, then those of gaps
    draw_distinct(random, deck, PES_FIRST_SYMBOL, symbols);
    const std::size_t segment = s.segment, gap = s.gap;
    std::copy(deck.begin(), deck.begin() + s.segment, e.tokens.begin());
    for (std::int32_t& x : e.tokens.subspan(segment, gap))
      x = deck[segment + random.below(static_cast<std::uint32_t>(symbols - s.segment))];
    std::copy(deck.begin(), deck.begin() + s.segment, e.tokens.begin() + s.segment + s.gap);
    score_tokens(e.targets, e.tokens, segment + gap + 1, segment - 1);
  }

  void oracle(Tokens tokens, Targets targets) const {  // what followed the first time
    std::fill(targets.begin(), targets.end(), unscored);
    std::vector<std::int32_t> successor(inputs, unscored);
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
      std::int32_t& known = successor[tokens[t]];
      targets[t] = known;
      if (known == unscored) known = tokens[t + 1];
    }
  }

  pes::Chance chance_at(const pes::Request& r) const {
    const bool drawn = r.length <= train_length && (gaps.empty() || r.draws(0));
    const int most = std::min(longest, r.length / 2);
    // the first symbol is not asked for: ordered samples of one fewer
    if (!drawn) return {1.0 / symbols, std::pow(10, -log10_samples(symbols, most - 1))};
    return {1.0 / symbols,
            std::pow(10, -log10_samples(symbols, shortest - 1)) / (most - shortest + 1)};
  }
  // Were they equally likely; training draws the shape first.
  double distinct(int length) const {
    const int most = std::min(longest, length / 2);
    const auto examples = [](int segment, int gap) {
      return log10_samples(symbols, segment) + gap * std::log10(symbols - segment);
    };
    if (length > train_length) return examples(most, length - 2 * most);
    std::vector<double> repeats;  // P(two examples have this shape and are the same)
    for (int s = shortest; s <= most; ++s) {
      const int gaps = length - 2 * s + 1;
      for (int gap = 0; gap < gaps; ++gap)
        repeats.push_back(-2 * std::log10((most - shortest + 1) * gaps) - examples(s, gap));
    }
    return -log10_sum(repeats);
  }
};

}  // namespace

extern const pes_task induction = pes::task<Induction>;
