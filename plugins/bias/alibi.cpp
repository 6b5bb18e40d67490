// ALiBi, Press et al. 2021, section 3: the score of (i, j) gets -m (i - j), m fixed per head; and
// Al-Khateeb et al. 2023, equation 3: m / s beyond the training length L, s = T / L or a constant.
#include "chosen.h"
#include "slopes.h"

namespace {

struct Alibi : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::choice("slopes", "published", "published|geometric",
                  "where the number of heads is no power of two: the slopes of the lower power and "
                  "every other one of the higher, or 2^(-largest (h+1)/H) as for powers"),
      pes::real("largest", "8", 1e-3, 1e3, "the last head's slope is 2^-largest"),
      pes::integer("heads", "0", 0, 1 << 16,
                   "heads with slopes, the first ones; the others see no distance. 0: all"),
      pes::flag("learned", "false", "learn a factor exp(f) for each slope, f starts at 0"),
      pes::real("factor", "1", 1e-3, 1e6,
                "slopes are divided by this, as if positions were: position interpolation"),
      pes::flag("dynamic", "false",
                "divide slopes by length / original in each sequence longer than original"),
      pes::integer("original", "0", 0, 1e12,
                   "length that was trained without the extension; 0: the training length"),
      pes::real("shorten", "0", 0, 1,
                "taken off each distance from 1 on: 0.5 in Ruoss et al. 2023"),
      pes::reals("distances", "[]", 1, 1 << 24,
                 "what counts as distance 1, 2, 3, ..., whole and increasing; []: 1, 2, 3, ..."),
      Distances::drawn};
  static constexpr pes_card card = pes::card<Alibi>(
      {.name = "alibi",
       .summary = "lowers scores in proportion to the distance, at a fixed slope for each head",
       .taxonomy = "relative, fixed, bias",
       .used_in = "BLOOM, MPT",
       .paper = "Press et al. 2021, arXiv:2108.12409",
       .bibtex = "@inproceedings{press2022train, title={Train Short, Test Long: Attention with "
                 "Linear Biases Enables Input Length Extrapolation}, author={Press, Ofir and "
                 "Smith, Noah A. and Lewis, Mike}, booktitle={ICLR}, year={2022}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_MONOTONE_DECAY |
                 PES_UNBOUNDED,
       .cost = "minimal",
       .rating = "excellent (Press et al. 2021)",
       .extension = "2-30x (Press et al. 2021)",
       .use_if = "deployment is longer than training, without further training|nothing may be "
                 "learned|what is near matters most",
       .tune = "largest=4|largest=12"});

  std::vector<double> slopes;
  double shorten;
  double original;  // L; 0: slopes are the same at all lengths
  Distances distances;
  pes::Param log_factor;
  pes::Tensor distance;

  Alibi(const pes_model& m, const pes::Values& v)
      : slopes(static_cast<std::size_t>(m.heads)),
        shorten(v.real("shorten")),
        original(!v.flag("dynamic")          ? 0
                 : v.integer("original") > 0 ? static_cast<double>(v.integer("original"))
                                             : m.train_length),
        distances(v, "distances") {
    const std::int64_t count = v.integer("heads") > 0 ? v.integer("heads") : m.heads;
    if (count > m.heads)
      throw pes::Refusal("option 'heads' wants at most the model's " + std::to_string(m.heads) +
                         " heads, not " + std::to_string(count));
    const double largest = v.real("largest"), factor = v.real("factor");
    if (original > 0 && factor != 1)
      throw pes::Refusal("factor and dynamic exclude each other: both stretch positions");
    for (std::int64_t h = 0; h < count; ++h)
      slopes[static_cast<std::size_t>(h)] =
          (v.is("slopes", "published")
               ? published_slope(h, count, largest)
               : std::exp2(-largest * static_cast<double>(h + 1) / static_cast<double>(count))) /
          factor;
    if (v.flag("learned")) log_factor = param("log_factor", {m.heads, 1}, pes::constant(0));
  }
  double stretch(std::int64_t length) const {
    return original > 0 ? std::max(1.0, static_cast<double>(length) / original) : 1;
  }
  bool stale(int from, int to) const {
    return stretch(from) != stretch(to) || distances.stale(from, to);
  }
  void begin(const pes::Step& s) {
    const std::int64_t length = s.offset + s.length;
    std::vector<double> d = distances.of(s);
    const double stretched = stretch(length);
    std::for_each(d.begin() + 1, d.end(), [&](double& n) { n = (n - shorten) / stretched; });
    distance = s.table({static_cast<std::int64_t>(slopes.size()), length}, [&](auto h, auto n) {
      return -slopes[static_cast<std::size_t>(h)] * d[static_cast<std::size_t>(n)];
    });
    if (log_factor.index >= 0) distance = distance * exp(s[log_factor]);
  }
  void attend(const pes::Step&, pes::Attention& a) const { a.distance = distance; }
};

}  // namespace

extern const pes_encoding alibi = pes::encoding<Alibi>;
