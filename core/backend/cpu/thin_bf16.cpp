// Of weights in bf16, by AVX512-BF16's dot products.
#include "backend/cpu/bf16.h"
#include "backend/cpu/thin.h"

#if defined(__x86_64__)

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12 errs about its own sums of a vector
#endif
#include <immintrin.h>

#include <type_traits>

#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512bf16")))

namespace pesuite::thin {

namespace {

using Index = std::int64_t;

// Over registers: a loop that stays one keeps them in memory.
#define PESUITE_EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); ++i)

// Words of a row: two numbers each, behind K zeros, whole vectors.
Index words_of(const Product& p) {
  return (p.K + 31) / 32 * 16;
}

PESUITE_BF16 inline void put(const Product& p, Index m, Index n, float sum, float* c) {
  if (p.bias != nullptr) sum += p.bias[n];
  if (p.plus != nullptr) sum += p.plus[m * p.N + n];
  c[m * p.N + n] = sum;
}

// The columns of the next call come from memory meanwhile.
PESUITE_BF16 inline void ask_for(const void* w, Index ahead) {
  _mm_prefetch(static_cast<const char*>(w) + ahead, _MM_HINT_T0);
}

// M rows of c, R columns from n on.
template <int M, int R>
PESUITE_BF16 void dots_of_pairs(const Product& p, const bf16::Word* packed, Index row, Index n,
                                float* c) {
  const Index K = p.K, words = words_of(p), ahead = R * K * static_cast<Index>(sizeof(Bf16));
  const auto* w = static_cast<const std::uint16_t*>(p.w) + n * K;
  const bf16::Word* a = packed + row * words;
  __m512 sums[M][R];
  PESUITE_EACH(m, M)
  PESUITE_EACH(r, R) sums[m][r] = _mm512_setzero_ps();
  for (Index k = 0; k < K; k += 32) {
    const auto lanes =
        static_cast<__mmask32>(k + 32 <= K ? 0xffffffffu : (std::uint64_t{1} << (K - k)) - 1);
    __m512bh column[R];
    PESUITE_EACH(r, R) {
      column[r] = reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(lanes, w + r * K + k));
      ask_for(w + r * K + k, ahead);
    }
    PESUITE_EACH(m, M) {
      const auto x = reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + m * words + k / 2));
      PESUITE_EACH(r, R) sums[m][r] = _mm512_dpbf16_ps(sums[m][r], x, column[r]);
    }
  }
  PESUITE_EACH(m, M)
  PESUITE_EACH(r, R) put(p, row + m, n + r, _mm512_reduce_add_ps(sums[m][r]), c);
}

// All rows, R columns: as many rows at a time as registers hold.
template <int R, int M = 6>
void block(const Product& p, const bf16::Word* packed, Index row, Index n, float* c) {
  for (; row + M <= p.M; row += M) dots_of_pairs<M, R>(p, packed, row, n, c);
  if constexpr (M > 1) block<R, M - 1>(p, packed, row, n, c);
}

}  // namespace

bool bf16_available() {
  return bf16::best_kernel() != bf16::Kernel::none;
}

Index bf16_floats(const Product& p) {
  return p.M * words_of(p);
}

void bf16_prepare(const Product& p, float* memory) {
  bf16::pack_rows(reinterpret_cast<bf16::Word*>(memory), words_of(p), p.a, p.K, p.K, p.M, 1);
}

void bf16_columns(const Product& p, const float* memory, Index first, Index last, float* c) {
  const auto* const packed = reinterpret_cast<const bf16::Word*>(memory);
  Index n = first;
  for (; n + 4 <= last; n += 4) block<4>(p, packed, 0, n, c);
  for (; n < last; ++n) block<1>(p, packed, 0, n, c);
}

}  // namespace pesuite::thin

#else

namespace pesuite::thin {
bool bf16_available() {
  return false;
}
std::int64_t bf16_floats(const Product&) {
  return 0;
}
void bf16_prepare(const Product&, float*) {}
void bf16_columns(const Product&, const float*, std::int64_t, std::int64_t, float*) {}
}  // namespace pesuite::thin

#endif
