// A number is said once somewhere in a long text that says nothing, and asked for at the end
// (Mohtashami & Jaggi 2023, "Landmark attention", section 4.2):
//
//   BOS, filler, KEY d1 .. dk KEY, filler, ASK, d1 .. dk, EOS
#include "filler.h"

namespace {

using namespace retrieval;

constexpr int key_token = filler0 + filler_words, digit0 = key_token + 1;

// Of fewer digits, as where `least` is below `digits`, a guess is right more often.
constexpr pes_shortcut digits_seen(bool shorter) {
  return {sizeof(pes_shortcut), "bag", shorter ? 0.31 : 0.25,
          "the digits of the number are the only ones in the text, so one of them is the next"};
}
constexpr pes_shortcut number_is_near = {
    sizeof(pes_shortcut), "window", 0.18,
    "at depth 1 the number stands right before the question: one example in eleven"};

struct Passkey : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("digits", "5", 1, 9, "of the number"),
      pes::integer("least", "0", 0, 9,
                   "numbers have from `least` to `digits` digits, each equally often; 0: all have "
                   "`digits`")};
  static constexpr pes_card card =
      pes::card<Passkey>({.name = "passkey",
                          .summary = "repeats a number that was said once in a long text",
                          .taxonomy = "retrieval",
                          .paper = "Mohtashami & Jaggi 2023, arXiv:2305.16300"});

  int least, most;  // digits
  pes_shortcut bag{};

  Passkey(const pes_use&, const pes::Values& v)
      : least(static_cast<int>(v.integer("least"))), most(static_cast<int>(v.integer("digits"))) {
    if (least == 0) least = most;
    if (least > most)
      throw pes::Refusal("least=" + std::to_string(least) +
                         " digits are more than digits=" + std::to_string(most));
    inputs = outputs = digit0 + 10;
    head = PES_LM;
    determined = true;
    axes = {&depth_axis};
    bag = digits_seen(least < most);
    shortcuts = {&bag, &number_is_near};
    candidate_first = digit0;
    candidates = 10;
  }

  static int filler_length(int length, int digits) { return length - 5 - 2 * digits; }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    require_length(r.length, 5 + 2 * most + 1, "the number twice, its marks and a word of text");
    const double depth = depth_of(r, 0, random);
    const std::vector<std::int32_t> number = draw_number(r.split, random);
    const auto digits = number.size();
    const std::size_t filler = filler_length(r.length, static_cast<int>(digits));
    const std::size_t before = rounded(depth * static_cast<double>(filler));
    Filler text(random);
    std::int32_t* out = e.tokens.data();
    const auto put = [&](std::int32_t token) { *out++ = token; };
    const auto put_text = [&](std::size_t words) {
      text.write({out, words});
      out += words;
    };
    put(PES_BOS);
    put_text(before);
    put(key_token);
    out = std::copy(number.begin(), number.end(), out);
    put(key_token);
    put_text(filler - before);
    put(PES_ASK);
    out = std::copy(number.begin(), number.end(), out);
    put(PES_EOS);
    score_tokens(e.targets, e.tokens, e.tokens.size() - 1 - digits, digits);
  }
  // Numbers of the test split never occur in training, which has all of one digit.
  std::vector<std::int32_t> draw_number(pes_split split, pes::Random& random) const {
    constexpr int divisible = static_cast<int>(log10_divisible);
    const int low = split == PES_SPLIT_TRAIN ? least : std::max(least, std::min(divisible, most));
    std::vector<std::int32_t> number(random.between(low, most));
    do draw_uniform(random, number, digit0, 10);
    while (std::ssize(number) >= divisible && !belongs_to(split, pes::hash64(card.name), number));
    return number;
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto ask = std::find(tokens.begin(), tokens.end(), PES_ASK);
    const auto open = std::find(tokens.begin(), tokens.end(), key_token);
    const auto close = std::find(open + 1, tokens.end(), key_token);
    if (ask != tokens.end() && close != tokens.end())
      std::copy(open + 1, close, targets.begin() + (ask - tokens.begin()));
  }

  pes::Chance chance_at(const pes::Request&) const {
    return {.1, std::pow(.1, least) / (most - least + 1)};
  }
  double distinct(int length) const {  // numbers, phases of the filler, depths
    std::vector<double> of_digits;
    for (int k = least; k <= most; ++k)
      of_digits.push_back(
          k +
          std::log10(filler_words * std::min<double>(filler_length(length, k) + 1, depths.size())));
    return log10_sum(of_digits);
  }
};

}  // namespace

extern const pes_task passkey = pes::task<Passkey>;
