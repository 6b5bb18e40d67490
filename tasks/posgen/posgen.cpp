// Sequences in which each symbol is the sum, modulo 17, of the three before it and one further
// away:
//
//   recursive  four places back: the same rule everywhere
//   cot        the first symbol: a place that stays
//   semi       half way back: a place that moves at half the speed
#include "examples.h"

namespace {

constexpr int modulus = 17, near = 3,
              start = 4;  // symbols before the rule begins: near + 1 far one

using Start = std::array<int, start>;

// Starts are divided by a hash: eight tenths are trained on, one validated, one tested.
pes_split split_of(const Start& x) {
  std::uint64_t h = pes::hash64("posgen starts");
  for (const int symbol : x) h = pes::mix64(h, static_cast<std::uint64_t>(symbol));
  const std::uint64_t tenth = h % 10;
  return tenth < 8 ? PES_SPLIT_TRAIN : tenth == 8 ? PES_SPLIT_VALIDATION : PES_SPLIT_TEST;
}

constexpr pes_shortcut sums_near = {sizeof(pes_shortcut), "window", .08,
                                    "three symbols of the sum, or all four, are in it"};

struct PosGen : pes::Task {
  static constexpr pes_option options[] = {
      pes::choice("variant", "recursive", "recursive|cot|semi",
                  "where the far symbol stands: four back, at the beginning, half way back")};
  static constexpr pes_card card = pes::card<PosGen>(
      {.name = "posgen",
       .summary = "sums of near symbols and a far one whose place depends on the position",
       .taxonomy = "generated sequence",
       .paper = "Wang et al. 2024, arXiv:2403.00071"});

  enum class Variant { recursive, cot, semi } variant;

  pes_shortcut symbols_seen;

  PosGen(const pes_use& use, const pes::Values& v)
      : variant(v.is("variant", "cot")    ? Variant::cot
                : v.is("variant", "semi") ? Variant::semi
                                          : Variant::recursive) {
    inputs = outputs = PES_FIRST_SYMBOL + modulus;
    head = PES_LM;
    shortcuts = {&sums_near};
    if (variant != Variant::cot) return;
    symbols_seen = tasks::measured_shortcut(
        "bag", "with one far symbol for all sums the sequence comes round every 96 symbols",
        use.train_length, {{64, .06}, {128, .08}, {256, .09}, {512, .095}, {1024, .10}});
    shortcuts.push_back(&symbols_seen);
  }
  // The place of the far symbol in the sum at place `l`.
  std::size_t far(std::size_t l) const {
    switch (variant) {
      case Variant::recursive: return l - start;
      case Variant::cot: return 0;
      case Variant::semi: return (l - start) / 2;
    }
    return 0;
  }
  // Symbol `l` of the sequence behind BOS, as a token.
  std::int32_t next(pes::Tokens x, std::size_t l) const {
    std::int32_t sum = x[far(l)] - PES_FIRST_SYMBOL;
    for (std::size_t back = 1; back <= near; ++back) sum += x[l - back] - PES_FIRST_SYMBOL;
    return PES_FIRST_SYMBOL + sum % modulus;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    pes::require_length(r.length, 2 + start, "the rule begins behind BOS and four symbols");
    Start first;
    do {
      for (int& x : first) x = random.between(0, modulus - 1);
    } while (split_of(first) != r.split);
    e.tokens[0] = PES_BOS;
    const auto x = e.tokens.subspan(1);
    for (std::size_t l = 0; l < x.size(); ++l)
      x[l] = l < start ? PES_FIRST_SYMBOL + first[l] : next(x, l);
    oracle(e.tokens, e.targets);
    pes::certain(e);
  }
  void oracle(pes::Tokens tokens, pes::Targets targets) const {
    std::fill(targets.begin(), targets.end(), pes::unscored);
    const pes::Tokens x = tokens.subspan(1);
    for (std::size_t l = start; l <= x.size(); ++l) targets[l] = next(x, l);
  }
  double chance(int) const { return 1.0 / modulus; }
  double distinct(int) const { return start * std::log10(modulus); }
};

}  // namespace

extern const pes_task posgen = pes::task<PosGen>;
