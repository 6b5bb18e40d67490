// Which symbol has come most often so far? Counts decide and order does not, so that who attends to
// all positions alike answers at any length, and who prefers some of them does not.
#include "examples.h"

namespace {

using namespace tasks;

// Symbols as they come, and who leads.
class Race {
 public:
  explicit Race(int symbols) : counts_(static_cast<std::size_t>(symbols)) {}

  void see(int symbol) {
    const int count = ++counts_[static_cast<std::size_t>(symbol)];
    leaders_ = count > most_ ? 1 : leaders_ + (count == most_ ? 1 : 0);
    if (count > most_) most_ = count, leader_ = symbol;
  }
  int leader() const { return leaders_ == 1 ? leader_ : unscored; }
  // Chance that one of those who have come most often, drawn from them, is `symbol`.
  double share(int symbol) const {
    return counts_[static_cast<std::size_t>(symbol)] == most_ ? 1. / leaders_ : 0;
  }

 private:
  std::vector<int> counts_;
  int most_ = 0, leaders_ = 0, leader_ = 0;
};

struct Majority : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("symbols", "2", 2, 256, "size of the alphabet")};
  static constexpr pes_card card = pes::card<Majority>(
      {.name = "majority",
       .summary = "the symbol that has come most often so far, at each position",
       .taxonomy = "counting",
       .paper = "Zhou et al. 2023, arXiv:2310.16028"});

  int symbols;
  pes_shortcut counts, last, window;

  Majority(const pes_use& use, const pes::Values& v)
      : symbols(static_cast<int>(v.integer("symbols"))) {
    inputs = PES_FIRST_SYMBOL + symbols;
    outputs = symbols;
    head = PES_TAG;
    determined = true;
    counts = {sizeof(pes_shortcut), "bag", 1, "how often each symbol came is all that matters"};
    last = {sizeof(pes_shortcut), "last_token", level_of_last(1, use.train_length),
            "what has just come leads more often than another"};
    window = {sizeof(pes_shortcut), "window", level_of_last(8, use.train_length),
              "so does who leads among the last eight"};
    shortcuts = {&counts, &last, &window};
  }
  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, 1, "a symbol must be read");
    do {
      draw_uniform(random, e.tokens, PES_FIRST_SYMBOL, symbols);
    } while (is_dealt(distinct(r.length)) &&
             !belongs_to(r.split, pes::hash64(card.name), e.tokens));
    oracle(e.tokens, e.targets);
  }
  void oracle(Tokens tokens, Targets targets) const {
    Race race(symbols);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      race.see(tokens[t] - PES_FIRST_SYMBOL);
      targets[t] = race.leader();
    }
  }
  double chance(int) const { return 1.0 / symbols; }  // no symbol differs from another
  double distinct(int length) const { return length * std::log10(symbols); }

 private:
  // How often who leads among the last `some` leads among all, in sequences drawn for it.
  double level_of_last(std::size_t some, int length) const {
    constexpr int positions = 1 << 17;
    std::vector<std::int32_t> x(static_cast<std::size_t>(length));
    const int examples = positions / length + 1;
    double sum = 0;  // of shares of an example
    for (int i = 0; i < examples; ++i) {
      pes::Random random(0, pes::purpose("majority levels"), static_cast<unsigned>(i));
      draw_uniform(random, x, 0, symbols);
      Race all(symbols);
      double hits = 0, asked = 0;
      for (std::size_t t = 0; t < x.size(); ++t) {
        all.see(x[t]);
        if (all.leader() == unscored) continue;
        Race recent(symbols);
        for (std::size_t u = t + 1 - std::min(some, t + 1); u <= t; ++u) recent.see(x[u]);
        hits += recent.share(all.leader()), ++asked;
      }
      sum += hits / asked;
    }
    return sum / examples;
  }
};

}  // namespace

extern const pes_task majority = pes::task<Majority>;
