// GRAPE-M, Zhang et al. 2025, section 3.1: a position acts as exp(n L) with a learned generator L.
// In commuting planes, those of RoPE, it is RoPE with learned frequencies. With `contextual`, as
// the authors' code has it, a token's position is what gates have let pass before it:
//   Phi_t = w_1 + .. + w_(t-1),  w_t = sigmoid((x_t W + b) / slow),  angle_tr = Phi_t theta_r
#include "contextual.h"

namespace {

struct GrapeM : pes::Encoding {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      pes::choice("heads", "shared", "shared|own",
                  "one set of frequencies for all heads of a layer, or one for each"),
      pes::flag("contextual", "false", "positions are sums of gates that read the layer's input"),
      pes::real("slow", "16", 1e-3, 1e6,
                "how many times smaller a step of the optimizer is for what is learned: the "
                "logarithms of frequencies, or with contextual the gates")};
  static constexpr pes_card card = pes::card<GrapeM>(
      {.name = "grape_m",
       .summary = "RoPE with learned frequencies, or also with positions by content (GRAPE-M)",
       .taxonomy = "relative, learned, multiplicative",
       .paper = "Zhang et al. 2025, arXiv:2512.07805",
       .bibtex = "@inproceedings{zhang2026grape, title={Group Representational Position Encoding}, "
                 "author={Zhang, Yifan and Chen, Zixiang and Liu, Yifeng and Qin, Zhen and Yuan, "
                 "Huizhuo and Xu, Kangping and Yuan, Yang and Gu, Quanquan and Yao, Andrew "
                 "Chi-Chih}, booktitle={ICLR}, year={2026}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .use_if = "training should find the wavelengths",
       .tune = "base=0"});

  std::int64_t R, sets;
  bool contextual;
  double slow;
  pes_pairs pairs;
  pes::Param log_theta, w, b;
  pes::Table counts;
  pes::Tensor places;  // [T, 1]

  GrapeM(const pes_model& m, const pes::Values& v)
      : R(rotary::turned(m, v)),
        sets(v.is("heads", "own") ? m.kv_heads : 1),
        contextual(v.flag("contextual")),
        slow(v.real("slow")),
        pairs(rotary::pairs_of(v)) {
    const double logarithm = std::log(pes::base_of(m, v)), times = contextual ? 1 : slow;
    const std::int64_t n = R / 2, of = R;
    log_theta =
        param("log_theta", {m.layers, sets, 1, n}, [=, r = std::int64_t{0}](pes::Random&) mutable {
          return -2.0 * static_cast<double>(r++ % n) / static_cast<double>(of) * logarithm * times;
        });
    if (!contextual) return;
    w = param("w", {m.layers, m.width, sets}, pes::constant(0));
    b = param("b", {m.layers, 1, sets}, pes::constant(std::log(std::expm1(1e-3))));
  }
  void begin(const pes::Step& s) {
    const double* n =
        counts.range(s.offset, s.length, 1, [](auto i, auto) { return static_cast<double>(i); });
    places = s.upload({s.length, 1}, n);
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor logarithms = slice(s[log_theta], 0, a.layer, 1);  // [1, sets, 1, R/2]
    if (!contextual) {
      rotary::turn(s, a, places * exp(logarithms / slow), pairs);
      return;
    }
    const pes::Tensor z = rotary::project(s, a.layer, a.x, w) + slice(s[b], 0, a.layer, 1);
    const pes::Tensor gates = rotary::by_head(sigmoid(z / slow), sets);  // [B, sets, T, 1]
    rotary::turn(s, a, (cumsum(gates, 2) - gates) * exp(logarithms), pairs);
  }
};

}  // namespace

extern const pes_encoding grape_m = pes::encoding<GrapeM>;
