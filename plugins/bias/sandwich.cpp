// Sandwich, Chi et al. 2022: the inner product of two sinusoidal encodings as bias,
//   H / (8 (h+1)) sum_r cos((i - j) 10000^(-2r/w)), r = 0 .. w/2 - 1, h from 0
#include <pesuite/pesuite.hpp>

namespace {

struct Sandwich : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("features", "128", 0, 1 << 16, "w, even; 0: the head size, as in NeMo"),
      pes::choice("form", "paper", "paper|nemo",
                  "r from 0, or from 1 to w/2 with w/2 taken off the sum"),
      pes::real("base", "10000", 0, 1e12,
                "slowest wavelength is almost 2 pi base; 0: fits the training length as 10000 fits "
                "2048")};
  static constexpr pes_card card = pes::card<Sandwich>(
      {.name = "sandwich",
       .summary = "the similarity of two sinusoidal encodings as a bias, fading with distance",
       .taxonomy = "relative, fixed, bias",
       .paper = "Chi et al. 2022, arXiv:2212.10356",
       .bibtex = "@inproceedings{chi2023dissecting, title={Dissecting Transformer Length "
                 "Extrapolation via the Lens of Receptive Field Analysis}, author={Chi, Ta-Chung "
                 "and Fan, Ting-Han and Rudnicky, Alexander I. and Ramadge, Peter J.}, "
                 "booktitle={ACL}, year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "good (Chi et al. 2022)",
       .use_if = "deployment is longer than training|a bias should fall like products of sinusoids "
                 "do|nothing may be learned",
       .tune = "base=0|base=1000"});

  std::int64_t heads, half;
  bool nemo;
  double base;
  pes::Table sums;  // by distance
  pes::Tensor distance;

  Sandwich(const pes_model& m, const pes::Values& v)
      : heads(m.heads),
        half((v.integer("features") > 0 ? v.integer("features") : m.head_dim) / 2),
        nemo(v.is("form", "nemo")),
        base(pes::base_of(m, v)) {
    if (v.integer("features") % 2 != 0)
      throw pes::Refusal("option 'features' wants an even number, not " +
                         std::to_string(v.integer("features")));
  }
  double sum(std::int64_t n) const {
    double s = nemo ? -static_cast<double>(half) : 0;
    for (std::int64_t r = nemo ? 1 : 0; r < half + (nemo ? 1 : 0); ++r)
      s += std::cos(static_cast<double>(n) *
                    std::pow(base, -static_cast<double>(r) / static_cast<double>(half)));
    return s;
  }
  void begin(const pes::Step& s) {
    const std::int64_t length = s.offset + s.length;
    const double* of = sums.extend(length, 1, [&](auto n, auto) { return sum(n); });
    distance = s.table({heads, length}, [&](auto h, auto n) {
      return of[n] * static_cast<double>(heads) / static_cast<double>(8 * (h + 1));
    });
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

}  // namespace

extern const pes_encoding sandwich = pes::encoding<Sandwich>;
