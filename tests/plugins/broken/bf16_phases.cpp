// Two encodings whose phases have eight bits of mantissa: 'phases' must catch both.
#include <pesuite/pesuite.hpp>

#include <bit>

namespace {

double bf16(double x) {  // rounded to nearest, ties to even
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
}

double frequency(std::int64_t r, std::int64_t n) {
  return std::pow(10000.0, -static_cast<double>(r) / static_cast<double>(n));
}

// Positions as bf16, the way an arange in the model's type makes them: exact up to 256.
struct RoundedRotation : pes::Encoding {
  static constexpr pes_card card =
      pes::card<RoundedRotation>({.name = "rounded_rotation",
                                  .summary = "rotary, from positions rounded to bf16",
                                  .taxonomy = "fixed"});
  std::int64_t pairs;
  pes::Tensor cos, sin;
  RoundedRotation(const pes_model& m, const pes::Values&) : pairs(m.head_dim / 2) {
    if (m.head_dim % 2 != 0) throw pes::Refusal("needs an even head size");
  }
  void begin(const pes::Step& s) {
    const auto angle = [&](auto t, auto r) {
      return bf16(static_cast<double>(s.offset + t)) * frequency(r, pairs);
    };
    cos = s.table({s.length, pairs}, [&](auto t, auto r) { return std::cos(angle(t, r)); });
    sin = s.table({s.length, pairs}, [&](auto t, auto r) { return std::sin(angle(t, r)); });
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = rotate(a.q, cos, sin);
    a.k = rotate(a.k, cos, sin);
  }
};

// Sines of the position, the position rounded to bf16.
struct RoundedSines : pes::Encoding {
  static constexpr pes_card card =
      pes::card<RoundedSines>({.name = "rounded_sines",
                               .summary = "adds sines of positions rounded to bf16",
                               .taxonomy = "fixed"});
  std::int64_t width;
  explicit RoundedSines(const pes_model& m, const pes::Values&) : width(m.width) {}
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    return x + s.table({s.length, width}, [&](auto t, auto c) {
      return std::sin(bf16(static_cast<double>(s.offset + t)) * frequency(c, width));
    });
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<RoundedRotation>,
                                             &pes::encoding<RoundedSines>, nullptr};

}  // namespace

PES_LIBRARY("bf16_phases", "1.0.0", "MIT", encodings, nullptr);
