// LongRoPE, Ding et al. 2024, section 3: each pair has its own factor, found by search, for
// sequences longer than L, and others (1 unless given) for shorter ones; scores are warmed a
// little. Without factors those of YaRN serve, where the search starts.
#include "factors_file.h"
#include "rotary.h"

namespace {

struct LongRope : rotary::Rotary<LongRope> {
  static constexpr pes_option options[] = {
      rotary::option::base,
      rotary::option::layout,
      rotary::option::features,
      rotary::option::factor,
      rotary::option::scale,
      rotary::option::original,
      pes::reals("long_factor", "[]", 1e-6, 1e9,
                 "divisors of the frequencies, one a pair, in sequences longer than original; []: "
                 "from `factors`, else YaRN's"),
      pes::reals("short_factor", "[]", 1e-6, 1e9, "the same in other sequences; []: 1"),
      rotary::option::beta_fast,
      rotary::option::beta_slow,
      pes::text("factors", "", "file with the long factors, as `pesuite search` writes it"),
      rotary::option::dynamic,
      pes::integer("start_tokens", "0", 0, 1e9,
                   "this many first positions turn as without an extension"),
      pes::choice("policy", "su", "su|yarn|none",
                  "factor m of cos and sin: sqrt(1 + ln s/ln L), 0.1 ln s + 1, or 1"),
      pes::real("attention_factor", "0", 0, 1e6, "m itself; 0: from the file, or by the policy"),
      rotary::option::resonance,
      rotary::option::log_n};
  static constexpr pes_card card = pes::card<LongRope>(
      {.name = "longrope",
       .summary = "RoPE with a searched factor for each pair, past the training length",
       .taxonomy = "relative, fixed, multiplicative",
       .used_in = "Phi-3, Phi-4-mini",
       .paper = "Ding et al. 2024, arXiv:2402.13753",
       .bibtex = "@inproceedings{ding2024longrope, title={LongRoPE: Extending LLM Context Window "
                 "Beyond 2 Million Tokens}, author={Ding, Yiran and Zhang, Li Lyna and Zhang, "
                 "Chengruidong and Xu, Yuanyuan and Shang, Ning and Xu, Jiahang and Yang, Fan and "
                 "Yang, Mao}, booktitle={ICML}, year={2024}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "excellent (Ding et al. 2024, after search and tuning)",
       .extension = "2-512x (Ding et al. 2024, after search and tuning)",
       .extends = "rope",
       .use_if = "a RoPE model is extended very far|factors can be searched on the trained "
                 "model|short and long contexts need frequencies of their own",
       .uses = PES_SEARCHED | PES_WITHOUT_TUNING,
       .tune = "base=0|base=1000"});

  rotary::Extension extension;
  double base, attention_factor;
  std::vector<double> long_factor, short_factor;
  bool dynamic, resonance, su, yarn;
  std::int64_t start_tokens;
  rotary::Phases unscaled;  // of the first tokens

  LongRope(const pes_model& m, const pes::Values& v)
      : Rotary(m, v, rotary::Extension(m, v)),
        extension(m, v),
        base(pes::base_of(m, v)),
        attention_factor(v.real("attention_factor")),
        long_factor(v.reals("long_factor")),
        short_factor(v.reals("short_factor")),
        dynamic(v.flag("dynamic")),
        resonance(v.flag("resonance")),
        su(v.is("policy", "su")),
        yarn(v.is("policy", "yarn")),
        start_tokens(v.integer("start_tokens")) {
    if (const std::string path = v.text("factors"); !path.empty()) {
      if (!long_factor.empty())
        throw pes::Refusal("long_factor and factors both say what the long factors are");
      const rotary::FactorsFile file(path);
      long_factor = file.factors;
      if (attention_factor == 0) attention_factor = file.attention_factor;
    } else if (long_factor.empty()) {
      for (const double share :
           rotary::kept(v.real("beta_fast"), v.real("beta_slow"), extension.original, base, R))
        long_factor.push_back(rotary::mix(extension.factor, 1, share));
    }
    if (short_factor.empty()) short_factor.assign(long_factor.size(), 1);
    for (const std::size_t n : {long_factor.size(), short_factor.size()})
      if (n != static_cast<std::size_t>(R / 2))
        throw pes::Refusal(std::to_string(n) + " factors for " + std::to_string(R / 2) +
                           " pairs of features");
    unscaled.set({rotary::powers(base, R)});
  }
  double magnitude() const {
    if (attention_factor > 0) return attention_factor;
    const double s = extension.factor, L = extension.original;
    if (s <= 1 || L <= 1 || !(su || yarn)) return 1;
    return su ? std::sqrt(1 + std::log(s) / std::log(L)) : 0.1 * std::log(s) + 1;
  }
  rotary::Angles angles(std::int64_t length) const {
    const bool beyond = static_cast<double>(length) > extension.original;
    const double s = extension.factor;
    const double reach = dynamic && s > 1 ? (extension.at(length) - 1) / (s - 1) : 1;
    std::vector<double> f = rotary::powers(base, R);
    for (std::size_t r = 0; r < f.size(); ++r)
      f[r] /= beyond ? 1 + (long_factor[r] - 1) * reach : short_factor[r];
    return {std::move(f), magnitude(), resonance};
  }
  void begin(const pes::Step& s) {
    Rotary::begin(s);
    const std::int64_t n = std::min<std::int64_t>(start_tokens - s.offset, s.length);
    if (n <= 0) return;
    pes::Tensor c, d;
    unscaled.upload(s, c, d);
    const auto first = [&](pes::Tensor plain, pes::Tensor scaled) {
      if (n == s.length) return plain;
      return concat(slice(plain, 0, 0, n), slice(scaled, 0, n, s.length - n), 0);
    };
    cos = first(c, cos);
    sin = first(d, sin);
  }
};

}  // namespace

extern const pes_encoding longrope = pes::encoding<LongRope>;
