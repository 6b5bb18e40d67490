// DAPE, Zheng et al. 2024: an MLP sees the scores L and the static biases A of all
// heads at (i, j) and corrects each head's score:
//   S = L + A + W2 leaky_relu(W1 [L; A] + b1) + b2
#include <pesuite/pesuite.hpp>

namespace {

// ALiBi's slopes, Press et al. 2021, section 3.
double slope(std::int64_t h, std::int64_t heads) {
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  const bool lower = h < power;
  const auto n = static_cast<double>(lower ? h + 1 : 2 * (h - power) + 1);
  return std::exp2(-8 * n / static_cast<double>(lower ? power : 2 * power));
}

struct Dape : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("width", "32", 1, 4096, "hidden units of the MLP"),
      pes::choice("bias", "linear", "linear|none",
                  "A: ALiBi's linear bias, or 0, so that only the scores are adapted")};
  static constexpr pes_card card = pes::card<Dape>(
      {.name = "dape",
       .summary = "an MLP adapts a linear bias to the scores of all heads",
       .taxonomy = "relative, learned, bias, contextual",
       .paper = "Zheng et al. 2024, arXiv:2405.14722",
       .bibtex = "@inproceedings{zheng2024dape, title={DAPE: Data-Adaptive Positional Encoding for "
                 "Length Extrapolation}, author={Zheng, Chuanyang and Gao, Yihang and Shi, Han and "
                 "Huang, Minbin and Li, Jingyao and Xiong, Jing and Ren, Xiaozhe and Ng, Michael "
                 "and Jiang, Xin and Li, Zhenguo and Li, Yu}, booktitle={NeurIPS}, year={2024}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Zheng et al. 2024)",
       .use_if =
           "a fixed bias should adapt to content|a small network on every score is affordable"});

  std::int64_t heads, width;
  bool linear;
  pes::Param w1, b1, w2, b2;
  pes::Tensor slopes, places;

  Dape(const pes_model& m, const pes::Values& v)
      : heads(m.heads), width(v.integer("width")), linear(v.is("bias", "linear")) {
    const double in = 1 / std::sqrt(2.0 * static_cast<double>(heads)),
                 hidden = 1 / std::sqrt(static_cast<double>(width));
    w1 = param("w1", {m.layers, width, 2 * heads}, pes::uniform(-in, in), true);
    b1 = param("b1", {m.layers, width, 1}, pes::uniform(-in, in));
    w2 = param("w2", {m.layers, heads, width}, pes::uniform(-hidden, hidden), true);
    b2 = param("b2", {m.layers, heads, 1}, pes::uniform(-hidden, hidden));
  }
  void begin(const pes::Step& s) {
    slopes = s.table({heads, 1}, [&](auto h, auto) { return linear ? slope(h, heads) : 0; });
    places = s.table({1, s.length}, [](auto, auto n) { return static_cast<double>(n); });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3), cells = rows * keys;
    const auto of = [&](pes::Param p) { return slice(s[p], 0, b.layer, 1); };
    const pes::Tensor query = reshape(slice(places, 1, b.first, rows), {rows, 1});
    const pes::Tensor distance = relu(query - slice(places, 1, 0, keys));
    const pes::Tensor bias = -(slopes * reshape(distance, {1, cells}));     // [H, cells]
    const pes::Tensor scores = reshape(b.scores, {s.batch, heads, cells});  // [B, H, cells]
    const pes::Tensor of_bias = matmul(slice(of(w1), 2, heads, heads), bias) + of(b1);
    const pes::Tensor z = matmul(slice(of(w1), 2, 0, heads), scores) + of_bias;  // [B, F, cells]
    const pes::Tensor change = matmul(of(w2), max(z, z * 0.01)) + of(b2);
    b.scores = reshape(scores + (bias + change), {s.batch, heads, rows, keys});
  }
};

}  // namespace

extern const pes_encoding dape = pes::encoding<Dape>;
