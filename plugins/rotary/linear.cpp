// Linear position interpolation, Chen et al. 2023, equation 4: positions are divided by the factor
// s, so that s times the training length fits into the range of angles that training showed.
#include "rotary.h"

namespace {

struct Linear : rotary::Rotary<Linear> {
  static constexpr pes_option options[] = {
      rotary::option::base,    rotary::option::layout,    rotary::option::features,
      rotary::option::factor,  rotary::option::scale,     rotary::option::original,
      rotary::option::dynamic, rotary::option::resonance, rotary::option::log_n};
  static constexpr pes_card card = pes::card<Linear>(
      {.name = "linear",
       .summary = "position interpolation: RoPE with positions divided by a factor",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "LongChat, Vicuna 16k",
       .paper = "Chen et al. 2023, arXiv:2306.15595",
       .bibtex = "@article{chen2023extending, title={Extending Context Window of Large Language "
                 "Models via Positional Interpolation}, author={Chen, Shouyuan and Wong, Sherman "
                 "and Chen, Liangjian and Tian, Yuandong}, journal={arXiv:2306.15595}, "
                 "year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "good (Chen et al. 2023, after tuning)",
       .extension = "2-16x (Chen et al. 2023, after tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is extended and can be tuned|the simplest extension will do",
       .tune = "base=0|base=1000"});

  rotary::Extension extension;
  double base;
  bool dynamic, resonance;

  Linear(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::Extension(m, v)),
        extension(m, v),
        base(pes::base_of(m, v)),
        dynamic(v.flag("dynamic")),
        resonance(v.flag("resonance")) {}
  rotary::Angles angles(std::int64_t length) const {
    std::vector<double> f = rotary::powers(base, R);
    for (double& x : f) x /= dynamic ? extension.at(length) : extension.factor;
    return {std::move(f), 1, resonance};
  }
};

}  // namespace

extern const pes_encoding linear = pes::encoding<Linear>;
