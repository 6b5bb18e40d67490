// c [M, N] (+)= a^T b with a [K, M] and b [K, N], the form of a weight's gradient. oneDNN
// transposes one side first; here both are read as they lie. For processors with AVX-512.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/buffer.h"
#include "backend/cpu/products.h"

namespace pesuite {

bool outer_fp32_available();
bool outer_bf16_available();  // needs AVX512-BF16

// With a thread for each of `work`, its working memory. Sums over K in a fixed order, whatever the
// number of threads. Throw std::bad_alloc.
void outer_fp32(float* c, const float* a, const float* b, std::int64_t M, std::int64_t N,
                std::int64_t K, bool add, std::span<Buffer> work);
// In bf16 with fp32 sums; a and b are given in fp32 or in bf16.
void outer_bf16(float* c, const Matrix& a, const Matrix& b, std::int64_t M, std::int64_t N,
                std::int64_t K, bool add, std::span<Buffer> work);

}  // namespace pesuite
