// Transformer-XL's relative encoding, Dai et al. 2019, section 3.3:
//   S_ij = scale ((q_i + u) k_j + (q_i + v) (W_r R_(i-j))), R the sinusoids of a distance
#include "chosen.h"

namespace {

struct TransformerXl : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("base", "10000", 0, 1e12,
                "wavelengths run from 2 pi to (almost) 2 pi base; 0: fits the training length as "
                "10000 fits 2048"),
      pes::choice("biases", "shared", "shared|each",
                  "u and v: one pair for all layers, as in the paper's code, or one for each"),
      pes::choice("argument", "behind", "behind|ahead|remaining",
                  "R of i - j as in the paper, of j - i, or of T - 1 - (i - j) as in the causal "
                  "code of Ruoss et al. 2023, which depends on the length"),
      Distances::drawn};
  static constexpr pes_card card = pes::card<TransformerXl>(
      {.name = "transformer_xl",
       .summary = "queries meet projected sinusoids of the distance, with two learned biases",
       .taxonomy = "relative, learned, bias, contextual",
       .used_in = "Transformer-XL, XLNet",
       .paper = "Dai et al. 2019, arXiv:1901.02860",
       .bibtex = "@inproceedings{dai2019transformer, title={Transformer-XL: Attentive Language "
                 "Models beyond a Fixed-Length Context}, author={Dai, Zihang and Yang, Zhilin and "
                 "Yang, Yiming and Carbonell, Jaime and Le, Quoc V. and Salakhutdinov, Ruslan}, "
                 "booktitle={ACL}, year={2019}}",
       .claims = PES_RELATIVE | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Dai et al. 2019)",
       .use_if = "content should decide which distances matter|a second product of queries with "
                 "positions is affordable",
       .tune = "base=0"});

  std::int64_t heads, head_dim, width, layers, own;  // own: layers with biases of their own
  double base;
  bool ahead, remaining;
  Distances distances;
  pes::Param u, v, w_r;
  pes::Table sines;
  pes::Tensor places, keys;  // [1, T]; [L, H, T, D] by distance

  TransformerXl(const pes_model& m, const pes::Values& o)
      : heads(m.heads),
        head_dim(m.head_dim),
        width(m.width),
        layers(m.layers),
        own(o.is("biases", "each") ? m.layers : 1),
        base(pes::base_of(m, o)),
        ahead(o.is("argument", "ahead")),
        remaining(o.is("argument", "remaining")),
        distances(o),
        u(param("u", {own, heads, 1, head_dim}, pes::normal(0.02))),
        v(param("v", {own, heads, 1, head_dim}, pes::normal(0.02))),
        w_r(param("w_r", {layers, width, heads * head_dim}, pes::normal(0.02), true)) {
    if (remaining && distances.random())
      throw pes::Refusal("options 'argument=remaining' and 'random_distances' exclude each other");
  }
  double sinusoid(double distance, std::int64_t c) const {
    const std::int64_t half = (width + 1) / 2;
    const double angle =
        (ahead ? -1 : 1) * distance *
        std::pow(base, -2.0 * static_cast<double>(c % half) / static_cast<double>(width));
    return c < half ? std::sin(angle) : std::cos(angle);
  }
  pes::Tensor sinusoids(const pes::Step& s) {  // [T, W]
    if (!distances.random())
      return s.upload({s.length, width}, sines.extend(s.length, width, [&](auto n, auto c) {
        return sinusoid(static_cast<double>(n), c);
      }));
    const std::vector<double> all = distances.of(s);
    return s.table({s.length, width},
                   [&](auto n, auto c) { return sinusoid(all[static_cast<std::size_t>(n)], c); });
  }
  void begin(const pes::Step& s) {
    places = s.table({1, s.length}, [](auto, auto n) { return static_cast<double>(n); });
    pes::Tensor r = sinusoids(s);
    if (remaining)
      r = pes::rows(r, s.table({s.length}, [&](auto, auto n) {
        return static_cast<double>(s.length - 1 - n);
      }));
    r = reshape(matmul(r, s[w_r]), {layers, s.length, heads, head_dim});
    keys = permute(r, {0, 2, 1, 3});
  }
  pes::Tensor of(const pes::Step& s, pes::Param p, int layer) const {  // [1, H, 1, D]
    return slice(s[p], 0, own > 1 ? layer : 0, 1);
  }
  bool stale(int from, int to) const {
    return (remaining && from != to) || distances.stale(from, to);
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    a.q = a.q + of(s, u, a.layer);
    a.rewrite = true;
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), seen = b.scores.extent(3);
    const pes::Tensor q = b.q + (of(s, v, b.layer) - of(s, u, b.layer));
    const pes::Tensor near = slice(slice(keys, 0, b.layer, 1), 2, 0, seen);
    const pes::Tensor by_distance = matmul(q, near, true) * b.scale;  // [B, H, rows, S]
    const pes::Tensor query = reshape(slice(places, 1, b.first, rows), {rows, 1});
    const pes::Tensor distance = relu(query - slice(places, 1, 0, seen));  // [rows, S]
    b.scores = b.scores + take(by_distance, distance);
  }
};

}  // namespace

extern const pes_encoding transformer_xl = pes::encoding<TransformerXl>;
