#include "backend/cpu/outer.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "backend/cpu/ahead.h"
#include "backend/cpu/stored.h"

// The kernel is compiled for processors that may not be this one; who calls it has asked.
#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace pesuite {

namespace {

using Index = std::int64_t;
constexpr Index a_panel = 48, b_panel = 64;  // columns that stand together
constexpr Index tile = 6;                    // rows of c in registers, by 4 vectors
constexpr Index depth = 64;                  // pairs of rows between two visits to c

// 16 numbers of each row in bf16, those of the first in the lower half.
PESUITE_BF16 inline __m512i two_rows(const float* first, const float* second, __mmask16 of_first,
                                     __mmask16 of_second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(of_second, second),
                                                       _mm512_maskz_loadu_ps(of_first, first)));
}
PESUITE_BF16 inline __m512i two_rows(const Bf16* first, const Bf16* second, __mmask16 of_first,
                                     __mmask16 of_second) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(of_first, first)),
                            _mm256_maskz_loadu_epi16(of_second, second), 1);
}

// Rows 2k and 2k + 1 of x [K, columns] as pairs of bf16, for `pairs` pairs from `first` on, in
// panels of P columns: to[panel][k][P]. Columns and rows that are not there are 0.
template <Index P, class X>
PESUITE_BF16 void pack(std::uint32_t* to, const X* x, Index columns, Index K, Index first,
                       Index pairs, Index panel) {
  const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                       23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (Index k = 0; k < pairs; ++k) {
    const X* row = x + 2 * (first + k) * columns;
    const bool two = 2 * (first + k) + 1 < K;
    for (Index c = 0; c < P; c += 16) {
      const Index left = std::clamp<Index>(columns - panel * P - c, 0, 16);
      const auto mask = static_cast<__mmask16>((1u << left) - 1);
      const X* at = row + panel * P + c;
      const __m512i both = two_rows(at, at + columns, mask, two ? mask : 0);
      _mm512_storeu_si512(to + k * P + c, _mm512_permutexvar_epi16(zip, both));
    }
  }
}

// R rows of c by 4 vectors: adds the sum over `pairs` pairs.
template <int R>
PESUITE_BF16 void tile_of(float* c, Index ldc, Index columns, const std::uint32_t* a,
                          const std::uint32_t* b, Index pairs, bool add) {
  __m512 sums[R][4];
  __mmask16 masks[4];
  for (int v = 0; v < 4; ++v)
    masks[v] = static_cast<__mmask16>((1u << std::clamp<Index>(columns - 16 * v, 0, 16)) - 1);
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < 4; ++v) sums[r][v] = _mm512_setzero_ps();
  for (Index k = 0; k < pairs; ++k) {
    __m512bh row[4];
    for (int v = 0; v < 4; ++v)
      row[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + k * b_panel + 16 * v));
    for (int r = 0; r < R; ++r) {
      const auto x =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[k * a_panel + r])));
      for (int v = 0; v < 4; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, row[v]);
    }
  }
  // added here: as the first value of the sums it makes g++ 12 keep them in memory
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < 4; ++v) {
      float* const to = c + r * ldc + 16 * v;
      const __m512 before = add ? _mm512_maskz_loadu_ps(masks[v], to) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(to, masks[v], _mm512_add_ps(before, sums[r][v]));
    }
}

PESUITE_BF16 void rows_of(int rows, float* c, Index ldc, Index columns, const std::uint32_t* a,
                          const std::uint32_t* b, Index pairs, bool add) {
  switch (rows) {
    case 1: return tile_of<1>(c, ldc, columns, a, b, pairs, add);
    case 2: return tile_of<2>(c, ldc, columns, a, b, pairs, add);
    case 3: return tile_of<3>(c, ldc, columns, a, b, pairs, add);
    case 4: return tile_of<4>(c, ldc, columns, a, b, pairs, add);
    case 5: return tile_of<5>(c, ldc, columns, a, b, pairs, add);
    default: return tile_of<tile>(c, ldc, columns, a, b, pairs, add);
  }
}

// What one thread computes: the longer side of c is shared out. Of the other one each thread packs
// all that it reads, which is cheaper than to wait for another core and to fetch from it.
struct Share {
  Index first_a, last_a, first_b, last_b;  // panels
  Share(Index M, Index N, Index thread, Index threads) {
    const Index a = (M + a_panel - 1) / a_panel, b = (N + b_panel - 1) / b_panel;
    const bool by_rows = a * a_panel >= b * b_panel;
    first_a = by_rows ? a * thread / threads : 0;
    last_a = by_rows ? a * (thread + 1) / threads : a;
    first_b = by_rows ? 0 : b * thread / threads;
    last_b = by_rows ? b : b * (thread + 1) / threads;
  }
  Index size_a() const { return (last_a - first_a) * a_panel * depth; }
  Index size_b() const { return (last_b - first_b) * b_panel * depth; }
};

}  // namespace

bool outer_bf16_available() {
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

namespace {

template <class A, class B>
void outer_of(float* c, const A* a, const B* b, Index M, Index N, Index K, bool add,
              std::span<Buffer> work) {
  const auto threads = static_cast<Index>(work.size());
  for (Index t = 0; t < threads; ++t) {  // here, where running out of memory can be said
    const Share s(M, N, t, threads);
    work[static_cast<std::size_t>(t)].reserve(static_cast<std::size_t>(s.size_a() + s.size_b()) *
                                              sizeof(std::uint32_t));
  }
  const Index all = (K + 1) / 2;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
  for (Index t = 0; t < threads; ++t) {
    const Share s(M, N, t, threads);
    constexpr Index size_a = a_panel * depth, size_b = b_panel * depth;
    auto* const pa = static_cast<std::uint32_t*>(work[static_cast<std::size_t>(t)].reserve(0));
    std::uint32_t* const pb = pa + s.size_a();
    for (Index first = 0; first < all; first += depth) {
      const Index pairs = std::min(depth, all - first);
      for (Index p = s.first_a; p < s.last_a; ++p)
        pack<a_panel>(pa + (p - s.first_a) * size_a, a, M, K, first, pairs, p);
      for (Index p = s.first_b; p < s.last_b; ++p)
        pack<b_panel>(pb + (p - s.first_b) * size_b, b, N, K, first, pairs, p);
      Ahead ahead;
      const Index next = 2 * (first + pairs), rows = std::min(2 * depth, K - next);
      ahead.add(a + next * M, M, s.first_a * a_panel, s.last_a * a_panel, rows);
      ahead.add(b + next * N, N, s.first_b * b_panel, s.last_b * b_panel, rows);
      ahead.share((s.last_a - s.first_a) * (a_panel / tile) * (s.last_b - s.first_b));
      for (Index q = s.first_b; q < s.last_b; ++q)
        for (Index p = s.first_a; p < s.last_a; ++p)
          for (Index m = p * a_panel; m < std::min(M, (p + 1) * a_panel); m += tile) {
            ahead.fetch();
            rows_of(static_cast<int>(std::min(tile, std::min(M, (p + 1) * a_panel) - m)),
                    c + m * N + q * b_panel, N, std::min(b_panel, N - q * b_panel),
                    pa + (p - s.first_a) * size_a + (m - p * a_panel),
                    pb + (q - s.first_b) * size_b, pairs, add || first > 0);
          }
    }
  }
}

}  // namespace

void outer_bf16(float* c, const Matrix& a, const Matrix& b, Index M, Index N, Index K, bool add,
                std::span<Buffer> work) {
  as_stored(a.data, a.storage, [&](auto* x) {
    as_stored(b.data, b.storage, [&](auto* y) { outer_of(c, x, y, M, N, K, add, work); });
  });
}

}  // namespace pesuite

#else

namespace pesuite {
bool outer_bf16_available() {
  return false;
}
void outer_bf16(float*, const Matrix&, const Matrix&, std::int64_t, std::int64_t, std::int64_t,
                bool, std::span<Buffer>) {}
}  // namespace pesuite

#endif
