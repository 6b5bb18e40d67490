// T5's relative bias, Raffel et al. 2019, section 2.1: distances fall into buckets, the first half
// one each, the rest on a log scale up to max_distance; each bucket has a learned bias for each
// head. One table serves all layers.
#include <pesuite/pesuite.hpp>

#include <algorithm>

namespace {

struct T5 : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("buckets", "32", 2, 4096, "number of buckets"),
      pes::integer("max_distance", "0", 0, 1 << 24,
                   "distances from here on share the last bucket; 0: 128, or the training length "
                   "where that is shorter, so that training reaches the last bucket"),
      pes::choice("scale", "head", "head|one", "factor of q.k: 1/sqrt(D), or 1 as in T5 itself"),
      pes::flag("multiply_sqrt_head", "false",
                "multiply the table by sqrt(D), as in GPT-NeoX and x-transformers")};
  static constexpr pes_card card = pes::card<T5>(
      {.name = "t5",
       .summary = "a learned bias for each head and bucket of distances",
       .taxonomy = "relative, learned, bias",
       .used_in = "T5, LongT5",
       .paper = "Raffel et al. 2019, arXiv:1910.10683",
       .bibtex = "@article{raffel2020exploring, title={Exploring the Limits of Transfer Learning "
                 "with a Unified Text-to-Text Transformer}, author={Raffel, Colin and Shazeer, "
                 "Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael "
                 "and Zhou, Yanqi and Li, Wei and Liu, Peter J.}, journal={JMLR}, year={2020}}",
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED});

  int buckets, max_distance, train_length;
  bool scale_one;
  double factor;
  pes::Param table;
  pes::Tensor distance;

  T5(const pes_model& m, const pes::Values& v)
      : buckets(static_cast<int>(v.integer("buckets"))),
        max_distance(static_cast<int>(v.integer("max_distance"))),
        train_length(m.train_length),
        scale_one(v.is("scale", "one")),
        factor(v.flag("multiply_sqrt_head") ? std::sqrt(m.head_dim) : 1),
        table(param("table", {buckets, m.heads}, pes::normal(1 / std::sqrt(m.width)))) {
    if (max_distance == 0) max_distance = std::min(128, train_length);
    max_distance = std::max(max_distance, buckets / 2 + 1);
  }
  // Bucket of distance n >= 0; the published code computes in fp32, which gives the same buckets.
  int bucket(std::int64_t n) const {
    const int exact = buckets / 2;
    if (n < exact) return static_cast<int>(n);
    const double octave = std::log(static_cast<double>(n) / exact) /
                          std::log(static_cast<double>(max_distance) / exact);
    return static_cast<int>(
        std::min<double>(buckets - 1, exact + std::trunc(octave * (buckets - exact))));
  }
  void begin(const pes::Step& s) {
    const auto of = [&](auto, auto n) { return static_cast<double>(bucket(n)); };
    const pes::Tensor by_distance = rows(s[table], s.table({s.offset + s.length}, of));
    distance = factor * permute(by_distance, {1, 0});
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    a.distance = distance;
    if (scale_one) a.scale = 1;
  }
  double untrained(int length) const {
    int never = 0;
    const int last_trained = bucket(train_length - 1);
    for (int n = train_length; n < length; ++n) never += bucket(n) > last_trained ? 1 : 0;
    return never / static_cast<double>(length);
  }
};

}  // namespace

extern const pes_encoding t5 = pes::encoding<T5>;
