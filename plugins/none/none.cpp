// NoPE: no encoding at all. Order reaches the model through the causal mask alone.
#include <pesuite/pesuite.hpp>

namespace {

struct None : pes::Encoding {
  static constexpr pes_card card = pes::card<None>(
      {.name = "none",
       .summary = "no positional encoding; order comes from the causal mask alone (NoPE)",
       .taxonomy = "none",
       .paper = "Haviv et al. 2022, arXiv:2203.16634; Kazemnejad et al. 2023, arXiv:2305.19466",
       .bibtex =
           "@inproceedings{kazemnejad2023impact, title={The Impact of Positional Encoding on "
           "Length Generalization in Transformers}, author={Kazemnejad, Amirhossein and "
           "Padhi, Inkit and Natesan Ramamurthy, Karthikeyan and Das, Payel and Reddy, Siva}, "
           "booktitle={NeurIPS}, year={2023}}",
       .claims = PES_RELATIVE | PES_PARAMETER_FREE | PES_NORM_PRESERVING | PES_UNBOUNDED,
       .cost = "none",
       .rating = "good (Kazemnejad et al. 2023, algorithmic tasks)",
       .extension = "limited (Kazemnejad et al. 2023)",
       .use_if = "the causal mask gives order enough|nothing may be added, neither parameters "
                 "nor work|layers without an encoding alternate with layers that have one"});
  None(const pes_model&, const pes::Values&) {}
};

}  // namespace

extern const pes_encoding none = pes::encoding<None>;
