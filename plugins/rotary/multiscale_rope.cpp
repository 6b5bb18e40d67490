// RoPE with a base for each head, log-spaced from the first head to the last: some heads look near,
// others far (Nexus, no paper). Heads that share keys share a base, else no rotation of the keys
// would fit them all.
#include "rotary.h"

namespace {

struct MultiscaleRope : rotary::Rotary<MultiscaleRope> {
  static constexpr pes_option options[] = {
      pes::real("base_min", "1000", 1, 1e12, "base of the first head"),
      pes::real("base_max", "100000", 1, 1e12, "base of the last head"),
      pes::real("factor", "1", 0, 1e6, "divides the frequencies where above 1"),
      rotary::option::layout,
      rotary::option::features,
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<MultiscaleRope>(
      {.name = "multiscale_rope",
       .summary = "RoPE with a base of its own for each head, log-spaced",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Nexus",
       .paper = "none; code: github.com/kvnyu24/Nexus",
       .bibtex = "@misc{nexus, title={Nexus: nexus/components/embeddings/multiscale_rope.py}, "
                 "author={{kvnyu24}}, "
                 "howpublished={\\url{https://github.com/kvnyu24/Nexus}}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .use_if = "heads should see at different scales|near and far patterns matter"});

  std::int64_t heads, key_heads;
  double first, last, factor;
  bool resonance;
  pes::Tensor q_cos, q_sin;

  MultiscaleRope(const pes_model& m, const pes::Values& v)
      : Rotary(m, v),
        heads(m.heads),
        key_heads(m.kv_heads),
        first(std::log(v.real("base_min"))),
        last(std::log(v.real("base_max"))),
        factor(std::max(1.0, v.real("factor"))),
        resonance(v.flag("resonance")) {}

  rotary::Angles angles(std::int64_t) const {
    rotary::Angles a{{}, 1, resonance};
    for (std::int64_t g = 0; g < key_heads; ++g) {
      const double share =
          key_heads > 1 ? static_cast<double>(g) / static_cast<double>(key_heads - 1) : 0.5;
      for (const double x : rotary::powers(std::exp(rotary::mix(first, last, share)), R))
        a.frequencies.push_back(x / factor);
    }
    return a;
  }
  void begin(const pes::Step& s) {
    Rotary::begin(s);
    const auto by_head = [&](pes::Tensor x) {  // [T, G R/2] -> [G, T, R/2]
      return permute(reshape(x, {s.length, key_heads, R / 2}), {1, 0, 2});
    };
    q_cos = cos = by_head(cos);
    q_sin = sin = by_head(sin);
    if (heads == key_heads) return;
    const pes::Tensor group =
        s.table({heads}, [&](auto, auto h) { return static_cast<double>(h * key_heads / heads); });
    q_cos = rows(cos, group);
    q_sin = rows(sin, group);
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = rotate(a.q, q_cos, q_sin, pairs);
    a.k = rotate(a.k, cos, sin, pairs);
    scaling.act(a);
  }
};

}  // namespace

extern const pes_encoding multiscale_rope = pes::encoding<MultiscaleRope>;
