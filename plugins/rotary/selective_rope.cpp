// Selective RoPE, Movahedi et al. 2025: what a pair turns by from one token to the next is read off
// the layer's input, and a token stands where all turns up to it lead:
//   phi_t = conv(y)_t,  y = x' W_down W_up,  angle_tr = theta_r (phi_1r + .. + phi_tr)
// x' is the layer's input x with the part of each head scaled to length 1, conv a causal
// convolution over the last tokens, with weights of its own for each pair.
#include "contextual.h"

namespace {

struct SelectiveRope : pes::Encoding {
  static constexpr pes_option options[] = {
      rotary::option::base_of("500000"),
      rotary::option::layout,
      pes::integer("rank", "32", 1, 1 << 16, "of the projection from the input to the turns"),
      pes::integer("kernel", "4", 0, 64,
                   "tokens that the convolution spans; 0: no weights, y_t - y_(t-1), so that the "
                   "angle is theta y_t"),
      pes::flag("gate", "false", "turns times a gate of the token, sigmoid(x' W_s + b)"),
      pes::real("sd", "0.02", 0, 1, "standard deviation of the first weights")};
  static constexpr pes_card card = pes::card<SelectiveRope>(
      {.name = "selective_rope",
       .summary = "RoPE that turns from token to token by angles that the input sets",
       .taxonomy = "relative, learned, multiplicative, contextual",
       .paper = "Movahedi et al. 2025, arXiv:2511.17388",
       .bibtex = "@inproceedings{movahedi2026selective, title={Selective Rotary Position "
                 "Embedding}, author={Movahedi, Sajad and Carstensen, Timur and Afzal, Arshia and "
                 "Hutter, Frank and Orvieto, Antonio and Cevher, Volkan}, booktitle={ICLR}, "
                 "year={2026}}",
       .claims = PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Movahedi et al. 2025, copying and state tracking)",
       .use_if = "content should decide how far a step leads|the task tracks a state along the "
                 "sequence, and path_attention is too slow",
       .tune = "base=0|sd=0.1"});

  double base;
  std::int64_t D, heads, groups, kernel;
  bool gated;
  pes_pairs pairs;
  pes::Param down, up, conv, gate, gate_bias;

  SelectiveRope(const pes_model& m, const pes::Values& v)
      : base(pes::base_of(m, v)),
        D(m.head_dim),
        heads(m.heads),
        groups(m.kv_heads),
        kernel(v.integer("kernel")),
        gated(v.flag("gate")),
        pairs(rotary::pairs_of(v)) {
    rotary::need_pairs(m, D);
    if (m.width % heads != 0)
      throw pes::Refusal("scales the input head by head and needs a width that the " +
                         std::to_string(heads) + " heads divide, not " + std::to_string(m.width));
    const std::int64_t rank = v.integer("rank"), pairs_of_all = groups * D / 2;
    const pes::Init start = pes::normal(v.real("sd"));
    down = param("down", {m.layers, m.width, rank}, start, true);
    up = param("up", {m.layers, rank, pairs_of_all}, start, true);
    if (kernel > 0) conv = param("conv", {m.layers, kernel, pairs_of_all}, start, true);
    if (!gated) return;
    gate = param("gate", {m.layers, m.width, groups}, start, true);
    gate_bias = param("gate_bias", {m.layers, 1, groups}, pes::constant(0));
  }
  // x [B, T, W], the W/H numbers of each head over their length.
  pes::Tensor unit(pes::Tensor x) const {
    const std::int64_t B = x.extent(0), T = x.extent(1), W = x.extent(2);
    const pes::Tensor parts = reshape(x, {B, T, heads, W / heads});
    return reshape(parts / sqrt(sum(parts * parts, -1) + 1e-6), {B, T, W});
  }
  // x [B, T, n] `by` tokens later, behind zeros.
  static pes::Tensor later(const pes::Step& s, pes::Tensor x, std::int64_t by) {
    const std::int64_t B = x.extent(0), T = x.extent(1), n = x.extent(2),
                       kept = std::max<std::int64_t>(0, T - by);
    const pes::Tensor zeros = s.table({B, T - kept, n}, [](auto, auto) { return 0.0; });
    return kept == 0 ? zeros : concat(zeros, slice(x, 1, 0, kept), 1);
  }
  pes::Tensor convolved(const pes::Step& s, int layer, pes::Tensor y) const {
    if (kernel == 0) return y - later(s, y, 1);
    const pes::Tensor w = slice(s[conv], 0, layer, 1);  // [1, kernel, n], the last tap is now
    pes::Tensor phi = y * slice(w, 1, kernel - 1, 1);
    for (std::int64_t by = 1; by < kernel; ++by)
      phi = phi + later(s, y, by) * slice(w, 1, kernel - 1 - by, 1);
    return phi;
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor x = unit(a.x);
    const pes::Tensor y =
        rotary::project(s, a.layer, rotary::project(s, a.layer, x, down), up);  // [B, T, G D/2]
    pes::Tensor phi = rotary::by_head(convolved(s, a.layer, y), groups);
    if (gated) {
      const pes::Tensor z =
          rotary::project(s, a.layer, x, gate) + slice(s[gate_bias], 0, a.layer, 1);
      phi = phi * rotary::by_head(sigmoid(z), groups);
    }
    rotary::turn(s, a, cumsum(phi, 2) * rotary::frequencies(s, base, D), pairs);
  }
};

}  // namespace

extern const pes_encoding selective_rope = pes::encoding<SelectiveRope>;
