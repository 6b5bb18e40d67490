// PE[n, c] = (d - 4.5) / 4.5, d the digit W-1-c of n in base 10: the padding is -1.
#include "digits.h"

namespace {

struct DecimalNorm : Digits {
  static constexpr pes_card card = pes::card<DecimalNorm>(
      {.name = "decimal_norm",
       .summary = "the position's decimal digits from -1 to 1, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "h3nock/pe-explorer, a comparison of encodings",
       .paper = "no paper; github.com/h3nock/pe-explorer, src/encodings/decimal.py",
       .bibtex =
           "@misc{peexplorer, title={pe-explorer: src/encodings/decimal.py}, author={{h3nock}}, "
           "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "digits should be as large as embeddings"});
  DecimalNorm(const pes_model& m, const pes::Values& v) : Digits(m, v, 10, true) {}
};

}  // namespace

extern const pes_encoding decimal_norm = pes::encoding<DecimalNorm>;
