// Positions of one step that an encoding may choose itself: 0 .. T-1, a list, or a random draw.
#pragma once

#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <string>
#include <vector>

struct Positions {
  static constexpr pes_option list_option =
      pes::reals("positions", "[]", 0, 1 << 24,
                 "whole, increasing positions of the first tokens instead of 0, 1, 2, ...; they "
                 "must reach as far as the longest sequence");
  static constexpr pes_option random_option =
      pes::integer("random_positions", "0", 0, 1 << 24,
                   "draw the positions of each pass from 0 .. this - 1, without repetition, and "
                   "sort them (Ruoss et al. 2023), in training and evaluation; 0: do not");

  std::vector<double> list;
  std::int64_t below;

  explicit Positions(const pes::Values& v)
      : list(v.reals("positions")), below(v.integer("random_positions")) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] != std::floor(list[i]) || (i > 0 && list[i] <= list[i - 1]))
        throw pes::Refusal("option 'positions' wants whole numbers, each larger than the last");
    if (!list.empty() && below > 0)
      throw pes::Refusal("options 'positions' and 'random_positions' exclude each other");
  }

  // Of the tokens of one step, increasing.
  std::vector<double> of(const pes::Step& s) const {
    const std::int64_t end = s.offset + s.length;
    const std::int64_t limit = list.empty() ? below : static_cast<std::int64_t>(list.size());
    if (limit > 0 && limit < end)
      throw pes::Refusal("a sequence of " + std::to_string(end) + " tokens needs as many of the " +
                         std::to_string(limit) + " positions that the options allow");
    std::vector<double> all = list;
    if (below > 0) draw(s.seed, end, all);
    for (std::int64_t n = 0; limit == 0 && n < end; ++n) all.push_back(static_cast<double>(n));
    return {all.begin() + s.offset, all.begin() + end};
  }

 private:
  // Each set of `count` of the numbers 0 .. below-1 is equally likely (Knuth's algorithm S).
  void draw(std::uint64_t seed, std::int64_t count, std::vector<double>& out) const {
    pes::Random random(seed, pes::purpose("positions"), 0);
    for (std::int64_t n = 0; count > 0; ++n)
      if (random.below(static_cast<std::uint32_t>(below - n)) < count) {
        out.push_back(static_cast<double>(n));
        --count;
      }
  }
};
