#include "backend/cpu/thin.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/thin.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

using Index = std::int64_t;
constexpr Index kThinLanes = static_cast<Index>(hn::MaxLanes(F32()));
constexpr int kThinRows = kThinLanes == 16 ? 6 : 3;  // 4 sums a row, in 32 or 16 registers

#if HWY_TARGET != HWY_SCALAR
// to [4] = the sums of v's blocks of four lanes.
template <class D>
HWY_INLINE void StoreFolded(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    StoreFolded(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  }
}
#endif
// to [4] = the sums of each one's lanes, by a tree over all four.
HWY_INLINE void SumsOfFour(V32 a, V32 b, V32 e, V32 f, float* to) {
  const F32 d;
#if HWY_TARGET == HWY_SCALAR
  to[0] = SumOf(d, a), to[1] = SumOf(d, b), to[2] = SumOf(d, e), to[3] = SumOf(d, f);
#else
  const hn::RepartitionToWide<F32> pairs;
  const auto ab =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ef =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, e, f), hn::InterleaveUpper(d, e, f)));
  StoreFolded(d,
              hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ef)),
                      hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ef))),
              to);
#endif
}

HWY_INLINE void PutSum(const thin::Product& p, Index m, Index n, float sum, float* c) {
  if (p.bias != nullptr) sum += p.bias[n];
  if (p.plus != nullptr) sum += p.plus[m * p.N + n];
  c[m * p.N + n] = sum;
}

// Rows `row` .. row + M - 1 of columns n .. n + R - 1. The second walk along these columns finds
// them near: meanwhile those of the next call are asked for. With 16 lanes every walk asks; with 8
// the processor's own prefetchers do better during the first (33 against 28 GB/s).
template <class T, int M, int R>
HWY_INLINE void Dots(const thin::Product& p, Index row, Index n, float* c) {
  const F32 d;
  const Index K = p.K;
  const bool asks = kThinLanes == 16 || row == kThinRows;
  const T* const w = static_cast<const T*>(p.w) + n * K;
  const float* const a = p.a + row * K;
  V32 sums[M][R];
  for (int m = 0; m < M; ++m)
    for (int r = 0; r < R; ++r) sums[m][r] = hn::Zero(d);
  const auto step = [&](Index k, std::size_t lanes) HWY_ATTR {
    V32 column[R];
    for (int r = 0; r < R; ++r) {
      column[r] = Load(d, w + r * K + k, lanes);
      if (asks) hwy::Prefetch(w + (R + r) * K + k);
    }
    for (int m = 0; m < M; ++m) {
      const V32 x = Load(d, a + m * K + k, lanes);
      for (int r = 0; r < R; ++r) sums[m][r] = hn::MulAdd(x, column[r], sums[m][r]);
    }
  };
  Index k = 0;
  for (; k + kThinLanes <= K; k += kThinLanes) step(k, static_cast<std::size_t>(kThinLanes));
  if (k < K) step(k, static_cast<std::size_t>(K - k));
  for (int m = 0; m < M; ++m) {
    float sum[R];
    if constexpr (R == 4)
      SumsOfFour(sums[m][0], sums[m][1], sums[m][2], sums[m][3], sum);
    else
      for (int r = 0; r < R; ++r) sum[r] = SumOf(d, sums[m][r]);
    for (int r = 0; r < R; ++r) PutSum(p, row + m, n + r, sum[r], c);
  }
}

// The same of a's only row and one column, which are short: columns side by side would be streams
// that end before the processor's prefetchers know them (768 numbers in bf16: 16 against 24 GB/s).
template <class T>
HWY_INLINE void OneDot(const thin::Product& p, Index n, float* c) {
  const F32 d;
  constexpr int side = 4;
  const T* const w = static_cast<const T*>(p.w) + n * p.K;
  V32 sums[side];
  for (V32& sum : sums) sum = hn::Zero(d);
  const auto add = [&](V32& sum, Index k, std::size_t lanes) HWY_ATTR {
    sum = hn::MulAdd(Load(d, p.a + k, lanes), Load(d, w + k, lanes), sum);
  };
  constexpr auto whole = static_cast<std::size_t>(kThinLanes);
  Index k = 0;
  for (; k + side * kThinLanes <= p.K; k += side * kThinLanes)
    for (int i = 0; i < side; ++i) add(sums[i], k + i * kThinLanes, whole);
  for (; k < p.K; k += kThinLanes)
    add(sums[0], k, std::min(whole, static_cast<std::size_t>(p.K - k)));
  PutSum(p, 0, n, SumOf(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))), c);
}

// All rows of columns n .. n + R - 1, as many at a time as registers hold.
template <class T, int R, int M = kThinRows>
HWY_INLINE void Block(const thin::Product& p, Index row, Index n, float* c) {
  for (; row + M <= p.M; row += M) Dots<T, M, R>(p, row, n, c);
  if constexpr (M > 1) Block<T, R, M - 1>(p, row, n, c);
}

template <class T>
HWY_INLINE void ColumnsOf(const thin::Product& p, Index first, Index last, float* c) {
  Index n = first;
  if (p.M == 1 && p.K < 1024) {
    for (; n < last; ++n) OneDot<T>(p, n, c);
    return;
  }
  for (; n + 4 <= last; n += 4) Block<T, 4>(p, 0, n, c);
  for (; n < last; ++n) Block<T, 1>(p, 0, n, c);
}

void ThinColumns(const thin::Product& p, Index first, Index last, float* c) {
  if (p.storage == Storage::bf16)
    ColumnsOf<Bf16>(p, first, last, c);
  else
    ColumnsOf<float>(p, first, last, c);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pesuite {
HWY_EXPORT(ThinColumns);
namespace thin {

bool available(bool rounds) {
  return !rounds || bf16_available();
}
std::int64_t floats(const Product& p) {
  return p.rounds ? bf16_floats(p) : 0;
}
void prepare(const Product& p, float* memory) {
  if (p.rounds) bf16_prepare(p, memory);
}
void columns(const Product& p, const float* memory, std::int64_t first, std::int64_t last,
             float* c) {
  if (p.rounds)
    bf16_columns(p, memory, first, last, c);
  else
    HWY_DYNAMIC_DISPATCH(ThinColumns)(p, first, last, c);
}

}  // namespace thin
}  // namespace pesuite
#endif
