// The text around what has to be found: a loop of thirty words that says nothing, and how deep in
// it something is put.
#pragma once

#include <array>

#include "examples.h"

namespace retrieval {

using namespace tasks;

inline constexpr int filler_words = 30;  // five sentences of six
inline constexpr int filler0 = PES_FIRST_SYMBOL;

// Word after word of the loop. Where it starts is drawn, so that a word is no code of its position.
class Filler {
 public:
  explicit Filler(pes::Random& random) : next_(static_cast<int>(random.below(filler_words))) {}
  void write(std::span<std::int32_t> out) {
    for (std::int32_t& x : out) {
      x = filler0 + next_;
      next_ = (next_ + 1) % filler_words;
    }
  }

 private:
  int next_;
};

// Share of the filler that stands before what has to be found.
inline constexpr std::array<double, 11> depths = {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1};
inline constexpr pes_axis depth_axis = {sizeof(pes_axis),
                                        "depth",
                                        "share",
                                        "share of the text that stands before what is asked for",
                                        depths.data(),
                                        nullptr,
                                        static_cast<int>(depths.size()),
                                        static_cast<int>(depths.size())};

// The depth that axis `axis` asks for, or one of the eleven.
inline double depth_of(const pes::Request& r, int axis, pes::Random& random) {
  if (r.draws(axis)) return depths[random.below(static_cast<std::uint32_t>(depths.size()))];
  const double depth = r.axis(axis);
  if (!(depth >= 0 && depth <= 1))
    throw pes::Refusal("axis depth is a share from 0 to 1, not " + number_text(depth));
  return depth;
}

// x >= 0 to the next whole number, halves upwards, without libm.
constexpr int rounded(double x) {
  return static_cast<int>(x + .5);
}

}  // namespace retrieval
