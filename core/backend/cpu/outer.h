// c [M, N] (+)= a^T b with a [K, M] and b [K, N], the form of a weight's gradient, in bf16 with
// fp32 sums; a and b are given in fp32 or in bf16. oneDNN transposes one side first; here both are
// read as they lie, two rows at a time, which is what the processor's bf16 dot product wants.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/buffer.h"
#include "backend/cpu/products.h"

namespace pesuite {

// Where the processor has AVX512-BF16.
bool outer_bf16_available();

// With a thread for each of `panels`, its working memory. Sums over K in a fixed order, whatever
// the number of threads. Throws std::bad_alloc.
void outer_bf16(float* c, const Matrix& a, const Matrix& b, std::int64_t M, std::int64_t N,
                std::int64_t K, bool add, std::span<Buffer> panels);

}  // namespace pesuite
