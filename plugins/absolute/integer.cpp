// The position itself, in the last column: PE[n, W-1] = n, or n / (L-1) with L tokens of training.
#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <cmath>

namespace {

struct Integer : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::flag("normalized", "true", "0 to 1 over the training length; false: 0, 1, 2, ..."),
      pes::flag("scale_embedding", "true",
                "multiply token embeddings by sqrt(W) first, as with the position's digits")};
  static constexpr pes_card card = pes::card<Integer>(
      {.name = "integer",
       .summary = "the position as one number, added to the last feature of the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "named in the configuration of h3nock/pe-explorer, without code",
       .paper = "no paper; a name in github.com/h3nock/pe-explorer",
       .bibtex = "@misc{peexplorer, title={pe-explorer}, author={{h3nock}}, "
                 "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "the question is what a position without any code is good for",
       .tune = "normalized=false"});

  int width;
  double unit;  // positions that are 1
  bool scale_embedding;
  pes::Table table;
  pes::Tensor rows;

  Integer(const pes_model& m, const pes::Values& v)
      : width(m.width),
        unit(v.flag("normalized") ? std::max(1.0, static_cast<double>(m.train_length) - 1) : 1),
        scale_embedding(v.flag("scale_embedding")) {}
  void begin(const pes::Step& s) {
    rows = s.upload({s.length, width}, table.range(s.offset, s.length, width, [&](auto n, auto c) {
      return c == width - 1 ? static_cast<double>(n) / unit : 0.0;
    }));
  }
  pes::Tensor embed(const pes::Step&, pes::Tensor x) const {
    return (scale_embedding ? x * std::sqrt(width) : x) + rows;
  }
};

}  // namespace

extern const pes_encoding integer = pes::encoding<Integer>;
