// The layouts in which oneDNN's products for AVX-512 read their second operand b [K, N]: panels of
// 64 columns, 0 behind the last one. Its own reorder makes them at a quarter of the speed of
// memory where b is given transposed, as weights are. A b that is not transposed it also reads as
// it lies, but 5 to 15 % slower: rows of 256 numbers meet in a quarter of the first-level cache.
#pragma once

#include <cstdint>

#include "backend/cpu/bf16.h"

namespace pesuite::panels {

using Index = std::int64_t;

// Where the processor has AVX-512; panels of bf16 need a bf16::best_kernel() besides.
bool available();

// to [panels, K, 64] (BA16a64b) = b, given as [K, N] or, transposed, as [N, K]; K is a multiple
// of 16.
void pack(float* to, const float* b, bool transposed, Index K, Index N, int threads);
// to [panels, K / 2, 64] (BA16a64b2a) = b, given likewise, rounded to bf16, rows 2k and 2k + 1 in a
// word; K is a multiple of 32.
void pack(bf16::Word* to, const float* b, bool transposed, Index K, Index N, int threads);
// The same of a b that is in bf16 already, given as [N, K].
void pack(float* to, const std::uint16_t* b, Index K, Index N, int threads);
void pack(bf16::Word* to, const std::uint16_t* b, Index K, Index N, int threads);

}  // namespace pesuite::panels
