// Positional skip-wise training (PoSE), Zhu et al. 2024: training on short sequences reads them at
// the positions of long ones. A sequence is cut into chunks, whose positions follow one another
// within and skip some between. Evaluation reads consecutive positions.
#include "rotary.h"

namespace {

struct Pose : rotary::Rotary<Pose> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      pes::integer("target", "0", 0, 1 << 24,
                   "Lt: training shows positions below it; 0: longest length of the model"),
      pes::integer("chunks", "2", 1, 1 << 24, "N: a sequence is cut into so many; 1: no skip"),
      pes::choice("interpolation", "linear", "none|linear|ntk|yarn",
                  "how angles are fitted to target / original times the range, as the encodings "
                  "of these names do"),
      rotary::option::original,
      pes::real("beta_fast", "0", 0, 1e12,
                "yarn: pairs that turn more often than this in original positions keep their "
                "frequency; 0: 32, or original / 8 pi where that is less"),
      rotary::option::beta_slow,
      rotary::option::log_n,
      pes::reals("positions", "[]", 0, 1 << 24, "these positions instead of a draw")};
  static constexpr pes_card card = pes::card<Pose>(
      {.name = "pose",
       .summary = "RoPE trained with skips between the positions of chunks, for longer contexts",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Zhu et al. 2024, arXiv:2309.10400",
       .bibtex = "@inproceedings{zhu2024pose, title={PoSE: Efficient Context Window Extension of "
                 "LLMs via Positional Skip-wise Training}, author={Zhu, Dawei and Yang, Nan and "
                 "Wang, Liang and Song, Yifan and Wu, Wenhao and Wei, Furu and Li, Sujian}, "
                 "booktitle={ICLR}, year={2024}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "good (Zhu et al. 2024, after tuning)",
       .extension = "8-64x (Zhu et al. 2024, after tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is extended and can be tuned|tuning has to stay at the original "
                 "length: no longer texts, or no memory for them",
       .tune = "base=0|interpolation=yarn"});

  rotary::Angles turns;
  std::int64_t target, chunks;
  std::vector<double> given;

  Pose(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::turned(m, v), rotary::trained(m, v)),
        target(v.integer("target") > 0 ? v.integer("target") : m.max_length),
        chunks(v.integer("chunks")),
        given(v.reals("positions")) {
    const double original = rotary::trained(m, v), base = pes::base_of(m, v);
    const double s = std::max(1.0, static_cast<double>(target) / original);
    turns.frequencies =
        rotary::powers(v.is("interpolation", "ntk") ? rotary::ntk_base(base, s, R) : base, R);
    if (v.is("interpolation", "linear"))
      for (double& f : turns.frequencies) f /= s;
    if (v.is("interpolation", "yarn") && s > 1) {
      const double usual = std::min(32.0, original / (8 * std::numbers::pi));
      const double fast = v.real("beta_fast") > 0 ? v.real("beta_fast") : usual;
      const auto keep = rotary::kept(fast, v.real("beta_slow"), original, base, R);
      for (std::size_t r = 0; r < keep.size(); ++r)
        turns.frequencies[r] = rotary::mix(turns.frequencies[r] / s, turns.frequencies[r], keep[r]);
      turns.factor = 0.1 * std::log(s) + 1;
    }
  }
  const rotary::Angles& angles(std::int64_t) const { return turns; }

  void begin(const pes::Step& s) {
    if (s.phase == PES_EVAL && given.empty()) return Rotary::begin(s);
    phases.set(turns);
    // all sequences of a step share a draw, and so do its layers
    const std::vector<double> all = given.empty() ? drawn(s.seed, s.offset + s.length) : given;
    phases.upload(s, rotary::of_pass(s, all, "give more"), cos, sin);
    scaling.begin(s);
  }
  // Equations 3 and 4: chunk i begins at st_i + u_i, u_i uniform on u_(i-1) .. Lt - T, u_0 = 0. All
  // but the last have 1 to ceil(T/N) tokens, uniformly, as the authors' code has for N = 2.
  std::vector<double> drawn(std::uint64_t seed, std::int64_t T) const {
    pes::Random random(seed, pes::purpose("positions"), 0);
    const auto uniform = [&](std::int64_t low, std::int64_t high) {  // both included
      return low +
             static_cast<std::int64_t>(random.below64(static_cast<std::uint64_t>(high - low + 1)));
    };
    const std::int64_t room = std::max<std::int64_t>(0, target - T);
    std::vector<double> out;
    std::int64_t skipped = 0;
    for (std::int64_t i = 0; std::ssize(out) < T; ++i) {
      const std::int64_t left = T - std::ssize(out);
      const std::int64_t tokens =
          i + 1 >= chunks ? left : std::min(left, uniform(1, (T + chunks - 1) / chunks));
      if (i > 0) skipped = uniform(skipped, room);
      for (std::int64_t t = 0; t < tokens; ++t)
        out.push_back(static_cast<double>(skipped + std::ssize(out)));
    }
    return out;
  }
};

}  // namespace

extern const pes_encoding pose = pes::encoding<Pose>;
