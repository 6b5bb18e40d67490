#include "backend/cpu/thin.h"

#include <type_traits>

#include "backend/cpu/bf16.h"

#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12 errs about its own sums of a vector
#endif
#include <immintrin.h>
#define PESUITE_FP32 __attribute__((target("avx512f")))
#define PESUITE_BF16 __attribute__((target("avx512f,avx512bw,avx512bf16")))
#endif

namespace pesuite::thin {

namespace {

using Index = std::int64_t;

// Over registers: a loop that stays one keeps them in memory.
#define PESUITE_EACH(i, n) _Pragma("GCC unroll 8") for (int i = 0; i < (n); ++i)

// Words of a row in bf16: two numbers each, behind K zeros, whole vectors.
Index words_of(const Product& p) {
  return (p.K + 31) / 32 * 16;
}

#if defined(__x86_64__)

PESUITE_FP32 inline void put(const Product& p, Index m, Index n, float sum, float* c) {
  if (p.bias != nullptr) sum += p.bias[n];
  if (p.plus != nullptr) sum += p.plus[m * p.N + n];
  c[m * p.N + n] = sum;
}

// The columns of the next call come from memory meanwhile.
PESUITE_FP32 inline void ask_for(const void* w, Index ahead) {
  _mm_prefetch(static_cast<const char*>(w) + ahead, _MM_HINT_T0);
}

// M rows of c, R columns from n on.
template <int M, int R>
PESUITE_FP32 void dots(const Product& p, Index row, Index n, float* c) {
  const Index K = p.K, ahead = R * K * static_cast<Index>(sizeof(float));
  const auto* w = static_cast<const float*>(p.w) + n * K;
  const float* a = p.a + row * K;
  __m512 sums[M][R];
  PESUITE_EACH(m, M)
  PESUITE_EACH(r, R) sums[m][r] = _mm512_setzero_ps();
  for (Index k = 0; k < K; k += 16) {
    const auto lanes = static_cast<__mmask16>(k + 16 <= K ? 0xffff : (1u << (K - k)) - 1);
    __m512 column[R];
    PESUITE_EACH(r, R) {
      column[r] = _mm512_maskz_loadu_ps(lanes, w + r * K + k);
      ask_for(w + r * K + k, ahead);
    }
    PESUITE_EACH(m, M) {
      const __m512 x = _mm512_maskz_loadu_ps(lanes, a + m * K + k);
      PESUITE_EACH(r, R) sums[m][r] = _mm512_fmadd_ps(x, column[r], sums[m][r]);
    }
  }
  PESUITE_EACH(m, M)
  PESUITE_EACH(r, R) put(p, row + m, n + r, _mm512_reduce_add_ps(sums[m][r]), c);
}

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
template <int R>
void block(const Product& p, const float* memory, Index n, float* c) {
  const auto rows = [&](auto count, Index row) {
    constexpr int M = decltype(count)::value;
    if (p.storage == Storage::bf16)
      dots_of_pairs<M, R>(p, reinterpret_cast<const bf16::Word*>(memory), row, n, c);
    else
      dots<M, R>(p, row, n, c);
  };
  Index row = 0;
  for (; row + 6 <= p.M; row += 6) rows(std::integral_constant<int, 6>(), row);
  switch (p.M - row) {
    case 1: return rows(std::integral_constant<int, 1>(), row);
    case 2: return rows(std::integral_constant<int, 2>(), row);
    case 3: return rows(std::integral_constant<int, 3>(), row);
    case 4: return rows(std::integral_constant<int, 4>(), row);
    case 5: return rows(std::integral_constant<int, 5>(), row);
    default: return;
  }
}

#endif

}  // namespace

bool available(Storage storage) {
#if defined(__x86_64__)
  if (storage == Storage::bf16) return bf16::best_kernel() != bf16::Kernel::none;
  return __builtin_cpu_supports("avx512f");
#else
  return storage != storage;
#endif
}

Index floats(const Product& p) {
  return p.storage == Storage::bf16 ? p.M * words_of(p) : 0;
}

void prepare(const Product& p, float* memory) {
  if (p.storage == Storage::bf16)
    bf16::pack_rows(reinterpret_cast<bf16::Word*>(memory), words_of(p), p.a, p.K, p.K, p.M, 1);
}

void columns(const Product& p, const float* memory, Index first, Index last, float* c) {
#if defined(__x86_64__)
  Index n = first;
  for (; n + 4 <= last; n += 4) block<4>(p, memory, n, c);
  for (; n < last; ++n) block<1>(p, memory, n, c);
#else
  static_cast<void>(p), static_cast<void>(memory), static_cast<void>(first);
  static_cast<void>(last), static_cast<void>(c);
#endif
}

}  // namespace pesuite::thin
