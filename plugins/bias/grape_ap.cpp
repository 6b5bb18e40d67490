// GRAPE-AP, Zhang et al. 2025, section 5: on its way from j to i a score loses at every token in
// between, as much as that token's probe and the query's say:
//   S_ij += psi_i(j+1) + .. + psi_i(i),  psi_i(l) = m_h ln sigmoid(p_i . R_l p'_l / P)
// with ALiBi's slopes m_h, probes p = x W_p of P features a head, p' the probe over its root mean
// square and R_l the turn of all its pairs by l radians.
#include <pesuite/pesuite.hpp>

#include "grape.h"
#include "slopes.h"

namespace {

struct GrapeAp : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("features", "8", 2, 1 << 16, "features P of a head's probes, an even number"),
      pes::choice("normalize", "passed", "passed|both",
                  "which probes are taken over their root mean square: those of the tokens "
                  "passed, as in the authors' code, or the query's as well, as in the paper")};
  static constexpr pes_card card = pes::card<GrapeAp>(
      {.name = "grape_ap",
       .summary = "scores fall at every token between, by its content and the query's (GRAPE-AP)",
       .taxonomy = "hybrid, learned, bias, contextual",
       .paper = grape_paper,
       .bibtex = grape_bibtex,
       .claims = PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .use_if = "what is asked should decide what is passed over|a second product of all pairs is "
                 "affordable"});

  std::int64_t heads, P;
  bool both;
  pes::Param w_p;
  pes::Table cos_table, sin_table;
  pes::Tensor slopes, cos, sin;  // [H, 1, 1]; [T, 1]

  GrapeAp(const pes_model& m, const pes::Values& v)
      : heads(m.heads), P(v.integer("features")), both(v.is("normalize", "both")) {
    if (P % 2 != 0)
      throw pes::Refusal("turns pairs of features and needs an even number of them, not " +
                         std::to_string(P));
    w_p = param("w_p", {m.layers, m.width, heads * P}, pes::normal(0.02), true);
  }
  void begin(const pes::Step& s) {
    slopes = s.table({heads, 1, 1}, [&](auto h, auto) { return published_slope(h, heads); });
    const auto turned = [&](pes::Table& table, auto f) {
      return s.upload({s.length, 1}, table.range(s.offset, s.length, 1, [&](auto n, auto) {
        return f(static_cast<double>(n));
      }));
    };
    // clockwise, as in the authors' code
    cos = turned(cos_table, [](double n) { return std::cos(n); });
    sin = turned(sin_table, [](double n) { return -std::sin(n); });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }

  pes::Tensor over_its_size(pes::Tensor p) const {
    constexpr double eps = 1.1920929e-7;  // fp32's, which torch's rms_norm adds
    return p / sqrt(sum(p * p, -1) / static_cast<double>(P) + eps);
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3);
    const pes::Tensor x = matmul(slice(b.x, 1, 0, keys), slice(s[w_p], 0, b.layer, 1));
    const pes::Tensor p = permute(reshape(x, {s.batch, keys, heads, P}), {0, 2, 1, 3});
    const pes::Tensor all = s.table({1, P / 2}, [](auto, auto) { return 1.0; });
    const pes::Tensor passed =
        rotate(over_its_size(p), slice(cos, 0, 0, keys) * all, slice(sin, 0, 0, keys) * all);
    const pes::Tensor own = slice(p, 2, b.first, rows);
    const pes::Tensor match = matmul(both ? over_its_size(own) : own, passed, true);
    const pes::Tensor psi =
        softplus(match / -static_cast<double>(P)) * slopes * b.visible;  // what is lost, positive
    b.scores = b.scores - (cumsum(psi, -1, true) - psi);
  }
};

}  // namespace

extern const pes_encoding grape_ap = pes::encoding<GrapeAp>;
