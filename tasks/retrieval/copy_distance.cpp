// Five items, a stretch of filler, and the items again: can a copy reach over a distance?
//
//   BOS, five items, filler, ASK, the five items, EOS
//
// The first item stands `distance` times the span before ASK, where the span is what training can
// hold.
#include "filler.h"

namespace {

using namespace retrieval;

constexpr int items = 5;
constexpr int around = 1 + 1 + items + 1;  // BOS, ASK, the copy, EOS
constexpr int first_digit = filler0 + filler_words, first_letter = first_digit + 10;

struct Content {
  int first, count;
};
constexpr std::array<Content, 2> contents = {{{first_digit, 10}, {first_letter, 26}}};

constexpr std::array<double, 6> distances = {.25, .5, .75, 1, 1.5, 2};
constexpr int trained_distances = 4;
constexpr pes_axis distance_axis = {sizeof(pes_axis),
                                    "distance",
                                    "spans",
                                    "from the first item to the question, in units of the longest "
                                    "distance that training holds",
                                    distances.data(),
                                    nullptr,
                                    static_cast<int>(distances.size()),
                                    trained_distances};
constexpr double content_values[] = {0, 1};
constexpr const char* content_names[] = {"digits", "letters"};
constexpr pes_axis content_axis = {sizeof(pes_axis), "content",     "", "what the items are",
                                   content_values,   content_names, 2,  2};
enum { by_distance, by_content };

constexpr pes_shortcut items_seen = {
    sizeof(pes_shortcut), "bag", 0.20,
    "the items are the only ones in the text, so one of them is the next"};
constexpr pes_shortcut kind_by_last = {
    sizeof(pes_shortcut), "last_token", 0.065,
    "after the first item of the copy it is known whether they are digits or letters"};
constexpr pes_shortcut kind_by_window = {sizeof(pes_shortcut), "window", 0.07, "the same"};

struct CopyDistance : pes::Task {
  static constexpr pes_card card =
      pes::card<CopyDistance>({.name = "copy_distance",
                               .summary = "repeats five items after a stretch of filler",
                               .taxonomy = "retrieval"});

  int train_length, span;

  CopyDistance(const pes_use& use, const pes::Values&)
      : train_length(use.train_length), span(use.train_length - around) {
    if (span < items)
      throw pes::Refusal("a training length of " + std::to_string(train_length) +
                         " holds no copy; it takes " + std::to_string(around + items));
    inputs = outputs = first_letter + 26;
    head = PES_LM;
    determined = true;
    axes = {&distance_axis, &content_axis};
    shortcuts = {&items_seen, &kind_by_last, &kind_by_window};
  }

  int tokens_at(double distance) const { return std::max(items, rounded(distance * span)); }
  // Tokens from the first item to ASK: drawn at lengths of training, filling longer ones.
  int gap(const pes::Request& r, pes::Random& random) const {
    const int most = r.length - around;
    if (!r.draws(by_distance)) {
      const double distance = r.axis(by_distance);
      if (!(distance > 0) || tokens_at(distance) > most)
        throw pes::Refusal("a copy over " + std::to_string(distance) + " times " +
                           std::to_string(span) + " tokens does not fit into " +
                           std::to_string(r.length));
      return tokens_at(distance);
    }
    int fitting = 0;
    while (fitting < trained_distances && tokens_at(distances[fitting]) <= most) ++fitting;
    if (r.length > train_length || fitting == 0) return most;
    return tokens_at(distances[random.below(static_cast<std::uint32_t>(fitting))]);
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, around + items, "BOS, the items twice, ASK and EOS");
    const std::size_t reach = gap(r, random);
    const Content& content = contents[r.draws(by_content) ? random.below(2) : kind(r)];
    Filler text(random);
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    const auto x = e.tokens.subspan(1, items);
    do draw_uniform(random, x, content.first, content.count);
    while (!belongs_to(r.split, pes::hash64(card.name), x));
    const std::size_t ask = 1 + reach;
    e.tokens[0] = PES_BOS;
    text.write(e.tokens.subspan(1 + items, reach - items));
    e.tokens[ask] = PES_ASK;
    std::copy(x.begin(), x.end(), e.tokens.begin() + static_cast<std::ptrdiff_t>(ask) + 1);
    e.tokens[ask + 1 + items] = PES_EOS;
    score_tokens(e.targets, e.tokens, ask + 1, items);
  }
  static int kind(const pes::Request& r) {
    const double k = r.axis(by_content);
    if (k != 0 && k != 1) throw pes::Refusal("axis content has no value " + std::to_string(k));
    return static_cast<int>(k);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask = std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin();
    for (int i = 0; i < items && ask + i < std::ssize(tokens); ++i)
      targets[ask + i] = tokens[1 + i];
  }

  // A digit is the better guess where both occur: 1/2 * 1/10 against 1/2 * 1/26.
  pes::Chance chance_at(const pes::Request& r) const {
    if (r.draws(by_content)) return {.5 / 10, .5 * std::pow(10, -items)};
    const double n = contents[kind(r)].count;
    return {1 / n, std::pow(n, -items)};
  }
  double distinct(int) const {  // at least: items and phases of the filler
    return std::log10(filler_words * (std::pow(10, items) + std::pow(26, items)));
  }
};

}  // namespace

extern const pes_task copy_distance = pes::task<CopyDistance>;
