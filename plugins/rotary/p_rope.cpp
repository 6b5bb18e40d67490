// p-RoPE, Barbero et al. 2024, section 6: only the share p of fastest pairs turns. Unlike partial
// rotary, frequencies have the whole head size D in their exponent, and pairs span the whole head.
#include "rotary.h"

namespace {

struct PRope : rotary::Rotary<PRope> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      pes::real("p", "0.75", 0, 1, "share of pairs that turn, the fastest; rounded down"),
      pes::real("factor", "1", 1e-6, 1e6, "divides the frequencies (linear interpolation)"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<PRope>(
      {.name = "p_rope",
       .summary = "RoPE whose slowest pairs do not turn, so that they carry content alone",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Gemma 4 (p = 0.25, full-attention layers)",
       .paper = "Barbero et al. 2024, arXiv:2410.06205",
       .bibtex = "@inproceedings{barbero2025round, title={Round and Round We Go! What makes Rotary "
                 "Positional Encodings useful?}, author={Barbero, Federico and Vitvitskyi, Alex "
                 "and Perivolaropoulos, Christos and Pascanu, Razvan and Velickovic, Petar}, "
                 "booktitle={ICLR}, year={2025}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .use_if = "content has to be found at any distance|a model is trained from scratch in place "
                 "of RoPE",
       .tune = "p=0.5|base=0"});

  double base, p, factor;
  bool resonance;
  PRope(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, m.head_dim, m.train_length),
        base(pes::base_of(m, v)),
        p(v.real("p")),
        factor(v.real("factor")),
        resonance(v.flag("resonance")) {}
  rotary::Angles angles(std::int64_t) const {
    std::vector<double> f = rotary::powers(base, R);
    const double turning = std::floor(p * static_cast<double>(R) / 2);
    for (std::size_t r = 0; r < f.size(); ++r)
      f[r] = static_cast<double>(r) < turning ? f[r] / factor : 0;
    return {std::move(f), 1, resonance};
  }
};

}  // namespace

extern const pes_encoding p_rope = pes::encoding<PRope>;
