// Resonance RoPE, Wang et al. 2024, section 4: each wavelength is rounded to a whole number of
// positions, so that a pair beyond its first turn only repeats angles that it has shown before.
// rope(resonance=true) is the same; what scales RoPE has that option too.
#include "rotary.h"

namespace {

struct Resonance : rotary::Rotary<Resonance> {
  static constexpr pes_option options[] = {rotary::option::base, rotary::option::layout,
                                           rotary::option::features, rotary::option::log_n};
  static constexpr pes_card card = pes::card<Resonance>(
      {.name = "resonance",
       .summary = "RoPE with wavelengths rounded to whole positions",
       .taxonomy = "relative, fixed, multiplicative",
       .paper = "Wang et al. 2024, arXiv:2403.00071",
       .bibtex = "@inproceedings{wang2024resonance, title={Resonance RoPE: Improving Context "
                 "Length Generalization of Large Language Models}, author={Wang, Suyuchen and "
                 "Kobyzev, Ivan and Lu, Peng and Rezagholizadeh, Mehdi and Liu, Bang}, "
                 "booktitle={Findings of ACL}, year={2024}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "poor (Wang et al. 2024, table 1, without YaRN)",
       .use_if = "angles should repeat exactly|the question is what whole wavelengths change",
       .tune = "base=0|base=1000"});

  double base;
  Resonance(const pes_model& m, const pes::Values& v) : Rotary(m, v), base(pes::base_of(m, v)) {}
  rotary::Angles angles(std::int64_t) const { return {rotary::powers(base, R), 1, true}; }
};

}  // namespace

extern const pes_encoding resonance = pes::encoding<Resonance>;
