// Two encodings that let the future through: `plugin check` must catch both by 'causal'.
#include <pesuite/pesuite.hpp>

namespace {

// Centres the embeddings on their mean over the whole sequence, the future included.
struct CentredEmbedding : pes::Encoding {
  static constexpr pes_card card =
      pes::card<CentredEmbedding>({.name = "centred_embedding",
                                   .summary = "subtracts the mean over the whole sequence",
                                   .taxonomy = "fixed"});
  CentredEmbedding(const pes_model&, const pes::Values&) {}
  pes::Tensor embed(const pes::Step& s, pes::Tensor x) const {
    return x - sum(x, 1) * (0.1 / s.length);
  }
};

// Prefers keys that are like the mean key of the whole sequence, the future included.
struct SummaryBias : pes::Encoding {
  static constexpr pes_card card =
      pes::card<SummaryBias>({.name = "summary_bias",
                              .summary = "adds how much a key is like the sequence's mean key",
                              .taxonomy = "fixed"});
  SummaryBias(const pes_model&, const pes::Values&) {}
  void attend(const pes::Step& s, pes::Attention& a) const {
    const pes::Tensor k = slice(a.k, 1, 0, 1);               // [B, 1, T, D]
    a.bias = matmul(sum(k, 2) * (1.0 / s.length), k, true);  // [B, 1, 1, T]
  }
};

constexpr const pes_encoding* encodings[] = {&pes::encoding<CentredEmbedding>,
                                             &pes::encoding<SummaryBias>, nullptr};

}  // namespace

PES_LIBRARY("future_leak", "1.0.0", "MIT", encodings, nullptr);
