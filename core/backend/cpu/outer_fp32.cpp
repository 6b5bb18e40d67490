#include "backend/cpu/outer.h"

#if defined(__x86_64__)

// With sanitizers g++ 12 takes what its own header leaves undefined on purpose for a mistake here.
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <immintrin.h>

#include <algorithm>

#include "backend/cpu/ahead.h"

// Compiled for processors that may not be this one; who calls has asked.
#define PESUITE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))

namespace pesuite {

namespace {

using Index = std::int64_t;
constexpr Index tile_rows = 12, tile_columns = 32;  // of c: 24 vectors of sums in 32 registers
constexpr Index depth = 256;  // rows of a and b between two visits to c: a panel of b, 32 KiB,
                              // stays in the first-level cache while tiles of a pass
constexpr Index chunk = 192;  // columns of a, and
constexpr Index most_columns = 768;  // of b, that stay in the second-level cache meanwhile

PESUITE_AVX512 inline __mmask16 first_lanes(Index n) {
  return static_cast<__mmask16>((1u << std::clamp<Index>(n, 0, 16)) - 1);
}

// Columns first .. last - 1 of `rows` rows of b [.., N], in panels [depth, 32], 0 behind the last.
PESUITE_AVX512 void pack_panels(float* to, const float* b, Index N, Index rows, Index first,
                                Index last) {
  for (Index k = 0; k < rows; ++k)
    for (Index n = first; n < last; n += 16) {
      const Index at = n - first, column = at % tile_columns;
      _mm512_storeu_ps(to + (at - column) * depth + k * tile_columns + column,
                       _mm512_maskz_loadu_ps(first_lanes(last - n), b + k * N + n));
    }
}

// R rows of c by 2 vectors, of which `columns` numbers exist: the sum over `rows` rows of a, which
// is read as it lies, and of a panel of b.
template <int R>
PESUITE_AVX512 inline void sum_of(float* c, Index ldc, Index columns, const float* a, Index lda,
                                  const float* b, Index rows, bool add) {
  const __mmask16 masks[2] = {first_lanes(columns), first_lanes(columns - 16)};
  __m512 sums[R][2];
  for (int r = 0; r < R; ++r) {
    _mm_prefetch(reinterpret_cast<const char*>(c + r * ldc), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(c + r * ldc + columns - 1), _MM_HINT_T0);
    sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  }
#pragma GCC unroll 4
  for (Index k = 0; k < rows; ++k) {
    const __m512 left = _mm512_loadu_ps(b + k * tile_columns),
                 right = _mm512_loadu_ps(b + k * tile_columns + 16);
    for (int r = 0; r < R; ++r) {
      const __m512 x = _mm512_set1_ps(a[k * lda + r]);
      sums[r][0] = _mm512_fmadd_ps(x, left, sums[r][0]);
      sums[r][1] = _mm512_fmadd_ps(x, right, sums[r][1]);
    }
  }
  // added here: as the first value of the sums it makes g++ 12 keep them in memory
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < 2; ++v) {
      float* const to = c + r * ldc + 16 * v;
      const __m512 before = add ? _mm512_maskz_loadu_ps(masks[v], to) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(to, masks[v], _mm512_add_ps(before, sums[r][v]));
    }
}
PESUITE_AVX512 void rows_of(Index count, float* c, Index ldc, Index columns, const float* a,
                            Index lda, const float* b, Index rows, bool add) {
  if (count == tile_rows) return sum_of<tile_rows>(c, ldc, columns, a, lda, b, rows, add);
  for (; count >= 4; count -= 4, c += 4 * ldc, a += 4)
    sum_of<4>(c, ldc, columns, a, lda, b, rows, add);
  for (; count > 0; --count, c += ldc, ++a) sum_of<1>(c, ldc, columns, a, lda, b, rows, add);
}

// What one thread computes: the longer side of c is shared out. Of b each packs all that it reads,
// which is cheaper than to wait for another core and to fetch from it.
struct Part {
  Index first_m, last_m, first_n, last_n;
  Part(Index M, Index N, Index thread, Index threads) {
    const auto share = [=](Index size, Index unit, Index t) {
      return std::min(size, (size + unit - 1) / unit * t / threads * unit);
    };
    const bool by_rows = M >= N;
    first_m = by_rows ? share(M, tile_rows, thread) : 0;
    last_m = by_rows ? share(M, tile_rows, thread + 1) : M;
    first_n = by_rows ? 0 : share(N, tile_columns, thread);
    last_n = by_rows ? N : share(N, tile_columns, thread + 1);
  }
};

// Columns n0 .. n1 - 1 of a part, in which `panels` is what of b is read now.
PESUITE_AVX512 void columns_of(const Part& p, Index n0, Index n1, float* c, const float* a,
                               const float* b, Index M, Index N, Index K, bool add, float* panels) {
  for (Index k0 = 0; k0 < K; k0 += depth) {
    const Index rows = std::min(depth, K - k0), next = std::min(depth, K - k0 - rows);
    pack_panels(panels, b + k0 * N, N, rows, n0, n1);
    for (Index m0 = p.first_m; m0 < p.last_m; m0 += chunk) {
      const Index m1 = std::min(p.last_m, m0 + chunk);
      Ahead ahead;
      if (m1 < p.last_m) {
        ahead.add(a + k0 * M, M, m1, std::min(p.last_m, m1 + chunk), rows);
      } else {
        ahead.add(a + (k0 + rows) * M, M, p.first_m, std::min(p.last_m, p.first_m + chunk), next);
        ahead.add(b + (k0 + rows) * N, N, n0, n1, next);
      }
      ahead.share((n1 - n0 + tile_columns - 1) / tile_columns *
                  ((m1 - m0 + tile_rows - 1) / tile_rows));
      for (Index n = n0; n < n1; n += tile_columns)
        for (Index m = m0; m < m1; m += tile_rows) {
          ahead.fetch();
          rows_of(std::min(tile_rows, m1 - m), c + m * N + n, N, std::min(tile_columns, n1 - n),
                  a + k0 * M + m, M, panels + (n - n0) * depth, rows, add || k0 > 0);
        }
    }
  }
}

}  // namespace

bool outer_fp32_available() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

void outer_fp32(float* c, const float* a, const float* b, Index M, Index N, Index K, bool add,
                std::span<Buffer> work) {
  const auto threads = static_cast<Index>(work.size());
  const auto panels = [&](Index t) -> Buffer& { return work[static_cast<std::size_t>(t)]; };
  for (Index t = 0; t < threads; ++t) {  // here, where running out of memory can be said
    const Part p(M, N, t, threads);
    const Index columns = std::min(most_columns, p.last_n - p.first_n);
    panels(t).reserve(static_cast<std::size_t>((columns + tile_columns - 1) / tile_columns *
                                               tile_columns * depth) *
                      sizeof(float));
  }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
  for (Index t = 0; t < threads; ++t) {
    const Part p(M, N, t, threads);
    for (Index n = p.first_n; n < p.last_n; n += most_columns)
      columns_of(p, n, std::min(p.last_n, n + most_columns), c, a, b, M, N, K, add,
                 static_cast<float*>(panels(t).reserve(0)));
  }
}

}  // namespace pesuite

#else

namespace pesuite {
bool outer_fp32_available() {
  return false;
}
void outer_fp32(float*, const float*, const float*, std::int64_t, std::int64_t, std::int64_t, bool,
                std::span<Buffer>) {}
}  // namespace pesuite

#endif
