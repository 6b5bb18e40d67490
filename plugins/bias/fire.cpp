// FIRE, Li et al. 2023, section 3: the bias of (i, j) is an MLP of the distance, on a log scale
// and relative to the query's position:
//   x = psi(i - j) / psi(max(i, |m L|)), psi(u) = ln(|c| u + 1), bias = W2 relu(W1 x + b1) + b2
#include "chosen.h"

namespace {

struct Fire : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("width", "32", 1, 4096, "hidden units of the MLP"),
      pes::choice("mlp", "shared", "shared|per_head",
                  "hidden units shared by the heads, which differ in W2, or an MLP for each head"),
      pes::choice("layers", "each", "each|shared",
                  "parameters for each layer, or one set for all (FIRE-S)"),
      pes::real("threshold", "512", 1, 1e9,
                "L: positions up to it share one normalizer; it is multiplied by a learned m that "
                "starts at 1"),
      pes::real("log_scale", "0.1", 1e-9, 1e9, "start value of c"),
      pes::reals("positions", "[]", 0, 1 << 24,
                 "positions of the first tokens, whole and increasing; []: 0, 1, 2, ..."),
      pes::integer("random_positions", "0", 0, 1 << 24,
                   "draw the positions of each pass from 0 .. this - 1 and sort them, in training "
                   "and evaluation; 0: do not")};
  static constexpr pes_card card = pes::card<Fire>(
      {.name = "fire",
       .summary = "a learned function of the distance relative to the query's position",
       .taxonomy = "relative, hybrid, bias",
       .paper = "Li et al. 2023, arXiv:2310.04418",
       .bibtex = "@inproceedings{li2024functional, title={Functional Interpolation for Relative "
                 "Positions Improves Long Context Transformers}, author={Li, Shanda and You, Chong "
                 "and Guruganesh, Guru and Ainslie, Joshua and Ontanon, Santiago and Zaheer, "
                 "Manzil and Sanghai, Sumit and Yang, Yiming and Kumar, Sanjiv and Bhojanapalli, "
                 "Srinadh}, booktitle={ICLR}, year={2024}}",
       .claims = PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .rating = "excellent (Li et al. 2023)",
       .extension = "2-4x (Li et al. 2023)",
       .use_if = "deployment is longer than training|the bias should be a learned function of "
                 "distance and not a table|a small network in each step is affordable",
       .tune = "threshold=64|log_scale=1"});

  std::int64_t heads, width, layers, mlps, outputs;  // outputs of each MLP
  double threshold;
  Chosen positions;
  pes::Param w1, b1, w2, b2, c, multiplier;
  pes::Tensor places, numerator, denominator;

  Fire(const pes_model& m, const pes::Values& v)
      : heads(m.heads),
        width(v.integer("width")),
        layers(v.is("layers", "each") ? m.layers : 1),
        mlps(v.is("mlp", "per_head") ? heads : 1),
        outputs(heads / mlps),
        threshold(v.real("threshold")),
        positions(v, "positions", "random_positions") {
    const double fan_in = 1 / std::sqrt(static_cast<double>(width));
    w1 = param("w1", {layers, mlps, width, 1}, pes::uniform(-1, 1), true);
    b1 = param("b1", {layers, mlps, width, 1}, pes::uniform(-1, 1));
    w2 = param("w2", {layers, mlps, outputs, width}, pes::uniform(-fan_in, fan_in), true);
    b2 = param("b2", {layers, mlps, outputs, 1}, pes::uniform(-fan_in, fan_in));
    c = param("c", {layers, 1}, pes::constant(v.real("log_scale")));
    multiplier = param("multiplier", {layers, 1}, pes::constant(1));
  }
  pes::Tensor psi(const pes::Step& s, pes::Tensor u) const { return log(abs(s[c]) * u + 1.0); }

  // psi of every distance, and of every query's normalizer, once a step
  bool stale(int from, int to) const { return positions.stale(from, to); }
  void begin(const pes::Step& s) {
    const std::vector<double> p = positions.numbers(s, s.offset + s.length);
    const auto count = static_cast<std::int64_t>(p.back()) + 1;
    const auto n = [](auto, auto d) { return static_cast<double>(d); };
    places = s.upload({1, s.length}, p.data() + s.offset);
    numerator = psi(s, s.table({1, count}, n));                                   // [L, count]
    denominator = psi(s, max(places, abs(s[multiplier] * threshold))) + epsilon;  // [L, T]
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.rewrite = true; }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t l = layers > 1 ? b.layer : 0, rows = b.scores.extent(2),
                       keys = b.scores.extent(3), cells = rows * keys;
    const auto of = [&](pes::Param p) { return slice(s[p], 0, l, 1); };
    const pes::Tensor query = reshape(slice(places, 1, b.first, rows), {rows, 1});
    const pes::Tensor distance = relu(query - slice(places, 1, 0, keys));  // [rows, S]
    const pes::Tensor near = take(slice(numerator, 0, l, 1), reshape(distance, {1, cells}));
    const pes::Tensor far = slice(slice(denominator, 0, l, 1), 1, b.first, rows);
    const pes::Tensor x = reshape(near, {rows, keys}) / reshape(far, {rows, 1});
    const pes::Tensor input = reshape(x, {1, 1, 1, cells});
    const pes::Tensor hidden = relu(matmul(of(w1), input) + of(b1));  // [1, M, F, cells]
    const pes::Tensor bias = matmul(of(w2), hidden) + of(b2);         // [1, M, O, cells]
    b.scores = b.scores + reshape(bias, {heads, rows, keys});
  }

 private:
  static constexpr double epsilon = 1e-6;  // of the published code
};

}  // namespace

extern const pes_encoding fire = pes::encoding<Fire>;
