// Sines alone: PE[n, c] = sin(n base^(-c/W)) for each column c, so W frequencies where the
// sinusoidal encoding has W/2 with a sine and a cosine each.
#include <pesuite/pesuite.hpp>

namespace {

struct SinOnly : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real(
          "base", "10000", 0, 1e12,
          "column c turns by base^(-c/W) a position; 0: fits the training length as 10000 fits "
          "2048"),
      pes::flag("scale_embedding", "true",
                "multiply token embeddings by sqrt(W) first, as the study that introduced the "
                "encoding does")};
  static constexpr pes_card card = pes::card<SinOnly>(
      {.name = "sinonly",
       .summary = "a sine of the position for each column, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "h3nock/pe-explorer, a comparison of encodings",
       .paper = "no paper; github.com/h3nock/pe-explorer, src/encodings/sinonly.py",
       .bibtex = "@misc{peexplorer, title={pe-explorer: src/encodings/sinonly.py}, "
                 "author={{h3nock}}, "
                 "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "the question is what the cosines of a sinusoidal table are good for",
       .tune = "base=0|scale_embedding=false"});

  int width;
  bool scale_embedding;
  std::vector<double> frequencies;  // radians a position
  pes::Table table;
  pes::Tensor rows;

  SinOnly(const pes_model& m, const pes::Values& v)
      : width(m.width), scale_embedding(v.flag("scale_embedding")) {
    for (int c = 0; c < width; ++c)
      frequencies.push_back(std::pow(pes::base_of(m, v), -static_cast<double>(c) / width));
  }
  void begin(const pes::Step& s) {
    rows = s.upload({s.length, width}, table.range(s.offset, s.length, width, [&](auto n, auto c) {
      return std::sin(static_cast<double>(n) * frequencies[static_cast<std::size_t>(c)]);
    }));
  }
  pes::Tensor embed(const pes::Step&, pes::Tensor x) const {
    return (scale_embedding ? x * std::sqrt(width) : x) + rows;
  }
};

}  // namespace

extern const pes_encoding sinonly = pes::encoding<SinOnly>;
