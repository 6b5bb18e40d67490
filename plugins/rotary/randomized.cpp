// Randomized positions, Ruoss et al. 2023, section 3: T distinct positions below M, drawn and put
// in order, stand for 0 .. T-1 in another encoding, in training and in evaluation, so that training
// on short sequences shows every position that long ones will have.
#include "rotary.h"

namespace {

struct Randomized : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::choice("encoding", "rotary", "rotary|sinusoidal|learned",
                  "what the drawn positions enter"),
      pes::integer("max", "0", 0, 1 << 24,
                   "M: positions are drawn from 0 .. M-1; 0: 2048, or twice the longest length "
                   "where that is more"),
      rotary::option::base,
      pes::choice("layout", "half", "half|interleaved",
                  "rotary: features of a pair; sinusoidal: sines before cosines, or side by side"),
      pes::flag("scale_embedding", "true", "sinusoidal: multiply embeddings by sqrt(W) first"),
      pes::reals("positions", "[]", 0, 1 << 24, "these positions instead of a draw")};
  static constexpr pes_card card = pes::card<Randomized>(
      {.name = "randomized",
       .summary = "an ordered random subset of a longer range in place of positions 0 .. T-1",
       .taxonomy = "absolute or relative, fixed or learned, randomized",
       .paper = "Ruoss et al. 2023, arXiv:2305.16843",
       .bibtex = "@inproceedings{ruoss2023randomized, title={Randomized Positional Encodings Boost "
                 "Length Generalization of Transformers}, author={Ruoss, Anian and Deletang, "
                 "Gregoire and Genewein, Tim and Grau-Moya, Jordi and Csordas, Robert and Bennani, "
                 "Mehdi and Legg, Shane and Veness, Joel}, booktitle={ACL}, year={2023}}",
       .claims = PES_PARAMETER_FREE | PES_NORM_PRESERVING,
       .cost = "minimal",
       .rating = "good (Ruoss et al. 2023, algorithmic tasks)",
       .extension = "2-12x (Ruoss et al. 2023, algorithmic tasks)",
       .use_if = "a task is about order, not about exact distances|the longest length of "
                 "deployment is known|a model is trained from scratch on short sequences",
       .tune = "base=0|base=1000"});

  std::int64_t width, max;
  bool turns, sinusoidal, interleaved, scale_embedding;
  std::vector<double> given;
  pes::Param table;
  rotary::Phases phases;

  Randomized(const pes_model& m, const pes::Values& v)
      : width(v.is("encoding", "rotary") ? m.head_dim : m.width),
        max(v.integer("max") > 0 ? v.integer("max")
                                 : std::max<std::int64_t>(2048, 2 * std::int64_t{m.max_length})),
        turns(v.is("encoding", "rotary")),
        sinusoidal(v.is("encoding", "sinusoidal")),
        interleaved(v.is("layout", "interleaved")),
        scale_embedding(v.flag("scale_embedding")),
        given(v.reals("positions")) {
    if ((turns || sinusoidal) && width % 2 != 0)
      throw pes::Refusal("needs an even size, not " + std::to_string(width));
    if (given.empty() && m.max_length > max)
      throw pes::Refusal("cannot draw " + std::to_string(m.max_length) +
                         " positions below max=" + std::to_string(max) + "; raise max");
    std::sort(given.begin(), given.end());
    for (const double x : given) max = std::max(max, static_cast<std::int64_t>(x) + 1);
    phases.set({rotary::powers(pes::base_of(m, v), width)});
    if (v.is("encoding", "learned")) table = param("table", {max, m.width}, pes::normal(0.02));
  }
  // Of the pass's tokens. q and k of a layer share a draw; layers do not.
  std::vector<double> positions(const pes::Step& s, int layer) const {
    std::vector<double> all = given;
    pes::Random random(s.seed, pes::purpose("positions"), static_cast<std::uint64_t>(layer + 1));
    if (given.empty()) rotary::draw_ordered(random, s.offset + s.length, max, all);
    return rotary::of_pass(s, all, "give more, or raise max");
  }
  bool stale(int, int) const { return given.empty(); }  // another draw
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    if (turns) return x;
    const std::vector<double> at = positions(s, -1);
    if (!sinusoidal) return x + rows(s[table], s.upload({s.length}, at.data()));
    if (scale_embedding) x = x * std::sqrt(width);
    pes::Tensor cos, sin;
    phases.upload(s, at, cos, sin);
    if (!interleaved) return x + concat(sin, cos, -1);
    const std::int64_t T = s.length, n = width / 2;
    return x + reshape(concat(reshape(sin, {T, n, 1}), reshape(cos, {T, n, 1}), -1), {T, 2 * n});
  }
  void attend(const pes::Step& s, pes::Attention& a) const {
    if (!turns) return;
    pes::Tensor cos, sin;
    phases.upload(s, positions(s, a.layer), cos, sin);
    const pes_pairs pairs = interleaved ? PES_PAIRS_INTERLEAVED : PES_PAIRS_HALF;
    a.q = rotate(a.q, cos, sin, pairs);
    a.k = rotate(a.k, cos, sin, pairs);
  }
};

}  // namespace

extern const pes_encoding randomized = pes::encoding<Randomized>;
