// PE[n, c] = 2 bit W-1-c of n, less 1: the padding is -1, not 0.
#include "digits.h"

namespace {

struct BinaryNorm : Digits {
  static constexpr pes_card card = pes::card<BinaryNorm>(
      {.name = "binary_norm",
       .summary = "the position's binary digits as -1 and 1, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "h3nock/pe-explorer, a comparison of encodings",
       .paper = "no paper; github.com/h3nock/pe-explorer, src/encodings/binary.py",
       .bibtex =
           "@misc{peexplorer, title={pe-explorer: src/encodings/binary.py}, author={{h3nock}}, "
           "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "bits 0 and 1 should weigh the same"});
  BinaryNorm(const pes_model& m, const pes::Values& v) : Digits(m, v, 2, true) {}
};

}  // namespace

extern const pes_encoding binary_norm = pes::encoding<BinaryNorm>;
