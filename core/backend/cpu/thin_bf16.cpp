// Of weights in bf16, by AVX512-BF16's dot products or AMX's tiles.
#include "backend/cpu/bf16.h"
#include "backend/cpu/thin.h"

#if defined(__x86_64__)

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12 errs about its own sums of a vector
#endif
#include <immintrin.h>

#include <type_traits>

#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512bf16")))
#define PESUITE_AMX __attribute__((target("avx512f,avx512bw,amx-tile,amx-bf16")))

namespace pesuite::thin {

namespace {

using Index = std::int64_t;

// Over registers: a loop that stays one keeps them in memory.
#define PESUITE_EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); ++i)

// Words of a row: two numbers each, behind K zeros, whole vectors.
Index words_of(const Product& p) {
  return (p.K + 31) / 32 * 16;
}

inline void put(const Product& p, Index m, Index n, float sum, float* c) {
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
        _mm_prefetch(reinterpret_cast<const char*>(w + (R + next.first) * K +
                                                   (next.last - next.first) * k + 32 * r),
                     _MM_HINT_T0);
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

// AMX multiplies a tile of up to 16 columns of w, as they lie, with all rows at once: c is made
// transposed. Also where one row alone would do as well without: its numbers do not depend on the
// rows beside it.
constexpr Index tile_columns = 16, tile_numbers = 32;

bool by_tiles(const Product& p) {
  return p.K % tile_numbers == 0 && bf16::best_kernel() == bf16::Kernel::tiles;
}

// Tiles 0 and 1 are sums [columns, M], 2 is of w [columns, 32], 3 of a: [16 words, M].
class Tiles {
 public:
  PESUITE_AMX Tiles(Index columns, Index M) {
    const auto row = static_cast<std::uint16_t>(M * Index{sizeof(float)});
    const auto rows = static_cast<std::uint8_t>(columns);
    config_ = {.row_bytes = {row, row, 64, row}, .rows = {rows, rows, rows, 16}};
    asm volatile("" : : "r"(&config_) : "memory");  // g++ 12 believes that 8 bytes of it are read
    _tile_loadconfig(&config_);
  }
  PESUITE_AMX ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

 private:
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } config_;
};

// Columns n .. n + columns - 1 of c. Asks for what comes two calls later, line by line as it lies.
PESUITE_AMX void tile_of_columns(const Product& p, const bf16::Word* pairs, Index n, Index columns,
                                 float* c) {
  const auto row = static_cast<std::size_t>(p.K) * sizeof(std::uint16_t),
             row_of_pairs = static_cast<std::size_t>(p.M) * sizeof(bf16::Word);
  const char* const w = static_cast<const char*>(p.w) + static_cast<std::size_t>(n) * row;
  const char* next = w + 2 * tile_columns * row;
  float sums[2][tile_columns * most_rows];
  _tile_zero(0);
  _tile_zero(1);
  for (Index k = 0; k < p.K; k += 2 * tile_numbers) {
    for (int line = 0; line < 2 * tile_columns; ++line, next += 64) _mm_prefetch(next, _MM_HINT_T1);
    _tile_loadd(2, w + k * Index{sizeof(std::uint16_t)}, row);
    _tile_loadd(3, pairs + k / 2 * p.M, row_of_pairs);
    _tile_dpbf16ps(0, 2, 3);
    if (k + tile_numbers == p.K) break;
    _tile_loadd(2, w + (k + tile_numbers) * Index{sizeof(std::uint16_t)}, row);
    _tile_loadd(3, pairs + (k + tile_numbers) / 2 * p.M, row_of_pairs);
    _tile_dpbf16ps(1, 2, 3);
  }
  _tile_stored(0, sums[0], row_of_pairs);
  _tile_stored(1, sums[1], row_of_pairs);
  for (Index i = 0; i < columns; ++i)
    for (Index m = 0; m < p.M; ++m)
      put(p, m, n + i, sums[0][i * p.M + m] + sums[1][i * p.M + m], c);
}

void columns_by_tiles(const Product& p, const bf16::Word* pairs, Index first, Index last,
                      float* c) {
  Index n = first;
  if (last - n >= tile_columns) {
    const Tiles tiles(tile_columns, p.M);
    for (; n + tile_columns <= last; n += tile_columns)
      tile_of_columns(p, pairs, n, tile_columns, c);
  }
  if (n == last) return;
  const Tiles tiles(last - n, p.M);
  tile_of_columns(p, pairs, n, last - n, c);
}

}  // namespace

bool bf16_available() {
  return bf16::best_kernel() != bf16::Kernel::none;
}

Index bf16_floats(const Product& p) {
  return (by_tiles(p) ? 2 : 1) * p.M * words_of(p);
}

void bf16_prepare(const Product& p, float* memory) {
  const Index words = words_of(p);
  auto* const rows = reinterpret_cast<bf16::Word*>(memory);
  bf16::pack_rows(rows, words, p.a, p.K, p.K, p.M, 1);
  if (!by_tiles(p)) return;
  bf16::Word* const pairs = rows + p.M * words;
  for (Index k = 0; k < words; ++k)
    for (Index m = 0; m < p.M; ++m) pairs[k * p.M + m] = rows[m * words + k];
}

void bf16_columns(const Product& p, const float* memory, Index first, Index last, float* c) {
  const auto* const packed = reinterpret_cast<const bf16::Word*>(memory);
  if (by_tiles(p)) return columns_by_tiles(p, packed + p.M * words_of(p), first, last, c);
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
