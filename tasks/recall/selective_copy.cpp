// Writes down the data among blanks, in order: BOS, data and blanks, SEP, the data, EOS (Gu & Dao
// 2023, "Mamba", section 3.1). How many blanks there are follows from the length.
#include <array>

#include "examples.h"

namespace {

using namespace tasks;

constexpr int data_symbols = 16, blank = PES_FIRST_SYMBOL + data_symbols;
constexpr int marks = 3;  // BOS, SEP, EOS

constexpr pes_shortcut unwritten = {
    sizeof(pes_shortcut), "bag", .19,
    "what was read more often than written is likelier to come; of 16 items"};

struct SelectiveCopy : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("items", "16", 1, 4096, "data symbols of an example in training")};
  static constexpr pes_card card =
      pes::card<SelectiveCopy>({.name = "selective_copy",
                                .summary = "repeats the data that stand scattered among blanks",
                                .taxonomy = "associative recall",
                                .paper = "Gu & Dao 2023, arXiv:2312.00752"});

  int items;
  std::array<double, 4> counts;
  pes_axis items_axis;

  SelectiveCopy(const pes_use& use, const pes::Values& v)
      : items(static_cast<int>(v.integer("items"))),
        counts{1. * items, 2. * items, 4. * items, 8. * items},
        items_axis{sizeof(pes_axis),
                   "items",
                   "",
                   "data symbols",
                   counts.data(),
                   nullptr,
                   static_cast<int>(counts.size()),
                   1} {
    inputs = outputs = blank + 1;
    head = PES_LM;
    determined = true;
    axes = {&items_axis};
    shortcuts = {&unwritten};
    if (use.train_length < 2 * items + marks)
      throw pes::Refusal(
          "items=" + std::to_string(items) + " take at least " + std::to_string(2 * items + marks) +
          " tokens, more than the training length, " + std::to_string(use.train_length));
  }
  std::size_t items_of(const pes::Request& r) const {
    const double n = r.draws(0) ? items : r.axis(0);
    if (!(n >= 1) || n != static_cast<int>(n))
      throw pes::Refusal("axis items takes whole numbers, not " + number_text(n));
    require_length(r.length, 2 * static_cast<int>(n) + marks, "the data twice, BOS, SEP and EOS");
    return static_cast<std::size_t>(n);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const std::size_t n = items_of(r), mixed = e.tokens.size() - marks - n;
    const auto text = e.tokens.subspan(1, mixed), copy = e.tokens.subspan(2 + mixed, n);
    std::vector<std::int32_t> places(n);  // a subset, each as likely
    draw_distinct(random, places, 0, static_cast<int>(mixed));
    std::sort(places.begin(), places.end());
    draw_uniform(random, copy, PES_FIRST_SYMBOL, data_symbols);
    e.tokens[0] = PES_BOS;
    std::fill(text.begin(), text.end(), blank);
    for (std::size_t i = 0; i < n; ++i) text[places[i]] = copy[i];
    e.tokens[1 + mixed] = PES_SEP;
    e.tokens.back() = PES_EOS;
    score_tokens(e.targets, e.tokens, 2 + mixed, n + 1);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto sep = std::find(tokens.begin(), tokens.end(), PES_SEP);
    auto answer = targets.begin() + (sep - tokens.begin());
    for (auto x = tokens.begin() + 1; x < sep && answer < targets.end(); ++x)
      if (*x != blank) *answer++ = *x;
    if (answer < targets.end()) *answer = PES_EOS;
  }

  pes::Chance chance_at(const pes::Request& r) const {  // EOS is certain
    const auto n = static_cast<double>(items_of(r));
    return {guessed(n), std::pow(data_symbols, -n)};
  }
  static double guessed(double n) { return (n / data_symbols + 1) / (n + 1); }
  double distinct(int length) const {
    const int mixed = length - marks - items;
    double places = 0;  // of n among all
    for (int i = 0; i < items; ++i) places += std::log10(mixed - i) - std::log10(i + 1);
    return items * std::log10(data_symbols) + places;
  }
};

}  // namespace

extern const pes_task selective_copy = pes::task<SelectiveCopy>;
