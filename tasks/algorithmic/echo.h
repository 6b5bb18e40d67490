// What copy and reverse have in common: random items that are written down again, in some order.
#pragma once

#include <set>

#include "written.h"

namespace algorithmic {

// How far counts go: an item that was read more often than written is likelier to come.
inline constexpr const char* unwritten =
    "what was read more often than written is likelier to come";
inline constexpr pes_shortcut bag_of_letters = {sizeof(pes_shortcut), "bag", .12, unwritten},
                              bag_of_both = {sizeof(pes_shortcut), "bag", .16, unwritten},
                              bag_of_bits = {sizeof(pes_shortcut), "bag", .55, unwritten};

template <class T>
class Echo : public Written<T> {
 public:
  static constexpr bool split_by_answer = false;
  static constexpr pes_option options[] = {
      pes::choice("content", "letters", "letters|bits|mixed",
                  "26 letters; 2 symbols; 10 digits or 26 letters, one kind an example"),
      pes::integer("least", "1", 1, 65536, "items of the smallest problem"),
      pes::integer("unique", "0", 0, 2,
                   "1: no item occurs twice; 2: no two neighbours occur twice; 0: anything goes")};

  Echo(const pes_use& use, const pes::Values& v) : unique(static_cast<int>(v.integer("unique"))) {
    const bool bits = v.is("content", "bits"), mixed = v.is("content", "mixed");
    if (mixed)
      this->declare(use, v, this->digits_and_letters());
    else
      this->declare(use, v, {{PES_FIRST_SYMBOL, bits ? 2 : 26}});
    this->shortcuts = {bits ? &bag_of_bits : mixed ? &bag_of_both : &bag_of_letters};
  }

  void draw(pes::Random& random, std::span<std::int32_t> x, Alphabet a) const {
    if (unique == 0) return draw_uniform(random, x, a.first, a.count);
    if (unique == 1) return draw_distinct(random, x, a.first, a.count);
    std::set<std::pair<std::int32_t, std::int32_t>> seen;
    for (std::size_t i = 0; i < x.size(); ++i) do
        draw_uniform(random, x.subspan(i, 1), a.first, a.count);
      while (i > 0 && !seen.insert({x[i - 1], x[i]}).second);
  }
  // No symbol is special, so that each item alone is uniform, repetitions or not.
  void law(BlindGuess& guess, Sized::Range range, Alphabet a, double share) const {
    for (int rank = 0; rank < range.high; ++rank)
      for (int s = 0; s < a.count; ++s)
        guess.add(rank, a.first + s, share * this->share_beyond(range, rank) / a.count);
  }
  double log10_likeliest(Sized::Range range, Alphabet a) const {
    if (unique == 2 && range.low > 2) return std::nan("");
    return -log10_inputs(range.low, a);
  }
  double log10_inputs(int n, Alphabet a) const {
    return unique == 1 ? log10_samples(a.count, n) : n * std::log10(a.count);
  }

  int unique;

 private:
  void declare(const pes_use& use, const pes::Values& v, std::vector<Alphabet> contents) {
    int most = std::numeric_limits<int>::max();
    if (unique > 0)  // a symbol has as many successors as there are symbols: nobody gets stuck
      for (const Alphabet& a : contents) most = std::min(most, a.count);
    this->declare_sizes(use, static_cast<int>(v.integer("least")), {2, this->tokens_around},
                        "items", "items of the problem", most);
    this->declare_contents(std::move(contents));
  }
};

}  // namespace algorithmic
