// A table by distance as a bias tensor, and the gradient of the table from that of the bias.
#pragma once

#include "backend/cuda/queue.h"
#include "backend/cuda/reduce.h"
#include "backend/cuda/request.h"

namespace pesuite::cuda {

// The table [rows, N], rows being H or 1, and the bias [1, rows, T, S] that stands for it.
struct DistanceShape {
  Index rows = 0, N = 0, T = 0, S = 0;
  Index first = 0;  // query i stands at position first + i
};

// All pointers are of the device; tables are fp32. `type` is bf16 or fp16, of the bias and of its
// gradient.

// bias [1, rows, T, S], a row every `pitch` elements, a multiple of 8, the rest of it 0: the
// table's entry less the largest of its row. The softmax ignores that, and the weightiest keys
// become exact in 16 bits. 0 where the query does not see the key: the mask is the graph's, and
// large negative numbers in a bias are not safe.
void expand_distance(Queue&, void* bias, Type type, Index pitch, const float* table,
                     const DistanceShape&);
// dtable [rows, N]: sums along diagonals of dbias [batch, rows, T, S], dense. Only keys that a
// query sees are read: what stands in the others is not documented.
void sum_distance(Queue&, Target dtable, const void* dbias, Type type, Index batch,
                  const DistanceShape&);

}  // namespace pesuite::cuda
