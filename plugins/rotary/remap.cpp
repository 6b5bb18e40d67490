// Far tokens at positions that training has seen, and all of them in sight.
//
// self_extend, Jin et al. 2024, equations 3 and 4: floor(i/G) + w - floor(w/G) and floor(j/G).
// rerope, Su 2023: the distance w for all, or w + (i - j - w)/k with a factor k (Leaky ReRoPE).
// dual_chunk, An et al. 2024, equations 3 to 7, as its code has them: in chunks of s tokens keys
// stand at j mod s, queries as they are for their own chunk, at most c for the one before, and at
// c for all others.
#include "remap.h"

namespace {

struct SelfExtend : rotary::Remap<SelfExtend> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::window_of("distances below it stay as they are; 0: a share of the training length"),
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

  std::int64_t window;
  double group;

  SelfExtend(const pes_model& m, const pes::Values& v)
      : Remap(m, v), window(rotary::window_or(v, 0.25 * m.train_length)) {
    const std::int64_t room = std::max<std::int64_t>(1, m.train_length - window),
                       wanted = std::max<std::int64_t>(1, m.max_length - window);
    const std::int64_t given = v.integer("group");
    group = static_cast<double>(given > 0 ? given : (wanted + room - 1) / room);
  }
  std::int64_t first_far() const { return window; }
  std::int64_t near_from(std::int64_t i) const { return i - window + 1; }
  double query_place(double i) const {
    const auto w = static_cast<double>(window);
    return std::floor(i / group) + w - std::floor(w / group);
  }
  double key_place(double j) const { return std::floor(j / group); }
};

struct ReRope : rotary::Remap<ReRope> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::window_of("distances below it stay as they are; 0: a share of the training length"),
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

  std::int64_t window;
  double leak;

  ReRope(const pes_model& m, const pes::Values& v)
      : Remap(m, v), window(rotary::window_or(v, 0.5 * m.train_length)), leak(v.real("leak")) {}
  std::int64_t first_far() const { return window; }
  std::int64_t near_from(std::int64_t i) const { return i - window + 1; }
  double query_place(double i) const {
    const auto w = static_cast<double>(window);
    return leak > 0 ? w + (i - w) / leak : w;
  }
  double key_place(double j) const { return leak > 0 ? j / leak : 0; }
};

struct DualChunk : rotary::Remap<DualChunk> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      pes::integer("chunk", "0", 0, 1 << 24,
                   "largest distance that occurs; 0: three quarters of original"),
      rotary::window_of("tokens before a chunk whose distance stays as it is; a chunk has `chunk` "
                        "less these; 0: an eighth of original"),
      rotary::option::original,
      pes::real("mscale", "0", 0, 1e6,
                "scores of sequences of T tokens, more than original, grow by "
                "mscale ln(T / original) + 1: 0.1 in Qwen2.5-1M"),
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<DualChunk>(
      {.name = "dual_chunk",
       .summary = "RoPE with positions that begin anew in each chunk of tokens, without training",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Qwen2.5-1M",
       .paper = "An et al. 2024, arXiv:2402.17463",
       .bibtex = "@inproceedings{an2024training, title={Training-Free Long-Context Scaling of "
                 "Large Language Models}, author={An, Chenxin and Huang, Fei and Zhang, Jun and "
                 "Gong, Shansan and Qiu, Xipeng and Zhou, Chang and Kong, Lingpeng}, "
                 "booktitle={ICML}, year={2024}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "moderate",
       .rating = "good (An et al. 2024, without tuning)",
       .extension = "8-32x (An et al. 2024, without tuning)",
       .extends = "rope",
       .use_if =
           "a RoPE model is extended and nothing may be trained|a second pass over the scores "
           "is affordable",
       .uses = PES_WITHOUT_TUNING});

  std::int64_t window, largest;
  std::int64_t tokens;  // of a chunk
  double original, mscale;

  DualChunk(const pes_model& m, const pes::Values& v)
      : Remap(m, v),
        window(rotary::window_or(v, std::floor(rotary::trained(m, v) / 8))),
        largest(v.integer("chunk") > 0 ? v.integer("chunk")
                                       : std::max(window + 1, static_cast<std::int64_t>(
                                                                  rotary::trained(m, v) * 3 / 4))),
        tokens(largest - window),
        original(rotary::trained(m, v)),
        mscale(v.real("mscale")) {
    if (window >= largest)
      throw pes::Refusal("option 'window' wants less than 'chunk', " + std::to_string(largest) +
                         ", not " + std::to_string(window));
  }
  rotary::Angles angles(std::int64_t length) const {
    rotary::Angles a = Remap::angles(length);
    const double s = static_cast<double>(length) / original;
    if (s > 1) a.factor = std::sqrt(mscale * std::log(s) + 1);  // of q and of k
    return a;
  }
  // The chunk before is near as far as its distances are below the largest.
  std::int64_t first_far() const { return std::min(largest + 1, 2 * tokens); }
  std::int64_t near_from(std::int64_t i) const {
    const std::int64_t chunk = i / tokens;
    return i % tokens + tokens <= largest ? (chunk - 1) * tokens : chunk * tokens;
  }
  double query_place(double) const {
    return static_cast<double>(std::min(largest, 2 * tokens - 1));
  }
  double key_place(double j) const { return std::fmod(j, static_cast<double>(tokens)); }
};

}  // namespace

extern const pes_encoding self_extend = pes::encoding<SelfExtend>;
extern const pes_encoding rerope = pes::encoding<ReRope>;
extern const pes_encoding dual_chunk = pes::encoding<DualChunk>;
