#include "backend/cpu/thin.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/thin.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

using Index = std::int64_t;
constexpr Index kThinLanes = static_cast<Index>(hn::MaxLanes(F32()));
// Rows by columns of sums that registers hold, beside the vectors that make them. More than four
// rows would be fewer walks along the columns, but do not stay in the nearest cache beside them (8
// and 16 rows with 16 lanes: 25 and 48 ms in place of 20 and 24).
constexpr int kThinRows = 4, kThinColumns = kThinLanes == 16 ? 5 : 3;
constexpr int kFewRows = kThinLanes == 16 ? 6 : 3, kManyColumns = 4;
constexpr int RowsAtATime(int columns) {
  return columns == kManyColumns ? kFewRows : kThinRows;
}

HWY_INLINE void PutSum(const thin::Product& p, Index m, Index n, float sum, float* c) {
  if (p.bias != nullptr) sum += p.bias[n];
  if (p.plus != nullptr) sum += p.plus[m * p.N + n];
  c[m * p.N + n] = sum;
}

// c's rows `row` .. row + M - 1 of columns n .. n + R - 1.
template <int M, int R>
HWY_INLINE void PutSums(const thin::Product& p, Index row, Index n, const V32 (&sums)[M][R],
                        float* c) {
  const F32 d;
  float sum[M][R];
  if constexpr (R == 4) {
    for (int m = 0; m < M; ++m) SumsOfFour(sums[m][0], sums[m][1], sums[m][2], sums[m][3], sum[m]);
  } else {
    const auto row_of = [&](int m, int r) HWY_ATTR { return m < M ? sums[m][r] : hn::Zero(d); };
    for (int r = 0; r < R; ++r)
      for (int m = 0; m < M; m += 4) {
        float of[4];
        SumsOfFour(row_of(m, r), row_of(m + 1, r), row_of(m + 2, r), row_of(m + 3, r), of);
        for (int i = m; i < std::min(m + 4, M); ++i) sum[i][r] = of[i - m];
      }
  }
  for (int m = 0; m < M; ++m)
    for (int r = 0; r < R; ++r) PutSum(p, row + m, n + r, sum[m][r], c);
}

// The same from a and w. Registers hold the fewer of a's rows and the columns; the others come by
// one after another. A single row asks for nothing with 8 lanes, where the processor's own
// prefetchers do better (33 against 28 GB/s).
template <class T, int M, int R>
HWY_INLINE void Dots(const thin::Product& p, Index row, Index n, float* c) {
  const F32 d;
  constexpr int side = std::max(1, static_cast<int>(64 / sizeof(T)) / static_cast<int>(kThinLanes));
  const Index K = p.K;
  constexpr int rows = RowsAtATime(R);
  const Index walks = (p.M + rows - 1) / rows;
  const thin::Asked asked =
      p.M == 1 && kThinLanes < 16 ? thin::Asked{0, 0} : thin::asked(R, row / rows, walks);
  const int asks = static_cast<int>(asked.last - asked.first);
  const T* const w = static_cast<const T*>(p.w) + n * K;
  const T* const next = w + (R + asked.first) * K;
  const float* const a = p.a + row * K;
  V32 sums[M][R];
  for (int m = 0; m < M; ++m)
    for (int r = 0; r < R; ++r) sums[m][r] = hn::Zero(d);
  const auto step = [&](Index k, std::size_t lanes) HWY_ATTR {
    if constexpr (M < R) {
      V32 x[M];
      for (int m = 0; m < M; ++m) x[m] = Load(d, a + m * K + k, lanes);
      for (int r = 0; r < R; ++r) {
        const V32 column = Load(d, w + r * K + k, lanes);
        for (int m = 0; m < M; ++m) sums[m][r] = hn::MulAdd(x[m], column, sums[m][r]);
      }
    } else {
      V32 column[R];
      for (int r = 0; r < R; ++r) column[r] = Load(d, w + r * K + k, lanes);
      for (int m = 0; m < M; ++m) {
        const V32 x = Load(d, a + m * K + k, lanes);
        for (int r = 0; r < R; ++r) sums[m][r] = hn::MulAdd(x, column[r], sums[m][r]);
      }
    }
  };
  constexpr auto whole = static_cast<std::size_t>(kThinLanes);
  Index k = 0;
  for (; k + side * kThinLanes <= K; k += side * kThinLanes) {
    for (int r = 0; r < R; ++r)  // once for each line of memory; g++ 12 drops it from a lambda
      if (r < asks) hwy::Prefetch(next + asks * k + r * side * kThinLanes);
    for (int i = 0; i < side; ++i) step(k + i * kThinLanes, whole);
  }
  for (; k < K; k += kThinLanes) step(k, std::min(whole, static_cast<std::size_t>(K - k)));
  PutSums<M, R>(p, row, n, sums, c);
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
template <class T, int R, int M = RowsAtATime(R)>
HWY_INLINE void Block(const thin::Product& p, Index row, Index n, float* c) {
  for (; row + M <= p.M; row += M) Dots<T, M, R>(p, row, n, c);
  if constexpr (M > 1) Block<T, R, M - 1>(p, row, n, c);
}

template <class T>
HWY_INLINE void ColumnsOf(const thin::Product& p, Index first, Index last, float* c) {
  Index n = first;
  const auto blocks = [&](auto columns) HWY_ATTR {
    for (; n + columns <= last; n += columns) Block<T, columns>(p, 0, n, c);
  };
  if (p.M == 1 && p.K < 1024)
    for (; n < last; ++n) OneDot<T>(p, n, c);
  else if (p.M <= kFewRows)
    blocks(std::integral_constant<int, kManyColumns>());
  else
    blocks(std::integral_constant<int, kThinColumns>());
  blocks(std::integral_constant<int, 1>());
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
