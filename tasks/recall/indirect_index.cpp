// Which letter stands so many places before or behind that one? BOS, distinct letters, SEP, a
// letter, SEP, an offset, the answer (Gopalakrishnan et al. 2025, "Decoupling the what and where
// with polar coordinate positional embeddings", section 4.1).
#include "examples.h"

namespace {

using namespace tasks;

constexpr int largest_offset = 15, offsets = 2 * largest_offset + 1;
constexpr int around = 6;  // BOS, SEP, letter, SEP, offset, answer

struct IndirectIndex : pes::Task {
  static constexpr pes_option options[] = {
      pes::integer("letters", "52", 4, 4096, "size of the alphabet"),
      pes::integer("least", "8", 4, 4096, "letters of the shortest string in training")};
  static constexpr pes_card card =
      pes::card<IndirectIndex>({.name = "indirect_index",
                                .summary = "finds a letter by its distance from another letter",
                                .taxonomy = "relative position",
                                .paper = "Gopalakrishnan et al. 2025, arXiv:2509.10534"});

  int letters, least, train_length;
  int offset0;  // token of offset -15
  pes_shortcut letters_seen;

  IndirectIndex(const pes_use& use, const pes::Values& v)
      : letters(static_cast<int>(v.integer("letters"))),
        least(static_cast<int>(v.integer("least"))),
        train_length(use.train_length),
        offset0(PES_FIRST_SYMBOL + letters),
        letters_seen{sizeof(pes_shortcut), "bag", 1.0 / least,
                     "the answer is one of the letters that were seen"} {
    if (use.train_length < least + around)
      throw pes::Refusal("a training length of " + std::to_string(use.train_length) +
                         " holds no string of " + std::to_string(least) + " letters; that takes " +
                         std::to_string(least + around));
    if (letters < least)
      throw pes::Refusal("the shortest string has " + std::to_string(least) +
                         " distinct letters (option least), but there are " +
                         std::to_string(letters) + "; raise letters, or lower least");
    inputs = outputs = offset0 + offsets;
    head = PES_LM;
    determined = true;
    shortcuts = {&letters_seen};
  }

  struct Range {
    int low, high;
  };
  // Lengths of the string: drawn in training, filling longer examples.
  Range strings(int length) const {
    require_length(length, least + around, "the shortest string and a question");
    const int most = std::min(length - around, letters);
    if (length > train_length && length - around > letters)
      throw pes::Refusal("length " + std::to_string(length) + " asks for a string of " +
                         std::to_string(length - around) + " distinct letters, but there are " +
                         std::to_string(letters) + "; raise the option letters");
    return {length > train_length ? most : least, most};
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const Range range = strings(r.length);
    const int n = random.between(range.low, range.high);
    const std::size_t size = n;
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    const auto string = e.tokens.subspan(1, size);
    draw_distinct(random, string, PES_FIRST_SYMBOL, letters);
    int source = 0, answer = 0;
    do {  // pairs that stay inside the string, each as likely
      source = random.between(0, n - 1);
      answer = source + random.between(-largest_offset, largest_offset);
    } while (answer < 0 || answer >= n);
    e.tokens[0] = PES_BOS;
    e.tokens[1 + size] = PES_SEP;
    e.tokens[2 + size] = string[source];
    e.tokens[3 + size] = PES_SEP;
    e.tokens[4 + size] = offset0 + largest_offset + answer - source;
    e.tokens[5 + size] = string[answer];
    score_tokens(e.targets, e.tokens, 5 + size, 1);
  }

  void oracle(Tokens tokens, Targets targets) const {
    std::fill(targets.begin(), targets.end(), unscored);
    const auto n = std::find(tokens.begin(), tokens.end(), PES_SEP) - tokens.begin() - 1;
    if (n + around > std::ssize(tokens)) return;
    const Tokens string = tokens.subspan(1, n);
    const Tokens question = tokens.subspan(2 + string.size());
    const auto source = std::find(string.begin(), string.end(), question[0]) - string.begin();
    const auto answer = source + question[2] - offset0 - largest_offset;
    if (answer >= 0 && answer < n) targets[4 + string.size()] = string[answer];
  }

  double chance(int) const { return 1.0 / letters; }
  double distinct(int length) const {
    std::vector<double> all;
    const Range range = strings(length);
    for (int n = range.low; n <= range.high; ++n) {
      int pairs = 0;
      for (int i = 0; i < n; ++i)
        pairs += std::min(n - 1, i + largest_offset) - std::max(0, i - largest_offset) + 1;
      all.push_back(log10_samples(letters, n) + std::log10(pairs));
    }
    return log10_sum(all);
  }
};

}  // namespace

extern const pes_task indirect_index = pes::task<IndirectIndex>;
