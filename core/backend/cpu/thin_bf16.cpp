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

// As SumsOfFour() of simd-inl.h.
PESUITE_BF16 inline __m128 sums_of_four(__m512 a, __m512 b, __m512 e, __m512 f) {
  const __m512d ab =
      _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
  const __m512d ef =
      _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(e, f), _mm512_unpackhi_ps(e, f)));
  const __m512 by_four = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, ef)),
                                       _mm512_castpd_ps(_mm512_unpackhi_pd(ab, ef)));
  const __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(by_four), 1));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(by_four), upper);
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

// c's rows `row` .. row + M - 1 of columns n .. n + R - 1.
template <int M, int R>
PESUITE_BF16 inline void put_sums(const Product& p, Index row, Index n, const __m512 (&sums)[M][R],
                                  float* c) {
  float sum[M][R];
  if constexpr (R == 4) {
    PESUITE_EACH(m, M)
    _mm_storeu_ps(sum[m], sums_of_four(sums[m][0], sums[m][1], sums[m][2], sums[m][3]));
  } else {
    const __m512 zero = _mm512_setzero_ps();
    PESUITE_EACH(r, R)
    PESUITE_EACH(quarter, (M + 3) / 4) {
      const int m = 4 * quarter;
      float of[4];
      _mm_storeu_ps(
          of, sums_of_four(sums[m][r], m + 1 < M ? sums[m + 1][r] : zero,
                           m + 2 < M ? sums[m + 2][r] : zero, m + 3 < M ? sums[m + 3][r] : zero));
      for (int i = m; i < m + 4 && i < M; ++i) sum[i][r] = of[i - m];
    }
  }
  for (int m = 0; m < M; ++m)
    for (int r = 0; r < R; ++r) put(p, row + m, n + r, sum[m][r], c);
}

// Of a walk: 24 sums in 32 registers.
constexpr int many_rows = 8, few_columns = 3, few_rows = 6, many_columns = 4;

template <int M, int R>
PESUITE_BF16 void dots_of_pairs(const Product& p, const bf16::Word* packed, Index row, Index n,
                                float* c) {
  const Index K = p.K, words = words_of(p);
  const Asked next = asked(R, row / many_rows, (p.M + many_rows - 1) / many_rows);
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
      if (r < next.last - next.first)
        _mm_prefetch(reinterpret_cast<const char*>(w + (R + next.first + r) * K + k), _MM_HINT_T0);
    }
    PESUITE_EACH(m, M) {
      const auto x = reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + m * words + k / 2));
      PESUITE_EACH(r, R) sums[m][r] = _mm512_dpbf16_ps(sums[m][r], x, column[r]);
    }
  }
  put_sums<M, R>(p, row, n, sums, c);
}

// All rows, R columns: as many rows at a time as registers hold.
template <int R, int M = R == many_columns ? few_rows : many_rows>
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
  if (p.M <= few_rows)
    for (; n + many_columns <= last; n += many_columns) block<many_columns>(p, packed, 0, n, c);
  else
    for (; n + few_columns <= last; n += few_columns) block<few_columns>(p, packed, 0, n, c);
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
