// Rotary position embedding, Su et al. 2021, equation 34: pair r of q and k at position n turns by
// n base^(-2r/R), R the number of features that turn. Scores depend on i - j only.
#include <pesuite/pesuite.hpp>

namespace {

struct Rope : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real(
          "base", "10000", 1, 1e12,
          "pair r turns by base^(-2r/R) a position: wavelengths from 2 pi to almost 2 pi base"),
      pes::choice("layout", "half", "half|interleaved|mismatched",
                  "features of a pair: (r, r + R/2), (2r, 2r+1), or the defect of a published "
                  "comparison that takes angles from the first and partners from the second, which "
                  "is no rotation"),
      pes::integer("features", "0", 0, 1 << 16,
                   "features of each head that turn, the first ones; 0: all (partial rotary)")};
  static constexpr pes_card card = pes::card<Rope>(
      {.name = "rope",
       .summary = "turns pairs of query and key features by angles proportional to the position",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "GPT-NeoX, PaLM, Llama, Qwen, Mistral",
       .paper = "Su et al. 2021, arXiv:2104.09864",
       .bibtex = "@article{su2021roformer, title={RoFormer: Enhanced Transformer with Rotary "
                 "Position Embedding}, author={Su, Jianlin and Lu, Yu and Pan, Shengfeng and "
                 "Murtadha, Ahmed and Wen, Bo and Liu, Yunfeng}, journal={arXiv:2104.09864}, "
                 "year={2021}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED});

  std::int64_t features;
  double base;
  pes_pairs pairs;
  bool mismatched;
  pes::Table cos_table, sin_table;
  pes::Tensor cos, sin, partner;

  Rope(const pes_model& m, const pes::Values& v)
      : features(v.integer("features") > 0 ? v.integer("features") : m.head_dim),
        base(v.real("base")),
        pairs(v.is("layout", "interleaved") ? PES_PAIRS_INTERLEAVED : PES_PAIRS_HALF),
        mismatched(v.is("layout", "mismatched")) {
    if (features % 2 != 0 || features > m.head_dim)
      throw pes::Refusal("needs an even number of features to turn, at most the head size " +
                         std::to_string(m.head_dim) + ", not " + std::to_string(features));
    if (mismatched && features != m.head_dim)
      throw pes::Refusal("layout=mismatched turns all features or none");
  }
  void begin(const pes::Step& s) {
    const std::int64_t n = features / 2, end = s.offset + s.length;
    const auto angle = [&](std::int64_t position, std::int64_t r) {
      return static_cast<double>(position) *
             std::pow(base, -2.0 * static_cast<double>(r) / static_cast<double>(features));
    };
    const double* c =
        cos_table.extend(end, n, [&](auto p, auto r) { return std::cos(angle(p, r)); });
    const double* d =
        sin_table.extend(end, n, [&](auto p, auto r) { return std::sin(angle(p, r)); });
    cos = s.upload({s.length, n}, c + s.offset * n);
    sin = s.upload({s.length, n}, d + s.offset * n);
    if (!mismatched) return;
    partner = s.table({features}, [](auto, auto i) { return static_cast<double>(i ^ 1); });
    const pes::Tensor sign =
        s.table({features}, [](auto, auto i) { return i % 2 == 0 ? -1.0 : 1.0; });
    cos = concat(cos, cos, -1);
    sin = concat(sin, sin, -1) * sign;
  }
  pes::Tensor turn(pes::Tensor x) const {
    return mismatched ? x * cos + take(x, partner) * sin : rotate(x, cos, sin, pairs);
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = turn(a.q);
    a.k = turn(a.k);
  }
};

}  // namespace

extern const pes_encoding rope = pes::encoding<Rope>;
