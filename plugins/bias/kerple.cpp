// KERPLE, Chi et al. 2022: kernels of the distance n = i - j as bias, learned per head:
//   log: -p ln(1 + a n)    power: -a n^p, p <= 2    NeMo's form: -b ln(1 + a n^p)
// One set of parameters serves all layers.
#include "chosen.h"
#include "slopes.h"

#include <limits>

namespace {

struct Kerple : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::choice("kernel", "log", "log|power|nemo", "-p ln(1 + a n), -a n^p or -b ln(1 + a n^p)"),
      pes::real("floor", "0.01", 0, 1, "log and power: parameters are moved up to this"),
      Distances::drawn};
  static constexpr pes_card card = pes::card<Kerple>(
      {.name = "kerple",
       .summary = "lowers scores by a learned logarithm or power of the distance",
       .taxonomy = "relative, learned, bias",
       .paper = "Chi et al. 2022, arXiv:2205.09921",
       .bibtex = "@inproceedings{chi2022kerple, title={KERPLE: Kernelized Relative Positional "
                 "Embedding for Length Extrapolation}, author={Chi, Ta-Chung and Fan, Ting-Han and "
                 "Ramadge, Peter J. and Rudnicky, Alexander I.}, booktitle={NeurIPS}, year={2022}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_MONOTONE_DECAY | PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Chi et al. 2022)",
       .extension = "2-32x (Chi et al. 2022)",
       .use_if = "how fast scores fall with distance should be learned, with two numbers a "
                 "head|deployment is longer than training",
       .tune = "kernel=power|floor=0.1"});

  bool power, nemo;
  pes::Param b, a, p;
  Distances distances;
  pes::Table logs;  // of 0, 1, 2, ...
  pes::Tensor distance;

  Kerple(const pes_model& m, const pes::Values& v)
      : power(v.is("kernel", "power")), nemo(v.is("kernel", "nemo")), distances(v) {
    const std::int64_t heads = m.heads;
    if (nemo)  // starts as alibi with a logarithm
      b = param("b", {heads, 1}, [heads, h = std::int64_t{0}](pes::Random&) mutable {
        return published_slope(h++ % heads, heads);
      });
    a = param("a", {heads, 1}, nemo ? pes::constant(1) : pes::uniform(0, 1));
    p = param("p", {heads, 1}, nemo ? pes::constant(1) : pes::uniform(0, 2));
    if (nemo) return;
    constexpr double any = std::numeric_limits<double>::infinity();
    keep_within(a, v.real("floor"), any);
    keep_within(p, v.real("floor"), power ? 2 : any);
  }
  bool stale(int from, int to) const { return distances.stale(from, to); }
  void begin(const pes::Step& s) {
    const std::int64_t length = s.offset + s.length;
    const std::vector<double> all = distances.of(s);
    const auto number = [&](auto d) { return all[static_cast<std::size_t>(d)]; };
    const pes::Tensor n = s.table({1, length}, [&](auto, auto d) { return number(d); });
    const auto log_of = [&](double d) { return d > 0 ? std::log(d) : 0; };
    const pes::Tensor log_n =
        distances.random() ? s.table({1, length}, [&](auto, auto d) { return log_of(number(d)); })
                           : s.upload({1, length}, logs.extend(length, 1, [&](auto d, auto) {
                               return log_of(static_cast<double>(d));
                             }));
    const pes::Tensor some = s.table({1, length}, [](auto, auto d) { return d > 0 ? 1.0 : 0.0; });
    const pes::Tensor scale = s[a], other = s[p];  // [H, 1]
    pes::Tensor argument = n;
    if (power || nemo) argument = exp(other * log_n) * some;  // n^p
    if (power)
      distance = -(scale * argument);
    else
      distance = -((nemo ? s[b] : other) * log(scale * argument + 1.0));  // [H, T]
  }
  void attend(const pes::Step&, pes::Attention& c) const { c.distance = distance; }
};

}  // namespace

extern const pes_encoding kerple = pes::encoding<Kerple>;
