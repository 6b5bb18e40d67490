// PoPE, Gopalakrishnan et al. 2025, section 3: the magnitude of a feature is content alone, its
// phase is position alone,
//   S_ij = scale sum_c softplus(q_ic) softplus(k_jc) cos((j - i) w_c + d_c),  w_c = base^(-c/R)
// so that what and where do not mix as they do in a rotated pair. Each of R features becomes the
// two coordinates of its polar form: q and k widen, v stays, scale stays that of the head size.
#include <pesuite/pesuite.hpp>

#include <numbers>

namespace {

struct Pope : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("base", "10000", 0, 1e12,
                "feature c turns by base^(-c/R) a position, R the number of features that turn; 0: "
                "fits the training length as 10000 fits 2048"),
      pes::integer("features", "0", 0, 1 << 16,
                   "R, the first features of each head; the others pass unchanged; 0: all"),
      pes::choice("init", "zero", "zero|uniform",
                  "phase biases start at 0, which extrapolates better, or anywhere in -2 pi .. 0"),
      pes::choice("layout", "half", "half|interleaved",
                  "all cosines before all sines, or side by side; scores are equal")};
  static constexpr pes_card card = pes::card<Pope>(
      {.name = "pope",
       .summary = "features keep their magnitude and get a phase that is the position's alone",
       .taxonomy = "relative, learned, multiplicative",
       .paper = "Gopalakrishnan et al. 2025, arXiv:2509.10534",
       .bibtex = "@article{gopalakrishnan2025decoupling, title={Decoupling the What and Where With "
                 "Polar Coordinate Positional Embeddings}, author={Gopalakrishnan, Anand and "
                 "Csord{\\'a}s, R{\\'o}bert and Schmidhuber, J{\\\"u}rgen and Mozer, Michael C.}, "
                 "journal={arXiv:2509.10534}, year={2025}}",
       .claims = PES_RELATIVE | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "excellent (Gopalakrishnan et al. 2025)",
       .use_if = "a decoder is trained from the start|position and content must not mix|deployment "
                 "is longer than training",
       .tune = "base=0|base=1000"});

  std::int64_t features, heads;
  std::vector<double> frequencies;  // radians a position
  bool interleaved, grouped;
  pes::Param bias;
  pes::Table cos_table, sin_table;
  pes::Tensor cos_q, sin_q, cos_k, sin_k, order;  // [T, R] or [H, T, R]; [2R]

  Pope(const pes_model& m, const pes::Values& v)
      : features(v.integer("features") > 0 ? v.integer("features") : m.head_dim),
        heads(m.heads),
        interleaved(v.is("layout", "interleaved")),
        grouped(m.kv_heads < m.heads) {
    if (features > m.head_dim)
      throw pes::Refusal("turns at most the " + std::to_string(m.head_dim) +
                         " features of a head, not " + std::to_string(features));
    for (std::int64_t c = 0; c < features; ++c)
      frequencies.push_back(
          std::pow(pes::base_of(m, v), -static_cast<double>(c) / static_cast<double>(features)));
    const auto start =
        v.is("init", "zero") ? pes::constant(0) : pes::uniform(-2 * std::numbers::pi, 0);
    bias = param("bias", {heads, features}, start);
  }
  void begin(const pes::Step& s) {
    const std::int64_t R = features;
    const auto angle = [&](std::int64_t n, std::int64_t c) {
      return static_cast<double>(n) * frequencies[static_cast<std::size_t>(c)];
    };
    const auto rows = [&](pes::Table& table, auto value) {
      return s.upload({s.length, R}, table.range(s.offset, s.length, R, value));
    };
    const pes::Tensor cos = rows(cos_table, [&](auto n, auto i) { return std::cos(angle(n, i)); });
    const pes::Tensor sin = rows(sin_table, [&](auto n, auto i) { return std::sin(angle(n, i)); });
    // the start value 0 is a bound: a clamp that stopped gradients there would freeze it
    const double turn = 2 * std::numbers::pi;
    const pes::Tensor low = s.table({1}, [&](auto, auto) { return -turn; });
    const pes::Tensor high = s.table({1}, [](auto, auto) { return 0.0; });
    const pes::Tensor delta = reshape(min(max(s[bias], low), high), {heads, 1, R});
    // angles are added by the product rule, since m w + d would lose m w's digits on the device
    const pes::Tensor cos_d = pes::cos(delta), sin_d = pes::sin(delta);
    cos_q = cos_k = cos;
    sin_q = sin_k = sin;
    if (grouped) {  // keys serve several heads, so each head's queries take -d instead
      cos_q = cos * cos_d + sin * sin_d;
      sin_q = sin * cos_d - cos * sin_d;
    } else {
      cos_k = cos * cos_d - sin * sin_d;
      sin_k = sin * cos_d + cos * sin_d;
    }
    if (interleaved)
      order =
          s.table({2 * R}, [&](auto, auto i) { return static_cast<double>(i / 2 + i % 2 * R); });
  }
  pes::Tensor polar(pes::Tensor x, pes::Tensor cos, pes::Tensor sin) const {
    const std::int64_t D = x.extent(-1);
    const pes::Tensor magnitude = softplus(slice(x, -1, 0, features));
    pes::Tensor y = concat(magnitude * cos, magnitude * sin, -1);
    if (interleaved) y = take(y, order);
    return features == D ? y : concat(y, slice(x, -1, features, D - features), -1);
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.q = polar(a.q, cos_q, sin_q);
    a.k = polar(a.k, cos_k, sin_k);
  }
};

}  // namespace

extern const pes_encoding pope = pes::encoding<Pope>;
