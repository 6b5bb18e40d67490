// Far tokens at positions that training has seen, for a model as it is: near ones keep their
// distance, and beyond a window queries and keys turn by other positions.
//
// self_extend, Jin et al. 2024, equations 3 and 4: floor(i/G) + w - floor(w/G) and floor(j/G).
// rerope, Su 2023: the distance w for all, or w + (i - j - w)/k with a factor k (Leaky ReRoPE).
#include "rotary.h"

namespace {

namespace option {
constexpr pes_option window =
    pes::integer("window", "0", 0, 1 << 24,
                 "distances below it stay as they are; 0: a share of the training length");
}

// Base of an encoding E with members query_place(i) and key_place(j): where far tokens stand.
template <class E>
class Remap : public rotary::Rotary<E> {
 public:
  rotary::Angles angles(std::int64_t) const { return {rotary::powers(base, this->R)}; }
  void begin(const pes::Step& s) {
    rotary::Rotary<E>::begin(s);
    const std::int64_t end = std::int64_t{s.offset} + s.length, n = this->R / 2;
    far = end > window;
    if (!far) return;
    // from where a token stands to where it shall
    const auto turn = [&](pes::Table& cosines, pes::Table& sines, auto place, pes::Tensor& c,
                          pes::Tensor& d) {
      const auto angle = [&](auto i, auto r) {
        const auto from = static_cast<double>(i);
        return (place(from) - from) * frequencies[static_cast<std::size_t>(r)];
      };
      const auto rows = [&](pes::Table& table, auto value) {
        return s.upload({s.length, n}, table.range(s.offset, s.length, n, value));
      };
      c = rows(cosines, [&](auto i, auto r) { return std::cos(angle(i, r)); });
      d = rows(sines, [&](auto i, auto r) { return std::sin(angle(i, r)); });
    };
    const E& self = static_cast<const E&>(*this);
    turn(
        q_cosines, q_sines, [&](double i) { return self.query_place(i); }, q_cos, q_sin);
    turn(
        k_cosines, k_sines, [&](double j) { return self.key_place(j); }, k_cos, k_sin);
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    rotary::Rotary<E>::attend(s, a);
    a.rewrite = far;
  }
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    const std::int64_t rows = b.scores.extent(2), keys = b.scores.extent(3), D = b.q.extent(3);
    const auto of = [](pes::Tensor table, std::int64_t first, std::int64_t n) {
      return slice(table, 0, first, n);
    };
    const pes::Tensor q = rotate(b.q, of(q_cos, b.first, rows), of(q_sin, b.first, rows),
                                 this->pairs),
                      k = rotate(b.k, of(k_cos, 0, keys), of(k_sin, 0, keys), this->pairs);
    // the query heads that share a key head stand side by side
    const pes::Tensor grouped = reshape(q, {s.batch, kv_heads, heads / kv_heads * rows, D});
    const pes::Tensor remapped =
        reshape(matmul(grouped, k, true) * b.scale, {s.batch, heads, rows, keys});
    const pes::Tensor near =
        s.table({rows, keys}, [&](auto i, auto j) { return b.first + i - j < window ? 1.0 : 0.0; });
    b.scores = remapped + near * (b.scores - remapped);
  }

 protected:
  Remap(const pes_model& m, const pes::Values& v, double share)
      : rotary::Rotary<E>(m, v),
        heads(m.heads),
        kv_heads(m.kv_heads),
        window(v.integer("window") > 0
                   ? v.integer("window")
                   : std::max<std::int64_t>(1, std::llround(share * m.train_length))),
        base(pes::base_of(m, v)),
        frequencies(rotary::powers(base, this->R)) {}

  std::int64_t heads, kv_heads, window;
  double base;
  std::vector<double> frequencies;
  bool far = false;  // the step has distances beyond the window
  pes::Table q_cosines, q_sines, k_cosines, k_sines;
  pes::Tensor q_cos, q_sin, k_cos, k_sin;
};

struct SelfExtend : Remap<SelfExtend> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      option::window,
      pes::integer("group", "0", 0, 1 << 24,
                   "far tokens that share a position; 0: as many as bring the longest sequence of "
                   "the model into the training length"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<SelfExtend>(
      {.name = "self_extend",
       .summary = "RoPE whose far tokens share positions in groups, without training",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Jin et al. 2024, arXiv:2401.01325",
       .bibtex =
           "@inproceedings{jin2024selfextend, title={LLM Maybe LongLM: Self-Extend LLM "
           "Context Window Without Tuning}, author={Jin, Hongye and Han, Xiaotian and Yang, "
           "Jingfeng and Jiang, Zhimeng and Liu, Zirui and Chang, Chia-Yuan and Chen, Huiyuan "
           "and Hu, Xia}, booktitle={ICML}, year={2024}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Jin et al. 2024, without tuning)",
       .extension = "2-8x (Jin et al. 2024, without tuning)",
       .extends = "rope",
       .use_if =
           "a RoPE model is extended and nothing may be trained|a second pass over the scores "
           "is affordable",
       .uses = PES_WITHOUT_TUNING});

  double group;

  SelfExtend(const pes_model& m, const pes::Values& v) : Remap(m, v, 0.25) {
    const std::int64_t room = std::max<std::int64_t>(1, m.train_length - window),
                       wanted = std::max<std::int64_t>(1, m.max_length - window);
    const std::int64_t given = v.integer("group");
    group = static_cast<double>(given > 0 ? given : (wanted + room - 1) / room);
  }
  double query_place(double i) const {
    const auto w = static_cast<double>(window);
    return std::floor(i / group) + w - std::floor(w / group);
  }
  double key_place(double j) const { return std::floor(j / group); }
};

struct ReRope : Remap<ReRope> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      option::window,
      pes::real("leak", "0", 0, 1e6,
                "distances beyond the window grow by 1/leak a token (Leaky ReRoPE); 0: not at all"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<ReRope>(
      {.name = "rerope",
       .summary = "RoPE with all distances beyond a window cut to it, without training",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Su 2023, kexue.fm/archives/9708",
       .bibtex = "@misc{su2023rerope, title={Rectified Rotary Position Embeddings}, author={Su, "
                 "Jianlin}, year={2023}, howpublished={https://github.com/bojone/rerope}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Su 2023, without tuning)",
       .extension = "unlimited (Su 2023, without tuning)",
       .extends = "rope",
       .use_if =
           "a RoPE model is extended and nothing may be trained|a second pass over the scores "
           "is affordable",
       .uses = PES_WITHOUT_TUNING});

  double leak;

  ReRope(const pes_model& m, const pes::Values& v) : Remap(m, v, 0.5), leak(v.real("leak")) {}
  double query_place(double i) const {
    const auto w = static_cast<double>(window);
    return leak > 0 ? w + (i - w) / leak : w;
  }
  double key_place(double j) const { return leak > 0 ? j / leak : 0; }
};

}  // namespace

extern const pes_encoding self_extend = pes::encoding<SelfExtend>;
extern const pes_encoding rerope = pes::encoding<ReRope>;
