// Products of few rows with a weight: what a model does when it writes token by token. The weight
// is read once, as it lies, so that its memory sets the pace.
#pragma once

#include <cstdint>

#include "backend/cpu/stored.h"

namespace pesuite::thin {

constexpr std::int64_t most_rows = 16;

struct Product {
  std::int64_t M, N, K;
  const float* a;  // [M, K]
  const void* w;   // [N, K], in `storage`
  Storage storage;
  bool rounds;        // with a w in bf16: a is rounded too, and AVX512-BF16 multiplies
  const float* bias;  // [N] or null
  const float* plus;  // [M, N] or null
};
// Whether this processor has the kernel of those that round, or not.
bool available(bool rounds);
// Columns first .. last - 1 of c [M, N]. memory: floats(Product) of working memory, filled by
// prepare() before the first call.
std::int64_t floats(const Product&);
void prepare(const Product&, float* memory);
void columns(const Product&, const float* memory, std::int64_t first, std::int64_t last, float* c);

// What both kernels share. All rows are done in `walks` along the same few columns, as many rows at
// a time as registers hold. Meanwhile each walk asks for some of the columns of the next call, so
// that they are near when it comes, line by line as they lie, and all walks together for all: more
// requests at a time than the processor keeps would stall it.
struct Asked {
  std::int64_t first, last;  // columns of the next call: first .. last - 1
};
constexpr Asked asked(std::int64_t columns, std::int64_t walk, std::int64_t walks) {
  const auto upto = [&](std::int64_t walk) { return (walk * columns + walks - 1) / walks; };
  return {upto(walk), upto(walk + 1)};
}

// What they do with a product that rounds.
bool bf16_available();
std::int64_t bf16_floats(const Product&);
void bf16_prepare(const Product&, float* memory);
void bf16_columns(const Product&, const float* memory, std::int64_t first, std::int64_t last,
                  float* c);

}  // namespace pesuite::thin
