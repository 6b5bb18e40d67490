// A list of words, and at its end the question which of them it has most often; after Hsieh et al.
// 2024, "RULER", section 3.3:
//
//   common    four words stand in it six times, all others twice; in order of first appearance
//   frequent  the word of rank k is drawn with a probability that falls as k^-2; the first three,
//             the most frequent one first
#include <array>
#include <map>

#include "corpus/categorical.h"
#include "examples.h"

namespace {

using namespace tasks;

constexpr int word0 = PES_FIRST_SYMBOL;
constexpr int common = 4, often = 6, seldom = 2, frequent = 3;

constexpr pes_shortcut words_counted = {sizeof(pes_shortcut), "bag", .35,
                                        "counts tell which words are asked for, not which first"},
                       last_words = {sizeof(pes_shortcut), "window", .40,
                                     "the most frequent words are among the last ones, too"};

struct CommonWords : pes::Task {
  static constexpr pes_option options[] = {
      pes::choice("variant", "common", "common|frequent",
                  "four words that stand there thrice as often as others; the three most frequent "
                  "of a law that falls"),
      pes::integer("words", "256", 16, 65536, "size of the vocabulary")};
  static constexpr pes_card card =
      pes::card<CommonWords>({.name = "common_words",
                              .summary = "names the words that a list has most often",
                              .taxonomy = "aggregation",
                              .paper = "Hsieh et al. 2024, arXiv:2404.06654"});

  bool falls;
  int words;
  corpus::Categorical ranks;

  CommonWords(const pes_use& use, const pes::Values& v)
      : falls(v.is("variant", "frequent")),
        words(static_cast<int>(v.integer("words"))),
        ranks(falling(words)) {
    inputs = outputs = word0 + words;
    head = PES_LM;
    determined = true;
    shortcuts = {&words_counted, &last_words};
    list_length(use.train_length);
  }
  // Probabilities k^-2, normalised.
  static corpus::Categorical falling(int words) {
    double sum = 0, below = 0;
    for (int k = 1; k <= words; ++k) sum += 1.0 / k / k;
    std::vector<std::uint64_t> ends;
    for (int k = 1; k <= words; ++k) {
      below += 1.0 / k / k;
      ends.push_back(pes::probability(below / sum));
    }
    ends.back() = std::uint64_t{1} << 32;
    return corpus::Categorical(std::move(ends));
  }

  int answers() const { return falls ? frequent : common; }
  // Words of the list, between BOS and ASK.
  int list_length(int length) const {
    require_length(length, falls ? 24 : common * often + 2 * seldom + common + 2,
                   "a list in which some words are more frequent than others");
    const int n = length - 2 - answers(), others = (n - common * often) / seldom;
    if (!falls && common + others > words)
      throw pes::Refusal("length " + std::to_string(length) + " asks for a list of " +
                         std::to_string(common + others) + " words, but there are " +
                         std::to_string(words) + "; raise the option words");
    return falls ? n : common * often + others * seldom;
  }

  // Words that may be asked for, each with its count and the place where it is read first.
  struct Counted {
    std::int32_t word;
    int count, first;
  };
  // The most frequent ones first; of those that are as frequent, the earlier.
  static std::vector<Counted> counted(Tokens list) {
    std::map<std::int32_t, Counted> all;
    for (std::size_t i = 0; i < list.size(); ++i)
      ++all.try_emplace(list[i], Counted{list[i], 0, static_cast<int>(i)}).first->second.count;
    std::vector<Counted> out;
    for (const auto& [word, c] : all) out.push_back(c);
    std::sort(out.begin(), out.end(), [](const Counted& a, const Counted& b) {
      return a.count != b.count ? a.count > b.count : a.first < b.first;
    });
    return out;
  }
  std::vector<std::int32_t> answer(Tokens list) const {
    std::vector<std::int32_t> out;
    for (const Counted& c : counted(list))
      if (std::ssize(out) < answers()) out.push_back(c.word);
    return out;
  }
  // Whether the first ones and no others are the answer, and in no other order.
  bool is_clear(Tokens list) const {
    const std::vector<Counted> c = counted(list);
    for (std::size_t i = 0; i < frequent; ++i)
      if (i + 1 >= c.size() || c[i].count == c[i + 1].count) return false;
    return true;
  }

  void sample(const pes::Request& r, pes::Random& random, pes::Example& e) const {
    const auto list = e.tokens.subspan(1, static_cast<std::size_t>(list_length(r.length)));
    std::fill(e.tokens.begin(), e.tokens.end(), PES_PAD);
    e.tokens[0] = PES_BOS;
    if (falls) do
        write_falling(random, list);
      while (!is_clear(list));
    else
      write_common(random, list);
    const std::size_t ask = 1 + list.size();
    e.tokens[ask] = PES_ASK;
    const std::vector<std::int32_t> said = answer(list);
    std::copy(said.begin(), said.end(), e.tokens.begin() + static_cast<std::ptrdiff_t>(ask) + 1);
    score_tokens(e.targets, e.tokens, ask + 1, said.size());
  }
  void write_common(pes::Random& random, std::span<std::int32_t> list) const {
    const auto others = (list.size() - common * often) / seldom;
    std::vector<std::int32_t> word(common + others), order(list.size());
    draw_distinct(random, word, word0, words);
    draw_distinct(random, order, 0, static_cast<int>(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto rank = static_cast<std::size_t>(order[i]);
      list[i] = rank < common * often ? word[rank / often]
                                      : word[common + (rank - common * often) / seldom];
    }
  }
  void write_falling(pes::Random& random, std::span<std::int32_t> list) const {
    std::vector<std::int32_t> word(static_cast<std::size_t>(words));
    draw_distinct(random, word, word0, words);
    for (std::int32_t& x : list) x = word[ranks.draw(random)];
  }

  void oracle(Tokens tokens, Targets targets) const {
    const auto ask =
        static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), PES_ASK) - tokens.begin());
    std::fill(targets.begin(), targets.end(), unscored);
    if (ask < 1 || ask >= tokens.size()) return;
    pes::score_from(targets, ask, answer(tokens.subspan(1, ask - 1)));
  }

  // No word is special.
  pes::Chance chance_at(const pes::Request&) const {
    return {1.0 / words, std::pow(10, -log10_samples(words, answers()))};
  }
  // At least: by the words that are asked for.
  double distinct(int length) const {
    return log10_samples(words,
                         falls ? frequent + 1 : std::min(words, list_length(length) / often));
  }
};

}  // namespace

extern const pes_task common_words = pes::task<CommonWords>;
