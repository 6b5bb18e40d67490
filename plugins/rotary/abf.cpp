// Adjusted base frequency, Xiong et al. 2023, section 2.1: RoPE whose base grows from 10000 to
// 500000, so that slow pairs turn less over a long context. rope(base=500000) is the same.
#include "rotary.h"

namespace {

struct Abf : rotary::Rotary<Abf> {
  static constexpr pes_option options[] = {rotary::option::base_of("500000"),
                                           rotary::option::layout, rotary::option::features,
                                           rotary::option::resonance, rotary::option::log_n};
  static constexpr pes_card card = pes::card<Abf>(
      {.name = "abf",
       .summary = "RoPE with a larger base, which slows the slow pairs",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Llama 2 Long, Code Llama, Llama 3",
       .paper = "Xiong et al. 2023, arXiv:2309.16039",
       .bibtex = "@article{xiong2023effective, title={Effective Long-Context Scaling of Foundation "
                 "Models}, author={Xiong, Wenhan and Liu, Jingyu and Molybog, Igor and others}, "
                 "journal={arXiv:2309.16039}, year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .extension = "2-8x (Xiong et al. 2023, after tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is trained, or trained further, on long sequences|the slowest pairs "
                 "turn too far over the context",
       .tune = "base=0|base=10000"});

  double base;
  bool resonance;
  Abf(const pes_model& m, const pes::Values& v)
      : Rotary(m, v), base(pes::base_of(m, v)), resonance(v.flag("resonance")) {}
  rotary::Angles angles(std::int64_t) const { return {rotary::powers(base, R), 1, resonance}; }
};

}  // namespace

extern const pes_encoding abf = pes::encoding<Abf>;
