// The graphs of attention in the one spelling that cuDNN's fused engines recognise: which nodes,
// in which order, with which types in between, is what counts; the same function written otherwise
// finds no engine.
//
//   forward   x = scale q.k + biases + slope (j - i), -inf where j > i
//             lse = log sum exp x, p = exp(x - max) / sum exp(x - max), dropped out, y = p v
//   backward  p = exp(x - lse), dv = p^T dy, dp = dy v^T
//             dx = p (dp - rowsum(dy y)), dbias = sums of dx, dq = scale dx k, dk = scale dx^T q
//
// (Dao 2023, FlashAttention-2, section 3.)
#pragma once

#include "backend/cuda/graph.h"
#include "backend/cuda/request.h"

namespace pesuite::cuda {

// Of a request that is not refused. Memory: q [B, H, T, D], k [B, G, S, D], v [B, G, S, E] and
// their gradients in the request's layout; y and dy [B, T, H, E]; lse fp32 [B, H, T]; slopes fp32
// [H]; seed and offset int64 [1]; biases and dbias in their forms; scratch fp32, dense.
Graph attention_graph(const AttentionRequest&, Pass);

}  // namespace pesuite::cuda
