// PE[n, c] = digit W-1-c of n in base 10.
#include "digits.h"

namespace {

struct Decimal : Digits {
  static constexpr pes_card card = pes::card<Decimal>(
      {.name = "decimal",
       .summary = "the position's decimal digits, added to the embeddings",
       .taxonomy = "absolute, fixed, additive",
       .used_in = "h3nock/pe-explorer, a comparison of encodings",
       .paper = "no paper; github.com/h3nock/pe-explorer, src/encodings/decimal.py",
       .bibtex =
           "@misc{peexplorer, title={pe-explorer: src/encodings/decimal.py}, author={{h3nock}}, "
           "howpublished={\\url{https://github.com/h3nock/pe-explorer}}}",
       .claims = PES_PARAMETER_FREE | PES_UNBOUNDED,
       .cost = "none",
       .use_if = "the question is whether a model can read a position from its digits"});
  Decimal(const pes_model& m, const pes::Values& v) : Digits(m, v, 10, false) {}
};

}  // namespace

extern const pes_encoding decimal = pes::encoding<Decimal>;
