// xPos, Sun et al. 2022, section 3: RoPE whose pairs also decay with the distance,
//   q'_n = zeta^((n-c)/B) R(n) q,  k'_m = zeta^-((m-c)/B) R(m) k,
// zeta_r = (2r + gamma R)/((1 + gamma) R) for pair r, so that q'.k' has zeta^((n-m)/B). The centre
// c cancels; it keeps both sides of the product small.
#include "rotary.h"

namespace {

struct Xpos : rotary::Rotary<Xpos> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout_of("interleaved"),
      rotary::option::features,
      pes::real("scale_base", "512", 1e-3, 1e9, "distance B over which pair r shrinks by zeta_r"),
      pes::real("gamma", "0.4", 1e-3, 1e3, "larger: pairs decay more alike"),
      pes::choice("centre", "torchscale", "torchscale|lucidrains",
                  "c of T tokens: ceil(T/2), or floor(T/2)"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<Xpos>(
      {.name = "xpos",
       .summary = "RoPE whose products decay exponentially with the distance, fast pairs sooner",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "RetNet, torchscale",
       .paper = "Sun et al. 2022, arXiv:2212.10554",
       .bibtex = "@inproceedings{sun2023length, title={A Length-Extrapolatable Transformer}, "
                 "author={Sun, Yutao and Dong, Li and Patra, Barun and Ma, Shuming and Huang, "
                 "Shaohan and Benhaim, Alon and Chaudhary, Vishrav and Song, Xia and Wei, Furu}, "
                 "booktitle={ACL}, year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE,
       .cost = "minimal",
       .rating = "good (Sun et al. 2022)",
       .extension = "2-4x (Sun et al. 2022)",
       .use_if = "attention should fade with the distance|RoPE is wanted with better "
                 "extrapolation, trained from scratch",
       .tune = "base=0|scale_base=64"});

  double base, scale_base, gamma;
  bool round_up, resonance;
  std::int64_t length = 0;  // of the rows of grow and shrink
  pes::Table grow, shrink;
  pes::Tensor q_cos, q_sin, k_cos, k_sin;

  Xpos(const pes_model& m, const pes::Values& v)
      : Rotary(m, v),
        base(pes::base_of(m, v)),
        scale_base(v.real("scale_base")),
        gamma(v.real("gamma")),
        round_up(v.is("centre", "torchscale")),
        resonance(v.flag("resonance")) {}

  rotary::Angles angles(std::int64_t) const { return {rotary::powers(base, R), 1, resonance}; }
  double decay(std::int64_t place, std::int64_t r, double sign) const {
    const auto width = static_cast<double>(R);
    const double zeta = (2 * static_cast<double>(r) + gamma * width) / ((1 + gamma) * width);
    const std::int64_t centre = (length + (round_up ? 1 : 0)) / 2;
    return std::pow(zeta, sign * static_cast<double>(place - centre) / scale_base);
  }
  void begin(const pes::Step& s) {
    Rotary::begin(s);
    if (length != s.length) {  // another centre
      grow = shrink = {};
      length = s.length;
    }
    const std::int64_t n = R / 2;
    const auto upload = [&](pes::Table& table, double sign) {
      return s.upload({length, n}, table.extend(length, n, [&](auto place, auto r) {
        return decay(place, r, sign);
      }));
    };
    const pes::Tensor of_q = upload(grow, 1), of_k = upload(shrink, -1);
    q_cos = cos * of_q, q_sin = sin * of_q;
    k_cos = cos * of_k, k_sin = sin * of_k;
  }
  // Scores are the same with another centre, keys are not.
  bool stale(int from, int to) const { return from != to; }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = rotate(a.q, q_cos, q_sin, pairs);
    a.k = rotate(a.k, k_cos, k_sin, pairs);
    scaling.act(a);
  }
};

}  // namespace

extern const pes_encoding xpos = pes::encoding<Xpos>;
