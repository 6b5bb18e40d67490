// Causal attention, and the one place that chooses how it runs.
//
// fused:    softmax(scale q.k + distance) v in the backend's own kernel
// bias:     the same kernel, which also reads a bias for each query and key
// composed: an encoding rewrites the scores by content, or they are capped; they are made from ops,
//           a block of rows at a time, and made again block by block in the backward pass
//
// A rewriter that only adds to the scores takes the second path, a block of rows at a time: nothing
// reads the scores, so they are not made.
//
// In all three, memory beyond inputs and outputs is linear in the length; but for `starts` where a
// backend does not read them: they are a bias there.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "tensor/ops.h"

namespace pesuite {

enum class AttentionPath { fused, bias, composed };
inline std::string_view path_name(AttentionPath p) {  // as records write it
  return p == AttentionPath::fused ? "fused" : p == AttentionPath::bias ? "bias-tensor" : "unfused";
}

// Rewrites a block of score rows: scores [B, H, rows, S] of the queries q [B, H, rows, D], which
// start at position `first`, against the keys k [B, G, S, D]. May be called again for the same
// block. Scores, q, k and visible are made on demand: call Tape::now before you read them.
struct Rewriter {
  const void* self = nullptr;
  Tensor (*call)(const void* self, Tape&, Tensor scores, Tensor q, Tensor k, Tensor visible,
                 std::int64_t first) = nullptr;
  explicit operator bool() const { return call != nullptr; }
};

struct Attention {
  Tensor q, k, v;  // [B, H, T, D], [B, G, T, D], [B, G, T, E]
  // Where not 0: keys and values of so many tokens were made in earlier steps. q has the T rows
  // behind them alone, k and v first + T or more, and nothing is recorded.
  std::int64_t first = 0;
  // Where not 0: rows of q that nobody asks for, the first ones. y begins with the row behind them,
  // and nothing is recorded.
  std::int64_t skipped = 0;
  double scale = 1;
  // Where not 0: the scaled products c of q and k count as softcap tanh(c / softcap) (Gemma Team
  // 2024, arXiv:2408.00118, section 2), before anything is added to them.
  double softcap = 0;
  Tensor distance;  // optional [H or 1, first + T or more]
  Tensor bias;      // optional, broadcasts to [B, H, first + T, first + T]
  Rewriter rewrite;
  Dropout dropout;
  // [B, T], of the host, as long as the step: query i sees no key before starts[i], which never
  // falls along a row and is i at most. Empty: all that came before.
  std::span<const std::int32_t> starts = {};

  bool needs_scores() const { return rewrite || softcap > 0; }  // the fused kernel is not enough
};

// [B, T - skipped, H E]. Null with a failure when the shapes do not fit together. `taken`: the
// path; the slowest where blocks took several.
Tensor attend(Tape&, const Attention&, AttentionPath* taken = nullptr);

// The probabilities that attend() weighs v with, without dropout, for probes: made again from the
// parts on any path, a block of rows at a time. body(first, p): p [B, H, rows, first + rows] of the
// queries from `first` on, gone when body returns. Nothing is recorded.
// False with a failure when the shapes do not fit together.
bool each_probability(Tape&, const Attention&,
                      const std::function<void(std::int64_t first, Tensor p)>& body);

}  // namespace pesuite
