// T5's relative bias, Raffel et al. 2019, section 2.1: distances fall into buckets, the first half
// one each, the rest on a log scale up to max_distance; each bucket has a learned bias for each
// head. One table serves all layers.
#include "chosen.h"

namespace {

struct T5 : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("buckets", "32", 2, 4096, "number of buckets"),
      pes::integer("max_distance", "0", 0, 1 << 24,
                   "distances from here on share the last bucket; 0: 128, or the training length "
                   "where that is shorter, so that training reaches the last bucket; with "
                   "random_distances the longest of them"),
      pes::choice("scale", "head", "head|one", "factor of q.k: 1/sqrt(D), or 1 as in T5 itself"),
      pes::flag("multiply_sqrt_head", "false",
                "multiply the table by sqrt(D), as in GPT-NeoX and x-transformers"),
      pes::flag("bidirectional", "false",
                "half of the buckets for each direction, as in encoders; keys ahead of the query "
                "are masked here, so that half stays untrained"),
      Distances::drawn};
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
       .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "low",
       .rating = "good (Press et al. 2021; Kazemnejad et al. 2023)",
       .extension = "2-3x (Press et al. 2021)",
       .use_if = "biases by distance should be learned, head by head|training shows many "
                 "lengths|the model is an encoder-decoder like T5",
       .tune = "buckets=64|max_distance=32"});

  int buckets, max_distance, train_length, heads, one_way;
  bool scale_one, bidirectional;
  double factor;
  Distances distances;
  pes::Param table;
  pes::Tensor distance, bias;

  T5(const pes_model& m, const pes::Values& v)
      : buckets(static_cast<int>(v.integer("buckets"))),
        max_distance(static_cast<int>(v.integer("max_distance"))),
        train_length(m.train_length),
        heads(m.heads),
        scale_one(v.is("scale", "one")),
        bidirectional(v.flag("bidirectional")),
        factor(v.flag("multiply_sqrt_head") ? std::sqrt(m.head_dim) : 1),
        distances(v),
        table(param("table", {buckets, m.heads}, pes::normal(1 / std::sqrt(m.width)))) {
    if (bidirectional && buckets < 4)
      throw pes::Refusal("option 'bidirectional' wants 4 buckets or more");
    if (bidirectional && distances.random())
      throw pes::Refusal("options 'bidirectional' and 'random_distances' exclude each other");
    if (max_distance == 0)
      max_distance =
          distances.random() ? static_cast<int>(distances.longest()) : std::min(128, train_length);
    one_way = bidirectional ? buckets / 2 : buckets;
    max_distance = std::max(max_distance, one_way / 2 + 1);
  }
  // Bucket of a key n >= 0 behind the query, or ahead of it; the published code computes in fp32,
  // which gives the same buckets.
  int bucket(std::int64_t n) const {
    const int exact = one_way / 2;
    if (n < exact) return static_cast<int>(n);
    const double octave = std::log(static_cast<double>(n) / exact) /
                          std::log(static_cast<double>(max_distance) / exact);
    return static_cast<int>(
        std::min<double>(one_way - 1, exact + std::trunc(octave * (one_way - exact))));
  }
  bool stale(int from, int to) const { return distances.stale(from, to); }
  void begin(const pes::Step& s) {
    const std::vector<double> all = distances.of(s);
    const auto of = [&](auto, auto n) {
      return static_cast<double>(
          bucket(static_cast<std::int64_t>(all[static_cast<std::size_t>(n)])));
    };
    const pes::Tensor by_distance = rows(s[table], s.table({s.offset + s.length}, of));
    distance = factor * permute(by_distance, {1, 0});
    if (bidirectional) bias = square(s);
  }
  // [H, T, T], keys ahead of the query included
  pes::Tensor square(const pes::Step& s) const {
    const auto of = [&](std::int64_t i, std::int64_t j) {
      return static_cast<double>(j > i ? one_way + bucket(j - i) : bucket(i - j));
    };
    const pes::Tensor index = s.table({s.length, s.length}, of);
    const pes::Tensor all = rows(s[table], reshape(index, {std::int64_t{s.length} * s.length}));
    return factor * reshape(permute(all, {1, 0}), {heads, s.length, s.length});
  }
  void attend(const pes::Step&, pes::Attention& a) const {
    if (bidirectional)
      a.bias = bias;
    else
      a.distance = distance;
    if (scale_one) a.scale = 1;
  }
  double untrained(int length) const {
    if (distances.random()) return 0;
    int never = 0;
    const int last_trained = bucket(train_length - 1);
    for (int n = train_length; n < length; ++n) never += bucket(n) > last_trained ? 1 : 0;
    return never / static_cast<double>(length);
  }
};

}  // namespace

extern const pes_encoding t5 = pes::encoding<T5>;
