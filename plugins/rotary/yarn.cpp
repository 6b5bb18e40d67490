// YaRN, Peng et al. 2023, sections 3.2 to 3.4: pairs that turn often in training keep their
// frequency, pairs that never complete a turn are interpolated, and scores are scaled up a little.
#include "rotary.h"

namespace {

struct Yarn : rotary::Rotary<Yarn> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::option::factor,
      rotary::option::scale,
      rotary::option::original,
      rotary::option::dynamic,
      rotary::option::beta_fast,
      rotary::option::beta_slow,
      pes::flag("truncate", "true", "round the ends of the ramp between the two to whole pairs"),
      pes::real("extrapolation_factor", "1", 0, 1, "share that the fastest pairs keep"),
      pes::real("attention_factor", "0", 0, 1e6,
                "factor m of cos and sin; 0: 0.1 ln s + 1, or from mscale and mscale_all_dim"),
      pes::real("attn_factor", "1", 0, 1e6, "multiplies the factor m that is derived"),
      pes::real("mscale", "0", 0, 1e6, "with mscale_all_dim: m = (0.1 mscale ln s + 1) / ..."),
      pes::real("mscale_all_dim", "0", 0, 1e6, "... (0.1 mscale_all_dim ln s + 1), as in DeepSeek"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<Yarn>(
      {.name = "yarn",
       .summary = "RoPE whose slow pairs are interpolated and fast ones kept, with warmer scores",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Qwen 2.5, DeepSeek V2 and V3, gpt-oss",
       .paper = "Peng et al. 2023, arXiv:2309.00071",
       .bibtex = "@inproceedings{peng2024yarn, title={YaRN: Efficient Context Window Extension of "
                 "Large Language Models}, author={Peng, Bowen and Quesnelle, Jeffrey and Fan, "
                 "Honglu and Shippole, Enrico}, booktitle={ICLR}, year={2024}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "excellent (Peng et al. 2023, after tuning)",
       .extension = "2-32x (Peng et al. 2023, after tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is extended to longer contexts|quality on short contexts has to "
                 "stay|the model can be tuned on longer sequences",
       .uses = PES_WITHOUT_TUNING,
       .tune = "base=0|beta_fast=2.5"});

  rotary::Extension extension;
  double base, fast, slow, kept_share, attention_factor, attn_factor, mscale, mscale_all_dim;
  bool dynamic, truncate, resonance;

  Yarn(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::Extension(m, v)),
        extension(m, v),
        base(pes::base_of(m, v)),
        fast(v.real("beta_fast")),
        slow(v.real("beta_slow")),
        kept_share(v.real("extrapolation_factor")),
        attention_factor(v.real("attention_factor")),
        attn_factor(v.real("attn_factor")),
        mscale(v.real("mscale")),
        mscale_all_dim(v.real("mscale_all_dim")),
        dynamic(v.flag("dynamic")),
        truncate(v.flag("truncate")),
        resonance(v.flag("resonance")) {}

  double magnitude(double s) const {
    if (attention_factor > 0) return attention_factor;
    const auto warmth = [&](double x) { return s > 1 ? 0.1 * x * std::log(s) + 1 : 1; };
    const bool both = mscale > 0 && mscale_all_dim > 0;
    return attn_factor * (both ? warmth(mscale) / warmth(mscale_all_dim) : warmth(1));
  }
  rotary::Angles angles(std::int64_t length) const {
    const double s = dynamic ? extension.at(length) : extension.factor;
    std::vector<double> f = rotary::powers(base, R);
    if (dynamic && s == 1) return {std::move(f), 1, resonance};
    const auto keep = rotary::kept(fast, slow, extension.original, base, R, truncate);
    for (std::size_t r = 0; r < f.size(); ++r)
      f[r] = rotary::mix(f[r] / s, f[r], keep[r] * kept_share);
    return {std::move(f), magnitude(s), resonance};
  }
};

}  // namespace

extern const pes_encoding yarn = pes::encoding<Yarn>;
