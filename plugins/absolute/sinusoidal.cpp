// Sinusoidal encoding, Vaswani et al. 2017, section 3.5:
//   PE[n, 2r] = sin(n base^(-2r/W)), PE[n, 2r+1] = cos(the same)
#include <pesuite/pesuite.hpp>

namespace {

struct Sinusoidal : pes::Encoding {
  static constexpr pes_option options[] = {
      pes::real("base", "10000", 0, 1e12,
                "wavelengths run from 2 pi to (almost) 2 pi base; 0: fits the training length as "
                "10000 fits 2048"),
      pes::choice("layout", "interleaved", "interleaved|concat",
                  "sine and cosine of a frequency side by side, or all sines before all cosines"),
      pes::choice("exponent", "width", "width|endpoints",
                  "frequency r is base^(-2r/W) as in the paper, or base^(-r/(W/2-1)), which "
                  "reaches 1/base, as in tensor2tensor and fairseq"),
      pes::flag("scale_embedding", "true",
                "multiply token embeddings by sqrt(W) first, as in section 3.4 of the paper"),
      pes::flag("learned_scale", "false",
                "multiply the table by one learned number that starts at 1/sqrt(W)")};
  static constexpr pes_card card = pes::card<Sinusoidal>(
      {.name = "sinusoidal",
       .summary = "sines and cosines of the position, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "the original Transformer",
       .paper = "Vaswani et al. 2017, arXiv:1706.03762",
       .bibtex = "@inproceedings{vaswani2017attention, title={Attention Is All You Need}, "
                 "author={Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob "
                 "and Jones, Llion and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, Illia}, "
                 "booktitle={NeurIPS}, year={2017}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .rating = "poor (Press et al. 2021; Kazemnejad et al. 2023)",
       .extension = "none (Press et al. 2021)",
       .use_if = "the model is an encoder-decoder like the first Transformer|positions "
                 "should be given by a formula that can be read|deployment is no longer than "
                 "training|no parameters may be added",
       .tune = "base=0|scale_embedding=false"});

  int width;
  std::vector<double> frequencies;  // radians a position
  bool concat, scale_embedding;
  pes::Param scale;
  pes::Table table;
  pes::Tensor rows;

  Sinusoidal(const pes_model& m, const pes::Values& v)
      : width(m.width),
        concat(v.is("layout", "concat")),
        scale_embedding(v.flag("scale_embedding")) {
    const int half = width / 2;
    const double step = v.is("exponent", "width") ? 2.0 / width : 1.0 / (half > 1 ? half - 1 : 1);
    for (int r = 0; r < half; ++r) frequencies.push_back(std::pow(pes::base_of(m, v), -step * r));
    if (v.flag("learned_scale")) scale = param("scale", {1}, pes::constant(1 / std::sqrt(width)));
  }
  double value(std::int64_t n, std::int64_t c) const {
    const std::int64_t half = width / 2;
    if (c >= 2 * half) return 0;  // an odd width ends with a zero
    const std::int64_t r = concat ? c % half : c / 2;
    const double angle = static_cast<double>(n) * frequencies[static_cast<std::size_t>(r)];
    return (concat ? c < half : c % 2 == 0) ? std::sin(angle) : std::cos(angle);
  }
  void begin(const pes::Step& s) {
    rows = s.upload({s.length, width}, table.range(s.offset, s.length, width,
                                                   [&](auto n, auto c) { return value(n, c); }));
  }
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    if (scale_embedding) x = x * std::sqrt(width);
    return x + (scale.index < 0 ? rows : rows * s[scale]);
  }
};

}  // namespace

extern const pes_encoding sinusoidal = pes::encoding<Sinusoidal>;
