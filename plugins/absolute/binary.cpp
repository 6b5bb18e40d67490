// PE[n, c] = bit W-1-c of n.
#include "digits.h"

namespace {

struct Binary : Digits {
  static constexpr pes_card card = pes::card<Binary>(
      {.name = "binary",
       .summary = "the position's binary digits, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "h3nock/pe-explorer, a comparison of encodings",
       .paper = "no paper; github.com/h3nock/pe-explorer, src/encodings/binary.py",
       .bibtex =
           "@misc{peexplorer, title={pe-explorer: src/encodings/binary.py}, author={{h3nock}}, "
           "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "the question is whether a model can read a position from its bits"});
  Binary(const pes_model& m, const pes::Values& v) : Digits(m, v, 2, false) {}
};

}  // namespace

extern const pes_encoding binary = pes::encoding<Binary>;
