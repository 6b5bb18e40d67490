#include "backend/cpu/bf16.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

// Compiled for processors that may not be this one; who calls has asked.
#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define PESUITE_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))

namespace pesuite::bf16 {

namespace {

// Linux lends the tiles' registers to a process that asks.
bool tiles_lent() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
  if ((d & amx_bf16) == 0 || (d & amx_tile) == 0) return false;
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// ONEDNN_MAX_CPU_ISA limits our kernels as it limits oneDNN's.
Kernel find_kernel() {
  const char* const text = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string_view limit = text == nullptr ? "ALL" : text;
  const bool any = limit == "ALL" || limit == "DEFAULT" || limit.find("AMX") != limit.npos;
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
      !(any || limit.find("BF16") != limit.npos))
    return Kernel::none;
  return any && tiles_lent() ? Kernel::tiles : Kernel::dots;
}

PESUITE_BF16 inline __mmask16 first_lanes(Index n) {
  return static_cast<__mmask16>((1u << std::clamp<Index>(n, 0, 16)) - 1);
}

// R rows of c by V vectors. What c has is added at the end: as the first value of the sums it makes
// g++ 12 keep them in memory.
template <int R, int V>
PESUITE_BF16 inline void dots(Index words, const Word* a, Index lda, const Word* b, Index ldb,
                              float* c, Index ldc, bool add) {
  __m512 sums[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sums[r][v] = _mm512_setzero_ps();
  for (Index k = 0; k < words; ++k) {
    __m512bh row[V];
    for (int v = 0; v < V; ++v)
      row[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + k * ldb + 16 * v));
    for (int r = 0; r < R; ++r) {
      const auto x =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[r * lda + k])));
      for (int v = 0; v < V; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, row[v]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) {
      float* const to = c + r * ldc + 16 * v;
      _mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), sums[r][v]) : sums[r][v]);
    }
}

// 16 rows of c by V vectors.
template <int V>
PESUITE_BF16 void dots(Index words, const Word* a, Index lda, const Word* b, Index ldb, float* c,
                       Index ldc, bool add) {
  if constexpr (V > 2) {  // 24 of 32 registers hold sums
    dots<6, V>(words, a, lda, b, ldb, c, ldc, add);
    dots<5, V>(words, a + 6 * lda, lda, b, ldb, c + 6 * ldc, ldc, add);
    dots<5, V>(words, a + 11 * lda, lda, b, ldb, c + 11 * ldc, ldc, add);
  } else {
    dots<8, V>(words, a, lda, b, ldb, c, ldc, add);
    dots<8, V>(words, a + 8 * lda, lda, b, ldb, c + 8 * ldc, ldc, add);
  }
}

// 16 rows of c by up to 4 tiles of 16 columns.
template <int T>
PESUITE_AMX void tiles(Index words, const Word* a, Index lda, const Word* b, Index ldb, float* c,
                       Index ldc, bool add) {
  const auto row_a = static_cast<std::size_t>(lda) * sizeof(Word),
             row_b = static_cast<std::size_t>(ldb) * sizeof(Word),
             row_c = static_cast<std::size_t>(ldc) * sizeof(float);
  if (add) {
    _tile_loadd(0, c, row_c);
    if constexpr (T > 1) _tile_loadd(1, c + 16, row_c);
    if constexpr (T > 2) _tile_loadd(2, c + 32, row_c);
    if constexpr (T > 3) _tile_loadd(3, c + 48, row_c);
  } else {
    _tile_zero(0);
    if constexpr (T > 1) _tile_zero(1);
    if constexpr (T > 2) _tile_zero(2);
    if constexpr (T > 3) _tile_zero(3);
  }
  for (Index k = 0; k < words; k += 16) {
    const Word* row = b + k * ldb;
    _tile_loadd(4, a + k, row_a);
    _tile_loadd(5, row, row_b);
    _tile_dpbf16ps(0, 4, 5);
    if constexpr (T > 1) {
      _tile_loadd(6, row + 16, row_b);
      _tile_dpbf16ps(1, 4, 6);
    }
    if constexpr (T > 2) {
      _tile_loadd(7, row + 32, row_b);
      _tile_dpbf16ps(2, 4, 7);
    }
    if constexpr (T > 3) {
      _tile_loadd(5, row + 48, row_b);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
  _tile_stored(0, c, row_c);
  if constexpr (T > 1) _tile_stored(1, c + 16, row_c);
  if constexpr (T > 2) _tile_stored(2, c + 32, row_c);
  if constexpr (T > 3) _tile_stored(3, c + 48, row_c);
}

}  // namespace

Kernel best_kernel() {
  static const Kernel best = find_kernel();
  return best;
}
bool is_fast() {
  // Dot products of Sapphire Rapids, where its tiles are not lent, have 0.7 of fp32's speed. AMD's
  // have twice that, and by its vendor's word Cooper Lake's.
  const bool dots = __builtin_cpu_is("amd") || __builtin_cpu_is("cooperlake");
  return best_kernel() == Kernel::tiles || (best_kernel() == Kernel::dots && dots);
}

PESUITE_BF16 void pack_rows(Word* to, Index words, const float* from, Index stride, Index width,
                            Index rows, float scale) {
  const __m512 factor = _mm512_set1_ps(scale);
  for (Index r = 0; r < rows; ++r)
    for (Index w = 0; w < words; w += 16) {
      const float* at = from + r * stride + 2 * w;
      const Index left = width - 2 * w;
      const __m512 lower = _mm512_maskz_loadu_ps(first_lanes(left), at),
                   upper = _mm512_maskz_loadu_ps(first_lanes(left - 16), at + 16);
      const auto both = reinterpret_cast<__m512i>(
          _mm512_cvtne2ps_pbh(_mm512_mul_ps(upper, factor), _mm512_mul_ps(lower, factor)));
      _mm512_storeu_si512(to + r * words + w, both);
    }
}

PESUITE_BF16 void pack_rows(Word* to, Index words, const Bf16* from, Index stride, Index width,
                            Index rows, float scale) {
  const __m512 factor = _mm512_set1_ps(scale);
  for (Index r = 0; r < rows; ++r)
    for (Index w = 0; w < words; w += 8) {
      const Bf16* const at = from + r * stride + 2 * w;
      __m256i numbers = _mm256_maskz_loadu_epi16(first_lanes(width - 2 * w), at);
      if (scale != 1) {
        const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16);
        numbers = reinterpret_cast<__m256i>(
            _mm512_cvtneps_pbh(_mm512_mul_ps(_mm512_castsi512_ps(wide), factor)));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + r * words + w), numbers);
    }
}

PESUITE_BF16 void round(std::uint16_t* to, const float* from, Index count) {
  Index i = 0;
  for (; i + 32 <= count; i += 32) {
    const auto both = reinterpret_cast<__m512i>(
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i)));
    _mm512_storeu_si512(to + i, both);
  }
  for (; i < count; i += 16) {
    const __mmask16 here = first_lanes(count - i);
    _mm256_mask_storeu_epi16(
        to + i, here,
        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(here, from + i))));
  }
}

namespace {

// Of 16 numbers of one row and 16 of the next.
PESUITE_BF16 inline __m512i zipped(__m512i both) {
  const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                       23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(zip, both);
}

}  // namespace

PESUITE_BF16 void pack_pairs(Word* to, Index pairs, Index columns, const Bf16* from, Index stride,
                             Index width, Index rows) {
  for (Index p = 0; p < pairs; ++p)
    for (Index c = 0; c < columns; c += 16) {
      const __mmask16 here = first_lanes(width - c);
      const Bf16* at = from + 2 * p * stride + c;
      const __m256i lower = _mm256_maskz_loadu_epi16(2 * p < rows ? here : 0, at),
                    upper = _mm256_maskz_loadu_epi16(2 * p + 1 < rows ? here : 0, at + stride);
      _mm512_storeu_si512(to + p * columns + c,
                          zipped(_mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1)));
    }
}

PESUITE_BF16 void pack_pairs(Word* to, Index pairs, Index columns, const float* from, Index stride,
                             Index width, Index rows) {
  for (Index p = 0; p < pairs; ++p)
    for (Index c = 0; c < columns; c += 16) {
      const __mmask16 here = first_lanes(width - c);
      const float* at = from + 2 * p * stride + c;
      const __m512 lower = _mm512_maskz_loadu_ps(2 * p < rows ? here : 0, at),
                   upper = _mm512_maskz_loadu_ps(2 * p + 1 < rows ? here : 0, at + stride);
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower));
      _mm512_storeu_si512(to + p * columns + c, zipped(both));
    }
}

void Multiplier::product(Index M, Index N, Index words, const Word* a, Index lda, const Word* b,
                         Index ldb, float* c, Index ldc, bool add) const {
  for (Index m = 0; m < M; m += grain)
    for (Index n = 0; n < N; n += 4 * grain) {
      const Word* const x = a + m * lda;
      const Word* const y = b + n;
      float* const z = c + m * ldc + n;
      const Index vectors = std::min<Index>(4, (N - n) / grain);
      const auto run = [&](auto dots_of, auto tiles_of) {
        (tiles_ ? tiles_of : dots_of)(words, x, lda, y, ldb, z, ldc, add);
      };
      switch (vectors) {
        case 1: run(dots<1>, tiles<1>); break;
        case 2: run(dots<2>, tiles<2>); break;
        case 3: run(dots<3>, tiles<3>); break;
        default: run(dots<4>, tiles<4>);
      }
    }
}

namespace {

// Eight tiles of 16 rows of 64 bytes. Of static storage, since g++ 12 believes that only the first
// bytes of it are read.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constinit const TileConfig all_tiles;

PESUITE_AMX void set_up_tiles() {
  _tile_loadconfig(&all_tiles);
}
PESUITE_AMX void release_tiles() {
  _tile_release();
}

}  // namespace

Multiplier::Multiplier(Kernel kernel) : tiles_(kernel == Kernel::tiles) {
  if (tiles_) set_up_tiles();
}
Multiplier::~Multiplier() {
  if (tiles_) release_tiles();
}

}  // namespace pesuite::bf16

#else

namespace pesuite::bf16 {
Kernel best_kernel() {
  return Kernel::none;
}
bool is_fast() {
  return false;
}
void pack_rows(Word*, Index, const float*, Index, Index, Index, float) {}
void pack_rows(Word*, Index, const Bf16*, Index, Index, Index, float) {}
void pack_pairs(Word*, Index, Index, const Bf16*, Index, Index, Index) {}
void round(std::uint16_t*, const float*, Index) {}
void pack_pairs(Word*, Index, Index, const float*, Index, Index, Index) {}
Multiplier::Multiplier(Kernel) : tiles_(false) {}
Multiplier::~Multiplier() = default;
void Multiplier::product(Index, Index, Index, const Word*, Index, const Word*, Index, float*, Index,
                         bool) const {}
}  // namespace pesuite::bf16

#endif
