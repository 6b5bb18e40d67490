// Rotary position embedding, Su et al. 2021, equation 34: pair r of q and k at position n turns by
// n base^(-2r/R), R the number of features that turn. Scores depend on i - j only.
#include "rotary.h"

namespace {

struct Rope : rotary::Rotary<Rope> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      pes::choice("layout", "half", "half|interleaved|mismatched",
                  "features of a pair: (r, r + R/2), (2r, 2r+1), or the defect of a published "
                  "comparison that takes angles from the first and partners from the second, which "
                  "is no rotation"),
      rotary::option::features, rotary::option::resonance, rotary::option::log_n};
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
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "poor (Press et al. 2021; Kazemnejad et al. 2023)",
       .extension = "none (Press et al. 2021)",
       .use_if = "a decoder-only language model is built|relative positions are wanted without a "
                 "bias on the scores|the context may be extended later",
       .tune = "base=0|base=1000"});

  double base;
  bool resonance, mismatched;
  pes::Tensor partner;

  Rope(const pes_model& m, const pes::Values& v)
      : Rotary(m, v),
        base(pes::base_of(m, v)),
        resonance(v.flag("resonance")),
        mismatched(v.is("layout", "mismatched")) {
    if (mismatched && R != m.head_dim)
      throw pes::Refusal("layout=mismatched turns all features or none");
  }
  rotary::Angles angles(std::int64_t) const { return {rotary::powers(base, R), 1, resonance}; }
  void begin(const pes::Step& s) {
    Rotary::begin(s);
    if (!mismatched) return;
    partner = s.table({R}, [](auto, auto i) { return static_cast<double>(i ^ 1); });
    const pes::Tensor sign = s.table({R}, [](auto, auto i) { return i % 2 == 0 ? -1.0 : 1.0; });
    cos = concat(cos, cos, -1);
    sin = concat(sin, sin, -1) * sign;
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    if (!mismatched) return Rotary::attend(s, a);
    a.q = a.q * cos + take(a.q, partner) * sin;
    a.k = a.k * cos + take(a.k, partner) * sin;
    scaling.act(a);
  }
};

}  // namespace

extern const pes_encoding rope = pes::encoding<Rope>;
