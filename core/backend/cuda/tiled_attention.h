// Fused attention of our own, for what cuDNN reads from a tensor of T x S or gets wrong: a table by
// distance and a value for each key, added to the scores and with gradients. No memory grows with
// the square of the length but that of a table's gradient: a number for each 16 pairs of tokens.
//
// Scores are made tile by tile, as in FlashAttention-2 (Dao 2023), on tensor cores. The backward
// pass makes them twice, once for the gradients of k and v and once for that of q, so that no two
// blocks add to the same number: results repeat bit by bit.
#pragma once

#include "backend/cuda/bindings.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/reduce.h"
#include "backend/cuda/request.h"

namespace pesuite::cuda {

// What is added to scale q.k; null: nothing.
struct AddedByDistance {
  const float* table = nullptr;  // [rows, N], rows being H or 1: entry i - j
  Index rows = 0, N = 0;
};
struct AddedByKey {
  const float* bias = nullptr;  // [B or 1, H or 1, 1, T]
  Shape shape;
};

// y [B, T, H, E] and lse [B, H, T] from q, k and v.
void tiled_forward(Queue&, const AttentionRequest&, const Bindings&, const AddedByDistance&,
                   const AddedByKey&);
// dq, dk and dv from the slots of the backward graph. dtable and dbias, of the forms of what is
// added, are the sums of the gradient of the scores; without data they are not made.
void tiled_backward(Queue&, const AttentionRequest&, const Bindings&, const AddedByDistance&,
                    const AddedByKey&, Target dtable, Target dbias);

}  // namespace pesuite::cuda
