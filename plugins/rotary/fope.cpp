// FoPE, Hua et al. 2024: each pair of features turns not by one wave but by a Fourier series of all
// of them, and waves too slow to pass once in training become constant:
//   cos_r(n) = sum_s C_sr cos(n theta_s), sin_r(n) = sum_s S_sr sin(n theta_s)
// over the pairs s that turn at least once in the training length; other pairs are left as they
// are. C and S are the identity with noise.
#include "contextual.h"

namespace {

struct Fope : pes::Encoding {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::original,
      pes::integer("kept", "0", 0, 1 << 15,
                   "pairs that turn, the fastest; 0: those that turn once within the training "
                   "length, at least one"),
      pes::real("gain", "0.3", 0, 100,
                "noise of C and S: normal, of variance gain^2 / (number of pairs that turn)"),
      pes::flag("learned", "false", "train C and S, as some models do; the authors' stay as drawn"),
      pes::choice("heads", "own", "own|shared", "C and S for each head, or for all of a layer"),
      pes::integer("draw", "1", 0, 1 << 30, "number of the draw of C and S")};
  static constexpr pes_card card = pes::card<Fope>(
      {.name = "fope",
       .summary = "RoPE whose pairs turn by Fourier series, the slowest not at all (FoPE)",
       .taxonomy = "absolute, fixed or learned, multiplicative",
       .used_in = "Intern-S1-Pro",
       .paper = "Hua et al. 2024, arXiv:2412.17739",
       .bibtex = "@inproceedings{hua2025fope, title={Fourier Position Embedding: Enhancing "
                 "Attention's Periodic Extension for Length Generalization}, author={Hua, Ermo "
                 "and Jiang, Che and Lv, Xingtai and Zhang, Kaiyan and Sun, Youbang and Fan, "
                 "Yuchen and Zhu, Xuekai and Qi, Biqing and Ding, Ning and Zhou, Bowen}, "
                 "booktitle={ICML}, year={2025}}",
       .claims = PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Hua et al. 2024)",
       .extension = "2-8x (Hua et al. 2024, passkey)",
       .use_if = "something close to rope is wanted that fails more softly beyond its training "
                 "length",
       .tune = "base=0|gain=0.1"});

  std::int64_t R, layers, sets, kept;
  bool learned;
  double gain;
  pes_pairs pairs;
  std::vector<double> theta;
  pes::Param c, d;
  std::vector<double> drawn_c, drawn_d;  // where they are not learned, as the parameters
  pes::Table cos_table, sin_table;
  pes::Tensor cos, sin;        // of the waves, [T, kept]
  pes::Tensor of_cos, of_sin;  // C and S, [layers, sets, kept, kept]

  Fope(const pes_model& m, const pes::Values& v)
      : R(m.head_dim),
        layers(m.layers),
        sets(v.is("heads", "own") ? m.kv_heads : 1),
        kept(v.integer("kept")),
        learned(v.flag("learned")),
        gain(v.real("gain")),
        pairs(rotary::pairs_of(v)),
        theta(rotary::powers(pes::base_of(m, v), R)) {
    rotary::need_pairs(m, R);
    if (kept > R / 2)
      throw pes::Refusal("has " + std::to_string(R / 2) +
                         " pairs, so that kept=" + std::to_string(kept) + " is too many");
    const double slowest = 2 * std::numbers::pi / rotary::trained(m, v);
    if (kept == 0)
      kept = std::max<std::int64_t>(
          1, std::count_if(theta.begin(), theta.end(), [&](double t) { return t > slowest; }));
    theta.resize(static_cast<std::size_t>(kept));
    if (learned) {
      c = param("cos", {layers, sets, kept, kept}, identity_with_noise());
      d = param("sin", {layers, sets, kept, kept}, identity_with_noise());
    } else {
      drawn_c = drawn("fope.cos", static_cast<std::uint64_t>(v.integer("draw")));
      drawn_d = drawn("fope.sin", static_cast<std::uint64_t>(v.integer("draw")));
    }
  }
  pes::Init identity_with_noise() const {
    const double sd = gain / std::sqrt(static_cast<double>(kept));
    return [sd, n = kept, i = std::int64_t{0}](pes::Random& random) mutable {
      const std::int64_t at = i++ % (n * n);
      return sd * random.normal() + (at / n == at % n ? 1 : 0);
    };
  }
  std::vector<double> drawn(const char* purpose, std::uint64_t draw) const {
    pes::Random random(draw, pes::purpose(purpose), 0);
    const pes::Init value = identity_with_noise();
    std::vector<double> out;
    for (std::int64_t n = layers * sets * kept * kept; n > 0; --n) out.push_back(value(random));
    return out;
  }
  void begin(const pes::Step& s) {
    const auto wave = [&](pes::Table& table, double (*f)(double)) {
      return s.upload({s.length, kept}, table.range(s.offset, s.length, kept, [&](auto n, auto r) {
        return f(static_cast<double>(n) * theta[static_cast<std::size_t>(r)]);
      }));
    };
    cos = wave(cos_table, [](double x) { return std::cos(x); });
    sin = wave(sin_table, [](double x) { return std::sin(x); });
    of_cos = learned ? s[c] : s.upload({layers, sets, kept, kept}, drawn_c.data());
    of_sin = learned ? s[d] : s.upload({layers, sets, kept, kept}, drawn_d.data());
  }
  // [sets, T, kept] with `rest` for the pairs that do not turn, [1, sets, T, R/2].
  pes::Tensor series(const pes::Step& s, int layer, pes::Tensor waves, pes::Tensor weights,
                     double rest) const {
    const std::int64_t T = s.length;
    const pes::Tensor own = reshape(slice(weights, 0, layer, 1), {sets, kept, kept});
    pes::Tensor x = matmul(reshape(waves, {1, T, kept}), own);
    if (kept < R / 2)
      x = concat(x, s.table({sets, T, R / 2 - kept}, [=](auto, auto) { return rest; }), -1);
    return reshape(x, {1, sets, T, R / 2});
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor x = series(s, a.layer, cos, of_cos, 1),
                      y = series(s, a.layer, sin, of_sin, 0);
    const std::int64_t heads = a.q.extent(1);
    a.q = rotate(a.q, rotary::for_queries(s, x, heads), rotary::for_queries(s, y, heads), pairs);
    a.k = rotate(a.k, x, y, pairs);
  }
};

}  // namespace

extern const pes_encoding fope = pes::encoding<Fope>;
