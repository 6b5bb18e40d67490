#include "backend/cpu/panels.h"

#if defined(__x86_64__)

// With sanitizers g++ 12 takes what its own header leaves undefined on purpose for a mistake here.
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <immintrin.h>

#include <algorithm>

// Compiled for processors that may not be this one; who calls has asked.
#define PESUITE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace pesuite::panels {

namespace {

constexpr Index width = 64, strip = 16;  // columns of a panel, and those that are packed together
using Square = __m512i[strip];           // of 32-bit words, a row each

PESUITE_AVX512 inline void transpose(Square& x) {
  Square y;
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  constexpr int even = 0x88, odd = 0xdd;  // quarters of two vectors
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], even);
    y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], odd);
    y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], even);
    y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], odd);
  }
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], even);
    x[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], even);
    x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], odd);
    x[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], odd);
  }
}

PESUITE_BF16 inline __m512i rounded(__m512 first, __m512 second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
}
PESUITE_AVX512 inline __mmask16 first_lanes(Index n) {
  return static_cast<__mmask16>((1u << std::clamp<Index>(n, 0, strip)) - 1);
}

// 16 columns of b, given as rows of [N, K], side by side: 16 streams that are read as they lie.
// body(column, number of columns that exist, words of a panel before those of this strip).
template <class F>
void each_strip(Index N, int threads, Index panel_rows, F body) {
  const Index strips = (N + width - 1) / width * (width / strip);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index s = 0; s < strips; ++s) {
    const Index n = s * strip;
    body(n, std::clamp<Index>(N - n, 0, strip), n / width * width * panel_rows + n % width);
  }
}

// Of 32-bit words: numbers, or pairs of them in bf16.
PESUITE_AVX512 void pack_words(void* to, const void* from, Index columns, Index K) {
  auto* const word = static_cast<std::uint32_t*>(to);
  const auto* const row = static_cast<const std::uint32_t*>(from);
  for (Index k = 0; k < K; k += strip) {
    Square x;
    for (Index i = 0; i < strip; ++i)
      x[i] = i < columns ? _mm512_loadu_si512(row + i * K + k) : _mm512_setzero_si512();
    transpose(x);
    for (Index i = 0; i < strip; ++i) _mm512_storeu_si512(word + (k + i) * width, x[i]);
  }
}
// Of numbers in bf16, as floats.
PESUITE_AVX512 void pack_widened(float* to, const std::uint16_t* from, Index columns, Index K) {
  for (Index k = 0; k < K; k += strip) {
    Square x;
    for (Index i = 0; i < strip; ++i)
      x[i] = i < columns
                 ? _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(
                                         reinterpret_cast<const __m256i*>(from + i * K + k))),
                                     16)
                 : _mm512_setzero_si512();
    transpose(x);
    for (Index i = 0; i < strip; ++i) _mm512_storeu_si512(to + (k + i) * width, x[i]);
  }
}
PESUITE_BF16 void pack_rounded(bf16::Word* to, const float* from, Index columns, Index K) {
  for (Index k = 0; k < K; k += 2 * strip) {
    Square x;
    for (Index i = 0; i < strip; ++i) {
      const float* const at = from + i * K + k;
      x[i] = i < columns ? rounded(_mm512_loadu_ps(at), _mm512_loadu_ps(at + strip))
                         : _mm512_setzero_si512();
    }
    transpose(x);
    for (Index i = 0; i < strip; ++i) _mm512_storeu_si512(to + (k / 2 + i) * width, x[i]);
  }
}

// Row k of b [K, N], which all panels get a piece of.
PESUITE_AVX512 void pack_row(float* to, const float* b, Index k, Index K, Index N) {
  const float* const row = b + k * N;
  for (Index n = 0; n < (N + width - 1) / width * width; n += strip)
    _mm512_storeu_ps(to + n / width * width * K + k * width + n % width,
                     _mm512_maskz_loadu_ps(first_lanes(N - n), row + n));
}
// Rows 2k and 2k + 1 of it.
PESUITE_BF16 void pack_row_pair(bf16::Word* to, const float* b, Index k, Index K, Index N) {
  const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                       23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const float* const row = b + 2 * k * N;
  for (Index n = 0; n < (N + width - 1) / width * width; n += strip) {
    const __mmask16 here = first_lanes(N - n);
    const __m512i both =
        rounded(_mm512_maskz_loadu_ps(here, row + n), _mm512_maskz_loadu_ps(here, row + N + n));
    _mm512_storeu_si512(to + n / width * width * (K / 2) + k * width + n % width,
                        _mm512_permutexvar_epi16(zip, both));
  }
}

}  // namespace

bool available() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

void pack(float* to, const float* b, bool transposed, Index K, Index N, int threads) {
  if (transposed) {
    each_strip(N, threads, K, [=](Index n, Index columns, Index at) {
      pack_words(to + at, b + n * K, columns, K);
    });
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index k = 0; k < K; ++k) pack_row(to, b, k, K, N);
}

void pack(bf16::Word* to, const float* b, bool transposed, Index K, Index N, int threads) {
  if (transposed) {
    each_strip(N, threads, K / 2, [=](Index n, Index columns, Index at) {
      pack_rounded(to + at, b + n * K, columns, K);
    });
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index k = 0; k < K / 2; ++k) pack_row_pair(to, b, k, K, N);
}

void pack(float* to, const std::uint16_t* b, Index K, Index N, int threads) {
  each_strip(N, threads, K, [=](Index n, Index columns, Index at) {
    pack_widened(to + at, b + n * K, columns, K);
  });
}

void pack(bf16::Word* to, const std::uint16_t* b, Index K, Index N, int threads) {
  each_strip(N, threads, K / 2, [=](Index n, Index columns, Index at) {
    pack_words(to + at, b + n * K, columns, K / 2);
  });
}

}  // namespace pesuite::panels

#else

namespace pesuite::panels {
bool available() {
  return false;
}
void pack(float*, const float*, bool, Index, Index, int) {}
void pack(bf16::Word*, const float*, bool, Index, Index, int) {}
void pack(float*, const std::uint16_t*, Index, Index, int) {}
void pack(bf16::Word*, const std::uint16_t*, Index, Index, int) {}
}  // namespace pesuite::panels

#endif
