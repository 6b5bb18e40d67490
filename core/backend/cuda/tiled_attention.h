// Fused attention of our own, for what cuDNN reads from a tensor of T x S or gets wrong: a table by
// distance and a value for each key, added to the scores and with gradients.
//
// Scores are made tile by tile, as in FlashAttention-2 (Dao 2023), on tensor cores. In the backward
// pass a block has the keys of a tile, and keeps the gradient of their scores in bf16: from these
// another has the gradient of the queries of a tile, and sums of a table's by distance. So no two
// blocks add to the same number, and results repeat bit by bit. What is kept grows with the square
// of the length: T^2 bytes a head, and a sixteenth more where a table trains; of as many heads at a
// time as there is room for.
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

// Where the table is level, the scores are those of q.k but for a number of the head, which cuDNN
// need not know: distances from `window` on, a multiple of 64, are left to it, as an attention of
// the queries from `window` on over as many keys. Its softmax and ours become one by their lse, as
// attention over parts of the keys does elsewhere (Liu et al. 2023, Ring Attention, section 3).
struct Beyond {
  Index window = 0;      // 0: nothing is left
  float* lse = nullptr;  // [B, H, T - window], of q.k alone
};

// y [B, T, H, E] and lse [B, H, T] from q, k and v. What lies beyond stands in y and its lse.
void tiled_forward(Queue&, const AttentionRequest&, const Bindings&, const AddedByDistance&,
                   const AddedByKey&, const Beyond&);
// The lse of `beyond` for the backward pass of that part: of all keys, less what the table adds
// there. With y and dy of all keys too, its gradients are then those of its part of the one
// softmax.
void set_lse(Queue&, const Beyond&, const AttentionRequest&, const float* lse,
             const AddedByDistance&);
// dq, dk and dv from the slots of the backward graph. dtable and dbias, of the forms of what is
// added, are the sums of the gradient of the scores; without data they are not made. `groups` of
// heads at a time (Lowering::groups). Gradients of what lies beyond stand in dq, dk and dv; that of
// the level part of a table is put at `window`, as AttentionInput::level allows.
void tiled_backward(Queue&, const AttentionRequest&, const Bindings&, const AddedByDistance&,
                    const AddedByKey&, Target dtable, Target dbias, Index groups, const Beyond&);

}  // namespace pesuite::cuda
