// The last tokens and a few first ones, on which trained heads rest their weight; all else is out
// of sight, so that no distance grows.
//
// lm_infinite, Han et al. 2024, section 4: the first tokens stand at one distance, the ceiling.
// streaming_llm, Xiao et al. 2024, section 3.2: positions are those in a cache of both kinds.
#include "remap.h"

namespace {

constexpr pes_option sinks_of(const char* usual) {
  return pes::integer("sinks", usual, 0, 1 << 24,
                      "first tokens of a sequence that stay in sight; 0: none (window attention)");
}

// Base of an encoding E: what Remap wants of it, less near_from(). `usual`: the window where none
// is given.
template <class E>
struct InSight : rotary::Remap<E> {
  using Base = rotary::Remap<E>;

  std::int64_t sinks, window, seen = 0;  // seen: of the step's keys those that are sinks
  pes::Tensor in_sight;                  // [1, T], by distance

  InSight(const pes_model& m, const pes::Values& v, std::int64_t usual)
      : Base(m, v),
        sinks(v.integer("sinks")),
        window(rotary::window_or(v, static_cast<double>(usual))) {}
  std::int64_t near_from(std::int64_t i) const {
    return i < this->self().first_far() ? 0 : i - window + 1;
  }
  void begin(const pes::Step& s) {
    seen = std::clamp<std::int64_t>(sinks - s.offset, 0, s.length);
    Base::begin(s, seen);
    constexpr double hidden = -1e9;
    if (this->far)
      in_sight = s.table({1, std::int64_t{s.offset} + s.length},
                         [&](auto, auto n) { return n < window ? 0 : hidden; });
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    Base::attend(s, a);
    if (!this->far) return;
    a.distance = in_sight;
    a.rewrite = seen > 0;
  }
  // Brings sinks that are hidden back into sight.
  void rewrite(const pes::Step& s, pes::Scores& b) const {
    if (!this->reaches(b, window)) return;
    const std::int64_t all = b.scores.extent(3), n = std::min(seen, all);
    const pes::Tensor own = this->product(b, b.q, this->first_keys(b, n)),
                      first = this->mixed(s, b, own);
    b.scores = n == all ? first : concat(first, slice(b.scores, 3, n, all - n), 3);
  }
};

struct LmInfinite : InSight<LmInfinite> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::window_of("last tokens in sight, its own included; 0: the training length"),
      sinks_of("10"),
      pes::integer("distance", "0", 0, 1 << 24,
                   "at which the first tokens stand beyond the window; 0: the window"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<LmInfinite>(
      {.name = "lm_infinite",
       .summary = "RoPE that sees its last tokens and the first ones, at a distance that is capped",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Han et al. 2024, arXiv:2308.16137",
       .bibtex = "@inproceedings{han2024lminfinite, title={LM-Infinite: Zero-Shot Extreme Length "
                 "Generalization for Large Language Models}, author={Han, Chi and Wang, Qifan and "
                 "Peng, Hao and Xiong, Wenhan and Chen, Yu and Ji, Heng and Wang, Sinong}, "
                 "booktitle={NAACL}, year={2024}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Han et al. 2024, without tuning)",
       .extension = "unlimited (Han et al. 2024, without tuning)",
       .extends = "rope",
       .use_if = "a RoPE model reads on and on, nothing may be trained, and what is far may be "
                 "forgotten",
       .uses = PES_WITHOUT_TUNING});

  std::int64_t distance;

  LmInfinite(const pes_model& m, const pes::Values& v)
      : InSight(m, v, m.train_length),
        distance(v.integer("distance") > 0 ? v.integer("distance") : window) {}
  std::int64_t first_far() const { return window; }
  double query_place(double) const { return static_cast<double>(distance); }
  double key_place(double) const { return 0; }
};

struct StreamingLlm : InSight<StreamingLlm> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::window_of("last tokens in sight, its own included; 0: the training length less the "
                        "sinks"),
      sinks_of("4"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<StreamingLlm>(
      {.name = "streaming_llm",
       .summary = "RoPE that sees its last tokens and the first ones, at positions within these",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Xiao et al. 2024, arXiv:2309.17453",
       .bibtex = "@inproceedings{xiao2024streaming, title={Efficient Streaming Language Models "
                 "with Attention Sinks}, author={Xiao, Guangxuan and Tian, Yuandong and Chen, "
                 "Beidi and Han, Song and Lewis, Mike}, booktitle={ICLR}, year={2024}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (Xiao et al. 2024, without tuning)",
       .extension = "unlimited (Xiao et al. 2024, without tuning)",
       .extends = "rope",
       .use_if = "a RoPE model reads on and on, nothing may be trained, and what is far may be "
                 "forgotten",
       .uses = PES_WITHOUT_TUNING});

  StreamingLlm(const pes_model& m, const pes::Values& v)
      : InSight(m, v, m.train_length - v.integer("sinks")) {}
  // Until the cache is full nothing leaves it.
  std::int64_t first_far() const { return sinks + window; }
  double query_place(double) const { return static_cast<double>(sinks + window - 1); }
  double key_place(double j) const { return j; }
};

}  // namespace

extern const pes_encoding lm_infinite = pes::encoding<LmInfinite>;
extern const pes_encoding streaming_llm = pes::encoding<StreamingLlm>;
