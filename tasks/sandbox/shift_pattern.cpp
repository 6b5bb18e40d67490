// A short pattern among random symbols, trained in one window of offsets and asked for in others:
// is what was learned tied to absolute positions?
//
//   strict  A B C in a row, or the same three symbols in another order or with a gap
//   app     A B in a row, or neither of them (as in a published comparison; raw ids)
//   text    where A B C starts, as three digits
#include "sequences.h"

namespace {

using namespace sandbox;

constexpr double windows[] = {0, 1, 2};
constexpr const char* window_names[] = {"start", "mid", "end"};
constexpr pes_axis window_axis(int trained) {
  return {sizeof(pes_axis), "window",     "", "where the pattern starts",
          windows,          window_names, 3,  trained};
}
constexpr pes_axis start_trained = window_axis(1), all_trained = window_axis(3);

constexpr pes_shortcut position_of_c = {
    sizeof(pes_shortcut), "position", 0.56875,
    "in the training window the absolute position of C alone tells 56.9 % (negatives with a gap "
    "put it one place later)"};
constexpr pes_shortcut bag_of_tokens = {sizeof(pes_shortcut), "bag", 1,
                                        "A and B occur in positives only"};

constexpr pes_shortcut pattern_is_near = {
    sizeof(pes_shortcut), "window", 0.62,
    "patterns at the end are in the window, and digits bound those that follow"};

// Places of A, B and C behind the start: of positives, and of the two kinds of strict negatives.
using Places = std::array<std::size_t, 3>;
constexpr Places in_order = {0, 1, 2};
constexpr std::array<Places, 5> other_orders = {
    {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
constexpr std::array<Places, 2> with_gap = {{{0, 2, 3}, {0, 1, 3}}};

struct Window {  // offsets, both ends included
  int low, high;
};

struct ShiftPattern : pes::Task {
  static constexpr pes_option options[] = {pes::choice(
      "variant", "strict", "strict|app|text",
      "strict: order and adjacency decide; app: presence decides; text: name the place")};
  static constexpr pes_card card =
      pes::card<ShiftPattern>({.name = "shift_pattern",
                               .summary = "finds a pattern at offsets that training never showed",
                               .taxonomy = "shift invariance"});
  static constexpr int symbols = 50, pattern = 3;
  static constexpr int answer_length = digit_count + 1, tail = 1 + answer_length;  // ASK, answer

  enum class Variant { strict, app, text } variant;
  int first;    // token of symbol 0
  int filler;   // symbols that are in no pattern: the first ones
  int a, b, c;  // tokens of the pattern; `app` has no C
  int digit;    // token of digit 0, `text`

  ShiftPattern(const pes_use& use, const pes::Values& v)
      : variant(v.is("variant", "app")    ? Variant::app
                : v.is("variant", "text") ? Variant::text
                                          : Variant::strict),
        first(variant == Variant::app ? 0 : PES_FIRST_SYMBOL),
        filler(variant == Variant::app ? symbols - 2 : symbols - pattern),
        a(first + filler),
        b(a + 1),
        c(a + 2),
        digit(first + symbols) {
    const bool text = variant == Variant::text;
    inputs = text ? digit + 10 : first + symbols;
    outputs = text ? inputs : 2;
    head = text ? PES_LM : PES_CLS;
    determined = true;
    axes = {text ? &all_trained : &start_trained};
    if (variant == Variant::strict) shortcuts = {&position_of_c};
    if (variant == Variant::app) shortcuts = {&bag_of_tokens};
    if (text) shortcuts = {&pattern_is_near};
    if (text && use.max_length - tail > 1002)
      throw pes::Refusal("variant=text names the place with three digits, so lengths end at " +
                         std::to_string(1002 + tail) + ", not " + std::to_string(use.max_length));
  }

  int problem_length(int length) const {
    return variant == Variant::text ? std::max(0, length - tail) : length;
  }

  Window window(const pes::Request& r, int n) const {
    if (r.draws(0)) return variant == Variant::text ? Window{0, n - pattern} : Window{2, 9};
    const double w = r.axis(0);
    if (w == 0) return {2, 9};
    if (w == 1) return {n / 2 - 4, n / 2 + 3};
    if (w == 2) return variant == Variant::app ? Window{n - 10, n - 3} : Window{n - 11, n - 4};
    throw pes::Refusal("axis window has the values 0 (start), 1 (mid) and 2 (end) only");
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, variant == Variant::text ? 13 + tail : 13,
                   "the three windows must lie inside the sequence");
    const int n = problem_length(r.length);
    const Window w = window(r, n);
    const std::span<std::int32_t> x = e.tokens.first(n);
    draw_uniform(random, x, first, filler);
    const int start = random.between(w.low, w.high);
    const std::span<std::int32_t> at = x.subspan(start);
    switch (variant) {
      case Variant::strict: put(at, draw_places(random)); break;
      case Variant::app:
        if (coin(random)) {
          at[0] = a;
          at[1] = b;
        }
        break;
      case Variant::text:
        put(at, in_order);
        ask(e.tokens, start);
        break;
    }
    oracle(e.tokens, e.targets);
  }
  static Places draw_places(pes::Random& random) {
    if (coin(random)) return in_order;
    return coin(random) ? with_gap[random.below(2)] : other_orders[random.below(5)];
  }
  void put(std::span<std::int32_t> at, const Places& places) const {
    for (std::size_t i = 0; i < places.size(); ++i) at[places[i]] = a + static_cast<int>(i);
  }

  std::array<std::int32_t, answer_length> answer(int start) const {
    const auto d = digits(start);
    return {digit + d[0], digit + d[1], digit + d[2], PES_EOS};
  }
  void ask(std::span<std::int32_t> tokens, int start) const {
    const auto words = answer(start);
    tokens[tokens.size() - tail] = PES_ASK;
    std::copy(words.begin(), words.end(), tokens.end() - answer_length);
  }

  void oracle(Tokens tokens, Targets targets) const {
    const Tokens x = tokens.first(problem_length(static_cast<int>(tokens.size())));
    const auto at = std::find(x.begin(), x.end(), a);
    const auto has = [&](std::ptrdiff_t offset, int token) {
      return x.end() - at > offset && at[offset] == token;
    };
    switch (variant) {
      case Variant::strict: return score_last(targets, has(1, b) && has(2, c) ? 1 : 0);
      case Variant::app: return score_last(targets, has(1, b) ? 1 : 0);
      case Variant::text: return score_answer(targets, answer(static_cast<int>(at - x.begin())));
    }
  }

  pes::Chance chance_at(const pes::Request& r) const {
    if (variant != Variant::text) return {0.5, 0.5};
    const Window w = window(r, problem_length(r.length));
    const double each = 1.0 / (w.high - w.low + 1);
    std::vector<double> law(w.high + 1);
    std::fill(law.begin() + w.low, law.end(), each);
    return {(digits_guessed(law) + 1) / answer_length, each};  // EOS is certain
  }
  double distinct(int length) const {  // in the training window
    const int n = problem_length(length), offsets = 9 - 2 + 1;
    const int places = 1 + static_cast<int>(other_orders.size() + with_gap.size());
    switch (variant) {
      case Variant::strict:
        return (n - pattern) * std::log10(filler) + std::log10(offsets * places);
      case Variant::app:
        return n * std::log10(filler) + std::log10(1 + offsets / std::pow(filler, 2));
      case Variant::text: return (n - pattern) * std::log10(filler) + std::log10(n - pattern + 1);
    }
    return 0;
  }
};

}  // namespace

extern const pes_task shift_pattern = pes::task<ShiftPattern>;
