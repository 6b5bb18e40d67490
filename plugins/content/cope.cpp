// CoPE, Golovneva et al. 2024, section 4: how far j lies behind i is counted by gates that
// look at the content, and a position between two whole numbers gets what lies between their
// logits:
//   g_ij = sigmoid(score), p_ij = g_ij + .. + g_ii, z_i = q_i E,
//   score += (1 - w) z_i[floor p] + w z_i[ceil p], w = p - floor p
#include <pesuite/pesuite.hpp>

namespace {

struct Cope : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("positions", "64", 0, 1 << 20,
                   "columns of E: larger positions are cut to this - 1; 0: training length + 1"),
      pes::choice("scale", "one", "one|head",
                  "factor of the position logits: 1 as in the paper's listing, or that of q.k as "
                  "in the authors' repository"),
      pes::choice(
          "gate", "key", "key|separate_key|value",
          "gates from the scores of q and k, from q and a key of their own, or from q and v")};
  static constexpr pes_card card = pes::card<Cope>(
      {.name = "cope",
       .summary = "counts positions with gates that depend on the content",
       .taxonomy = "relative, hybrid, bias, contextual",
       .paper = "Golovneva et al. 2024, arXiv:2405.18719",
       .bibtex = "@article{golovneva2024contextual, title={Contextual Position Encoding: Learning "
                 "to Count What's Important}, author={Golovneva, Olga and Wang, Tianlu and Weston, "
                 "Jason and Sukhbaatar, Sainbayar}, journal={arXiv:2405.18719}, year={2024}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Golovneva et al. 2024, algorithmic tasks)",
       .use_if =
           "position should count what matters, words or lines rather than tokens|the text is "
           "structured, as code and markup are|a second pass over the scores is affordable",
       .tune = "positions=0|positions=16"});

  std::int64_t count, heads, groups, head_dim, width, train_length;
  bool scale_head, values;
  pes::Param embeddings, gate_key;

  Cope(const pes_model& m, const pes::Values& v)
      : count(v.integer("positions") > 0 ? v.integer("positions") : m.train_length + 1),
        heads(m.heads),
        groups(m.kv_heads),
        head_dim(m.head_dim),
        width(m.width),
        train_length(m.train_length),
        scale_head(v.is("scale", "head")),
        values(v.is("gate", "value")),
        embeddings(param("embeddings", {m.layers, head_dim, count}, pes::constant(0))) {
    if (v.is("gate", "separate_key"))
      gate_key = param("gate_key", {m.layers, width, groups * head_dim}, pes::normal(0.02), true);
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }

  pes::Tensor gate_keys(const pes::Step& s, const pes::Scores& b) const {  // [B, G, S, D]
    const std::int64_t keys = b.scores.extent(3);
    if (values) return slice(b.v, 2, 0, keys);
    const pes::Tensor k = matmul(slice(b.x, 1, 0, keys), slice(s[gate_key], 0, b.layer, 1));
    return permute(reshape(k, {s.batch, keys, groups, head_dim}), {0, 2, 1, 3});
  }
  pes::Tensor gate_scores(const pes::Step& s, const pes::Scores& b) const {  // [B, H, rows, S]
    if (!values && gate_key.index < 0) return b.scores;
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3);
    const pes::Tensor q = reshape(b.q, {s.batch, groups, heads / groups * rows, head_dim});
    const pes::Tensor scores = matmul(q, gate_keys(s, b), true) * b.scale;
    return reshape(scores, {s.batch, heads, rows, keys});
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const pes::Tensor gates = sigmoid(gate_scores(s, b)) * b.visible;
    const pes::Tensor p = cumsum(gates, -1, true);  // [B, H, rows, S]
    pes::Tensor e = reshape(slice(s[embeddings], 0, b.layer, 1), {head_dim, count});
    if (scale_head) e = e * b.scale;                       // smaller than the logits
    b.scores = b.scores + interpolate(matmul(b.q, e), p);  // of z [B, H, rows, positions]
  }
  double untrained(int length) const {
    const std::int64_t reached = std::min<std::int64_t>(length, count - 1);
    return std::max(0.0, static_cast<double>(reached - train_length) / length);
  }
};

}  // namespace

extern const pes_encoding cope = pes::encoding<Cope>;
