// A learned table of positions (GPT-2, BERT): row n is added to the embedding of token n.
#include <pesuite/pesuite.hpp>

namespace {

struct Learned : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::integer("rows", "0", 0, 1 << 24,
                   "rows of the table; 0: one for each position that occurs, those past the "
                   "training length keeping their start values, or one for each that the task "
                   "gives its tokens"),
      pes::choice("past", "error", "error|clamp|interpolate",
                  "positions past the table: refuse, take the last row, or squeeze all positions "
                  "into the table"),
      pes::real("init", "0.02", 0, 10, "standard deviation of the start values"),
      pes::flag("scale_rows", "false", "multiply rows by 1/sqrt(W), as in x-transformers")};
  static constexpr pes_card card = pes::card<Learned>(
      {.name = "learned",
       .summary = "a learned vector for each position, added to the embeddings",
       .taxonomy = "absolute, learned, additive",
       .used_in = "GPT-2, BERT",
       .paper = "Gehring et al. 2017, arXiv:1705.03122; Devlin et al. 2018, arXiv:1810.04805",
       .bibtex = "@inproceedings{gehring2017convolutional, title={Convolutional Sequence to "
                 "Sequence Learning}, author={Gehring, Jonas and Auli, Michael and Grangier, David "
                 "and Yarats, Denis and Dauphin, Yann N.}, booktitle={ICML}, year={2017}}",
       .cost = "none",
       .use_if = "the model follows GPT-2 or BERT|deployment is exactly as long "
                 "as training|a vector for each position is affordable",
       .uses = PES_PLACED,
       .tune = "init=0.1|init=0.005"});

  int width, train_length, placed;  // positions of the task's own, 0: none
  std::int64_t count;
  bool clamp, interpolate;
  double factor;
  pes::Param table;

  Learned(const pes_model& m, const pes::Values& v)
      : width(m.width),
        train_length(m.train_length),
        placed(PES_HAS(&m, positions) ? m.positions : 0),
        count(v.integer("rows") > 0 ? v.integer("rows")
              : placed > 0          ? placed
                                    : m.max_length),
        clamp(v.is("past", "clamp")),
        interpolate(v.is("past", "interpolate")),
        factor(v.flag("scale_rows") ? 1 / std::sqrt(m.width) : 1),
        table(param("table", {count, m.width}, pes::normal(v.real("init")))) {
    if (count < placed)
      throw pes::Refusal("the task's positions reach " + std::to_string(placed - 1) +
                         ", past the table's " + std::to_string(count) + " rows");
  }

  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    if (const pes::Tensor at = s.positions(); at.id.id != 0) {
      const std::int64_t tokens = std::int64_t{s.batch} * s.length;
      return x +
             factor * reshape(rows(s[table], reshape(at, {tokens})), {s.batch, s.length, width});
    }
    const std::int64_t end = s.offset + s.length;
    if (end <= count) return x + factor * slice(s[table], 0, s.offset, s.length);
    if (!clamp && !interpolate)
      throw pes::Refusal("position " + std::to_string(end - 1) + " is past the table's " +
                         std::to_string(count) +
                         " rows; give it more rows, or past=clamp or "
                         "past=interpolate");
    // position n of the stretched axis lies between two rows; clamping is the same with squeeze 1
    const double last = static_cast<double>(count - 1);
    const double squeeze = interpolate ? last / static_cast<double>(end - 1) : 1;
    const auto place = [&](std::int64_t j) {
      return std::min(last, squeeze * static_cast<double>(s.offset + j));
    };
    const auto weight = [&](std::int64_t i, std::int64_t) {
      return place(i) - std::floor(place(i));
    };
    const auto low = [&](std::int64_t, std::int64_t j) { return std::floor(place(j)); };
    const auto high = [&](std::int64_t, std::int64_t j) { return std::ceil(place(j)); };
    const pes::Tensor w = s.table({s.length, 1}, weight);
    const pes::Tensor below = rows(s[table], s.table({s.length}, low));
    const pes::Tensor above = rows(s[table], s.table({s.length}, high));
    return x + factor * (below + w * (above - below));
  }
  bool stale(int from, int to) const {
    return placed == 0 && interpolate && to > count && from != to;
  }
  double untrained(int length) const {
    if (placed > 0) return 0;  // the task draws from all of them
    const int trained = static_cast<int>(std::min<std::int64_t>(train_length, count));
    if (interpolate && length > count) return 1 - trained / static_cast<double>(count);
    if (length <= trained || (clamp && count <= trained)) return 0;
    return 1 - trained / static_cast<double>(length);
  }
};

}  // namespace

extern const pes_encoding learned = pes::encoding<Learned>;
