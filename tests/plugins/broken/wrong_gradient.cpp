// Two encodings whose values are sound and whose gradients are not: 'gradients' must catch both.
#include <pesuite/pesuite.hpp>

namespace {

// x without its gradient: the part of x above 2^-30, which floor cuts off.
pes::Tensor detached(pes::Tensor x) {
  constexpr double fine = 1 << 30;
  return floor(x * fine) / fine;
}

// A bias that depends on q, and a backward pass that does not know it.
struct DetachedBias : pes::Encoding {
  static constexpr pes_card card =
      pes::card<DetachedBias>({.name = "detached_bias",
                               .summary = "a slope for each query, detached from the query",
                               .taxonomy = "fixed"});
  pes::Param strength;
  DetachedBias(const pes_model& m, const pes::Values&)
      : strength(param("strength", {m.heads, 1, 1}, pes::constant(0.5))) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor slope = detached(sigmoid(sum(a.q, -1)));  // [B, H, T, 1]
    const pes::Tensor j =
        s.table({1, s.length}, [](auto, auto d) { return static_cast<double>(d) / 8; });
    a.bias = s[strength] * slope * j;
  }
};

// Declares a slope, and uses the start value that it handed out instead: nothing is ever trained.
struct FrozenSlope : pes::Encoding {
  static constexpr pes_card card =
      pes::card<FrozenSlope>({.name = "frozen_slope",
                              .summary = "a slope that is declared and never read",
                              .taxonomy = "fixed"});
  static constexpr double start = 0.25;
  pes::Param slope;
  pes::Tensor distance;
  FrozenSlope(const pes_model& m, const pes::Values&)
      : slope(param("slope", {m.heads, 1}, pes::constant(start))) {}
  void begin(const pes::Step& s) {
    distance = s.table({1, s.offset + s.length},
                       [](auto, auto d) { return -start * static_cast<double>(d); });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<DetachedBias>,
                                             &pes::encoding<FrozenSlope>, nullptr};

}  // namespace

PES_LIBRARY("wrong_gradient", "1.0.0", "MIT", encodings, nullptr);
