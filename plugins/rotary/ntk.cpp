// NTK-aware scaling, bloc97 2023: a larger base leaves the fastest pair alone and divides the
// slowest frequency by the factor s. Dynamic: the base follows the sequence's length. By parts:
// YaRN's predecessor, which mixes linear, NTK-aware and unchanged frequencies.
#include "rotary.h"

namespace {

struct Ntk : rotary::Rotary<Ntk> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      pes::real("factor", "0", 0, 1e6,
                "how many times the range grows; 0: longest length of the model / original; with "
                "dynamic a multiplier f of the growth: s = f length/original - (f-1), 0: 1"),
      rotary::option::scale,
      rotary::option::original,
      rotary::option::dynamic,
      pes::flag("by_parts", "false",
                "pairs that turn less than 0.75 times in original positions are interpolated, more "
                "than 16 times kept, 1.25 to 2 times NTK-aware"),
      pes::real("ntk_factor", "1", 0, 1, "by_parts: share of NTK-aware where it is strongest"),
      pes::real("extrapolation_factor", "1", 0, 1, "by_parts: share kept of the fastest pairs"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<Ntk>(
      {.name = "ntk",
       .summary = "NTK-aware scaling: RoPE with a base that slows slow pairs and spares fast ones",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Qwen 7B (dynamic)",
       .paper = "bloc97 2023, reddit.com/r/LocalLLaMA/comments/14lz7j5; Peng et al. 2023, "
                "arXiv:2309.00071, section 3.1",
       .bibtex = "@misc{bloc972023ntk, title={NTK-Aware Scaled RoPE allows LLaMA models to have "
                 "extended (8k+) context size without any fine-tuning and minimal perplexity "
                 "degradation}, author={bloc97}, year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "good (bloc97 2023; Peng et al. 2023: reaches less far than its factor)",
       .extension = "2-4x (bloc97 2023)",
       .extends = "rope",
       .use_if = "a RoPE model is extended about twice, by a factor above that|there is no budget "
                 "to tune it|fast and "
                 "slow pairs should be scaled differently",
       .uses = PES_WITHOUT_TUNING,
       .tune = "base=0|base=1000"});

  rotary::Extension extension;
  double base, ntk_share, kept_share;
  bool dynamic, by_parts, resonance;

  Ntk(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::Extension(m, v)),
        extension(m, v),
        base(pes::base_of(m, v)),
        ntk_share(v.real("ntk_factor")),
        kept_share(v.real("extrapolation_factor")),
        dynamic(v.flag("dynamic")),
        by_parts(v.flag("by_parts")),
        resonance(v.flag("resonance")) {}

  double growth(std::int64_t length) const {
    if (!dynamic) return extension.factor;
    const double f = extension.given > 0 ? extension.given : 1;
    return by_parts ? extension.at(length) : f * extension.at(length) - (f - 1);
  }
  rotary::Angles angles(std::int64_t length) const {
    const double s = growth(length);
    std::vector<double> f = rotary::powers(rotary::ntk_base(base, s, R), R);
    if (by_parts) {
      const double L = extension.original;
      const std::vector<double> unchanged = rotary::powers(base, R);
      const std::vector<double> ntk = rotary::kept(1.25, 0.75, L, base, R),
                                keep = rotary::kept(16, 2, L, base, R);
      for (std::size_t r = 0; r < f.size(); ++r) {
        const double slow = rotary::mix(unchanged[r] / s, f[r], ntk[r] * ntk_share);
        f[r] = rotary::mix(slow, unchanged[r], keep[r] * kept_share);
      }
    }
    return {std::move(f), 1, resonance};
  }
};

}  // namespace

extern const pes_encoding ntk = pes::encoding<Ntk>;
