// ALiBi, Press et al. 2021, section 3: the score of (i, j) gets -m (i - j), m fixed per head.
#include <pesuite/pesuite.hpp>

namespace {

// m_h = 2^(-8(h+1)/H) for a power of two. Otherwise the slopes of the next lower power, then every
// other slope of the next higher one.
double slope(int h, int H) {
  int power = 1;
  while (2 * power <= H) power *= 2;
  if (h < power) return std::exp2(-8.0 * (h + 1) / power);
  return std::exp2(-8.0 * (2 * (h - power) + 1) / (2 * power));
}

struct Alibi : pes::Encoding {
  static constexpr pes_card card = pes::card<Alibi>(
      {.name = "alibi",
       .summary = "lowers scores in proportion to the distance, at a fixed slope for each head",
       .taxonomy = "relative, fixed, bias",
       .used_in = "BLOOM, MPT",
       .paper = "Press et al. 2021, arXiv:2108.12409",
       .bibtex = "@inproceedings{press2022train, title={Train Short, Test Long: Attention with "
                 "Linear Biases Enables Input Length Extrapolation}, author={Press, Ofir and "
                 "Smith, Noah A. and Lewis, Mike}, booktitle={ICLR}, year={2022}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_MONOTONE_DECAY |
                 PES_UNBOUNDED});

  int heads;
  pes::Tensor distance;

  Alibi(const pes_model& m, const pes::Values&) : heads(m.heads) {}
  void begin(const pes::Step& s) {
    distance = s.table({heads, s.offset + s.length}, [&](auto h, auto d) {
      return -slope(static_cast<int>(h), heads) * static_cast<double>(d);
    });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

}  // namespace

extern const pes_encoding alibi = pes::encoding<Alibi>;
