// Sums over the gradient of the scores of a fused attention, made again tile by tile from what its
// backward pass reads. For gradients of tables and biases over so many tokens that cuDNN's own
// (dBias) would cost too much. Nothing of T x T is stored unless the gradient itself has that
// shape.
//
// p = exp(scale q.k + slopes + biases - lse), ds = p (dy.v - rowsum(dy y)); sums in fp32 and in a
// fixed order.
#pragma once

#include "backend/cuda/bindings.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/reduce.h"
#include "backend/cuda/request.h"

namespace pesuite::cuda {

// Of a causal request in bf16 by head, without dropout. Read are the slots of the backward graph:
// q, k, v, y, dy, lse, slopes, biases and the scale.

// dtable [rows, N], rows being H or 1: the sums of ds over i - j = d, and over heads where they
// share a row.
void sum_scores_by_distance(Queue&, Target dtable, Index rows, Index N, const AttentionRequest&,
                            const Bindings&);
// dbias [B or 1, H or 1, T or 1, S]: ds summed over the axes that are 1.
void sum_scores_to_bias(Queue&, Target dbias, const Shape&, const AttentionRequest&,
                        const Bindings&);

}  // namespace pesuite::cuda
