// Llama 3's scaling of RoPE (Meta 2024, models/llama3): wavelengths beyond L/low are stretched by
// the factor s, those below L/high kept, and between the two the share is linear in L/wavelength.
#include "rotary.h"

namespace {

struct Llama3 : rotary::Rotary<Llama3> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::option::factor,
      rotary::option::scale,
      rotary::option::original,
      pes::real("low_freq_factor", "1", 1e-6, 1e6,
                "pairs that turn less often in original positions are divided by the factor"),
      pes::real("high_freq_factor", "4", 1e-6, 1e6, "pairs that turn more often are kept"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<Llama3>(
      {.name = "llama3",
       .summary = "RoPE with wavelengths past the training length stretched and short ones kept",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Llama 3.1, 3.2 and 3.3",
       .paper = "Grattafiori et al. 2024, arXiv:2407.21783",
       .bibtex = "@article{grattafiori2024llama, title={The Llama 3 Herd of Models}, "
                 "author={Grattafiori, Aaron and others}, journal={arXiv:2407.21783}, year={2024}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .extension = "2-16x (Grattafiori et al. 2024, after tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is extended and trained further on long sequences|scores should "
                 "keep their scale",
       .tune = "base=0|base=1000"});

  rotary::Extension extension;
  double base, low, high;
  bool resonance;

  Llama3(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::Extension(m, v)),
        extension(m, v),
        base(pes::base_of(m, v)),
        low(v.real("low_freq_factor")),
        high(v.real("high_freq_factor")),
        resonance(v.flag("resonance")) {
    if (low >= high)
      throw pes::Refusal(std::string("needs low_freq_factor below high_freq_factor, not ") +
                         v.text("low_freq_factor") + " and " + v.text("high_freq_factor"));
  }
  rotary::Angles angles(std::int64_t) const {
    std::vector<double> f = rotary::powers(base, R);
    for (double& x : f) {
      const double turns = extension.original * x / (2 * std::numbers::pi);
      const double keep = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      x = rotary::mix(x / extension.factor, x, keep);
    }
    return {std::move(f), 1, resonance};
  }
};

}  // namespace

extern const pes_encoding llama3 = pes::encoding<Llama3>;
