// Arguments of kernels that take more than a few: shared by the code compiled for each
// instruction set and by its callers.
#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace pesuite {

struct AdamStep {
  float beta1, beta2, eps;
  float factor;  // of the gradient, from clipping
  float rate;    // lr / (1 - beta1^t)
  float root;    // 1 / sqrt(1 - beta2^t)
  float decay;   // lr * weight decay
};

// The left side of a small product: element (m, k) stands at data[m row + k column].
struct Operand {
  const float* data;
  std::int64_t row, column;
};

// What both passes over backend.h's TwoLayers read; b1 and b2 may be null.
struct LayerColumns {
  std::int64_t O, F, I, N;
  const float *w2, *b2, *w1, *b1, *x;
};
// Where the sums of their gradients stand: w1 [F, I], b1 [F], w2 [F, O] (transposed), b2 [O].
struct LayerSums {
  std::int64_t w1 = 0, b1, w2, b2, count;
  LayerSums(std::int64_t O, std::int64_t F, std::int64_t I)
      : b1(F * I), w2(b1 + F), b2(w2 + F * O), count(b2 + O) {}
};

// One head of an attention, prepared for the block kernels. Rows are padded with zeros to a whole
// number of vectors: P is E, D rounded up. Blocks have 64 rows and 64 keys.
struct HeadBlocks {
  std::int64_t T, S, D, E, first;
  const float* q;  // [T, q_stride], already multiplied by scale
  std::int64_t q_stride;
  const float* keys;  // [blocks, D, 64]: transposed blocks of keys
  const float* v;     // [S, v_stride]
  std::int64_t v_stride;
  const float* reversed;  // distance bias of (i, j) at reversed[j - i], or null
  const float* bias;      // dense bias of (i, j) at bias[i * bias_row + j * bias_column], or null
  std::int64_t bias_row, bias_column;
  const std::int32_t* starts;  // [T]: query i sees no key before starts[i]; or null
  // Keys farther from their query are hidden.
  std::int64_t reach = std::int64_t{1} << 40;
  Dropout dropout;
  std::uint64_t dropout_row;  // of query 0

  // backward only
  const float* k;  // [S, k_stride]
  std::int64_t k_stride;
  const float* values;  // [blocks, E, 64]: transposed blocks of v
  const float* dy;      // [T, dy_stride]
  std::int64_t dy_stride;
  const float *lse, *delta;  // [T]; delta = sum over e of dy y
  float* dq;                 // [T, q_stride], added to; without the factor scale
  float* dreversed;          // like reversed, added to, or null
  float* dbias;              // like bias, added to, or null
  std::int64_t dbias_row, dbias_column;
};

// What the products of a head read where they are made in bf16, in the words of bf16.h. q, k, dy
// and v have DW, DW, EW and EW words a row; DP and EP are D and E rounded up.
struct HeadWords {
  std::int64_t DW, EW, DP, EP;
  const std::uint32_t* q;        // [T, DW], already multiplied by scale
  const std::uint32_t* keys;     // [blocks, DW, 64]: transposed blocks of keys
  const std::uint32_t* v_pairs;  // [S / 2, EP]

  // backward only
  const std::uint32_t* k_pairs;     // [S / 2, DP]
  const std::uint32_t* values;      // [blocks, EW, 64]: transposed blocks of v
  const std::uint32_t* dy;          // [T, EW]
  const std::uint32_t* q_columns;   // [T / 128, DP, 64]: pairs of rows, transposed in blocks
  const std::uint32_t* dy_columns;  // [T / 128, EP, 64]
  float* dq;                        // [T, DP], added to; without the factor scale
};

}  // namespace pesuite
