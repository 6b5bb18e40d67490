// Small products of bf16 numbers with fp32 sums, and the layouts they read: what attention in bf16
// is made of. A word holds two numbers that are neighbours along the axis that is summed over, the
// first in its lower half: the operand of AVX512-BF16's dot products and of AMX's tiles.
#pragma once

#include <cstdint>

#include "backend/cpu/stored.h"

namespace pesuite::bf16 {

using Index = std::int64_t;
using Word = std::uint32_t;

// What multiplies: AVX512-BF16's dot products, or AMX's tiles.
enum class Kernel { none, dots, tiles };
// The best that the processor has and ONEDNN_MAX_CPU_ISA allows. The functions below need one.
Kernel best_kernel();
// Whether products are faster in bf16 than in fp32: with tiles, or with dot products that take no
// more time than fp32's. Elsewhere numbers are converted, or half of the units have them.
bool is_fast();

// Sizes below are multiples of this, so that tiles are whole.
constexpr Index grain = 16;

// to [rows, words] = scale * from [rows, width], columns 2c and 2c + 1 in a word; what is behind
// `width` is 0.
void pack_rows(Word* to, Index words, const float* from, Index stride, Index width, Index rows,
               float scale);
void pack_rows(Word* to, Index words, const Bf16* from, Index stride, Index width, Index rows,
               float scale);
// to [count]: from [count], rounded to the nearest.
void round(std::uint16_t* to, const float* from, Index count);
// to [pairs, columns]: rows 2r and 2r + 1 of from [rows, width] in a word; what is behind `rows` or
// `width` is 0.
void pack_pairs(Word* to, Index pairs, Index columns, const float* from, Index stride, Index width,
                Index rows);
void pack_pairs(Word* to, Index pairs, Index columns, const Bf16* from, Index stride, Index width,
                Index rows);

// Products of one thread, between construction and destruction: tiles are set up by thread.
class Multiplier {
 public:
  explicit Multiplier(Kernel);
  ~Multiplier();
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;

  // c [M, N] (+)= a [M, K] b [K, N], where a has K / 2 words a row and b K / 2 rows of N words. M,
  // N and K / 2 are multiples of `grain`.
  void product(Index M, Index N, Index words, const Word* a, Index lda, const Word* b, Index ldb,
               float* c, Index ldc, bool add) const;

 private:
  bool tiles_;
};

}  // namespace pesuite::bf16
