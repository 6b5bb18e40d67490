// RePo, Li et al. 2025: every token says for itself, and for each head, where it stands, as a real
// number that a small gated network reads off the layer's input x:
//   z = (silu(x W_g) * (x W_c)) W_z,  q and k turn by z theta_r
#include "contextual.h"

namespace {

struct Repo : pes::Encoding {
  static constexpr pes_option options[] = {
      rotary::option::base, rotary::option::layout, rotary::option::features,
      pes::integer("hidden", "0", 0, 1 << 16,
                   "width of the network that finds the position; 0: an eighth of the model's")};
  static constexpr pes_card card = pes::card<Repo>(
      {.name = "repo",
       .summary = "RoPE at positions that a small network finds for each token and head (RePo)",
       .taxonomy = "relative, learned, multiplicative, contextual",
       .paper = "Li et al. 2025, arXiv:2512.14391",
       .bibtex = "@article{li2025repo, title={RePo: Language Models with Context Re-Positioning}, "
                 "author={Li, Huayang and Zhao, Tianyu and Sproat, Richard}, "
                 "journal={arXiv:2512.14391}, year={2025}}",
       .claims = PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Li et al. 2025, noisy and long contexts)",
       .use_if = "what belongs together stands scattered, among noise or in tables|lower layers "
                 "have another encoding, as layers[rope, repo]",
       .tune = "base=0"});

  double base;
  std::int64_t R, groups;
  pes_pairs pairs;
  pes::Param gate, content, position;

  Repo(const pes_model& m, const pes::Values& v)
      : base(pes::base_of(m, v)),
        R(rotary::turned(m, v)),
        groups(m.kv_heads),
        pairs(rotary::pairs_of(v)) {
    const std::int64_t given = v.integer("hidden"),
                       hidden = given > 0 ? given : std::max(1, m.width / 8);
    gate = param("gate", {m.layers, m.width, hidden}, pes::normal(0.02), true);
    content = param("content", {m.layers, m.width, hidden}, pes::normal(0.02), true);
    position = param("position", {m.layers, hidden, groups}, pes::normal(0.02), true);
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor g = rotary::project(s, a.layer, a.x, gate),
                      h = g * sigmoid(g) * rotary::project(s, a.layer, a.x, content),
                      z = rotary::by_head(rotary::project(s, a.layer, h, position), groups);
    rotary::turn(s, a, z * rotary::frequencies(s, base, R), pairs);  // z [B, G, T, 1]
  }
};

}  // namespace

extern const pes_encoding repo = pes::encoding<Repo>;
