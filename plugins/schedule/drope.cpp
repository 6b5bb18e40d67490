// DroPE, Gelberg et al. 2025: positions help a model to learn and hinder it beyond the training
// length, so the encoding is dropped near the end of training, as in "rope -> drope @ 87.5%". This
// is what is left: no encoding, and beyond the training length a temperature that keeps attention
// as sharp as it was (appendix C.2):
//   scores = beta q.k / sqrt(D), beta = 1 + c ln(T_test / T_train)
#include <pesuite/pesuite.hpp>

namespace {

struct Drope : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("c", "0.412", 0, 100,
                "how fast the temperature grows with the length: 0.412 for models trained from "
                "scratch, 0.103 for SmolLM, fitted on held-out text; 0: none"),
      pes::real("extension", "0", 0, 1e9,
                "T_test / T_train; 0: the length of evaluation over that of training, at least 1"),
      pes::flag("qk_norm", "false",
                "an RMS norm of q and of k over the features of all heads together, with learned "
                "gains, as the paper's code has it for large learning rates"),
      pes::real("eps", "1e-6", 0, 1, "of the norm")};
  static constexpr pes_card card = pes::card<Drope>(
      {.name = "drope",
       .summary = "what is left when an encoding is dropped in training: none, and a temperature",
       .taxonomy = "none, schedule",
       .paper = "Gelberg et al. 2025, arXiv:2512.12167",
       .bibtex = "@article{gelberg2025drope, title={Extending the Context of Pretrained LLMs by "
                 "Dropping Their Positional Embeddings}, author={Gelberg, Yoav and Eguchi, Koshi "
                 "and Akiba, Takuya and Cetin, Edoardo}, journal={arXiv:2512.12167}, year={2025}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "none",
       .rating = "good (Gelberg et al. 2025)",
       .extension = "2-8x (Gelberg et al. 2025, retrieval)",
       .extends = "rope|pope|yarn",
       .use_if = "a trained model must reach further, a short training is affordable, and exact "
                 "places matter little"});

  double c, extension, eps;
  int heads, kv_heads, head_dim, train_length;
  bool normed;
  pes::Param q_gain, k_gain;

  Drope(const pes_model& m, const pes::Values& v)
      : c(v.real("c")),
        extension(v.real("extension")),
        eps(v.real("eps")),
        heads(m.heads),
        kv_heads(m.kv_heads),
        head_dim(m.head_dim),
        train_length(m.train_length),
        normed(v.flag("qk_norm")) {
    if (!normed) return;
    q_gain = param("q_gain", {m.layers, m.heads, 1, m.head_dim}, pes::constant(1));
    k_gain = param("k_gain", {m.layers, m.kv_heads, 1, m.head_dim}, pes::constant(1));
  }
  // x [B, heads, T, D] over the root of the mean square of a token's features, times the gain
  pes::Tensor norm(pes::Tensor x, pes::Tensor gain, int heads, int layer) const {
    const pes::Tensor squares = sum(sum(x * x, -1), 1);  // [B, 1, T, 1]
    return x / sqrt(squares * (1.0 / (heads * head_dim)) + eps) * slice(gain, 0, layer, 1);
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    if (normed) {
      a.q = norm(a.q, s[q_gain], heads, a.layer);
      a.k = norm(a.k, s[k_gain], kv_heads, a.layer);
    }
    if (s.phase == PES_EVAL) a.scale *= temperature(s.offset + s.length);
  }
  double temperature(int length) const {
    const double longer = static_cast<double>(length) / train_length;
    return 1 + c * std::log(extension > 0 ? extension : std::max(1.0, longer));
  }
  bool stale(int from, int to) const { return temperature(from) != temperature(to); }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<Drope>, nullptr};

}  // namespace

PES_LIBRARY("schedule", "1.0.0", "MIT", encodings, nullptr);
