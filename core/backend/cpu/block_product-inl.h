// Small dense products in registers, and the layouts they read: what blocked attention is made of.
#if defined(PESUITE_BLOCK_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PESUITE_BLOCK_PRODUCT_INL_H_
#undef PESUITE_BLOCK_PRODUCT_INL_H_
#else
#define PESUITE_BLOCK_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

using I = std::int64_t;
constexpr I kBlock = 64;
constexpr I kLanes = static_cast<I>(hn::MaxLanes(F32()));
constexpr int kVectors = kLanes == 16 ? 24 : 12;  // accumulators of a tile, of 32 or 16 registers

// A small dense product C [M, N] (+)= A B; B's rows and C's rows are contiguous, N is a whole
// number of vectors.
template <int R, int NV>
HWY_INLINE void Tile(Operand a, const float* b, I ldb, float* c, I ldc, I K, bool add) {
  const F32 d;
  V32 acc[R][NV];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < NV; ++v)
      acc[r][v] = add ? hn::LoadU(d, c + r * ldc + v * kLanes) : hn::Zero(d);
  for (I k = 0; k < K; ++k) {
    V32 row[NV];
    for (int v = 0; v < NV; ++v) row[v] = hn::LoadU(d, b + k * ldb + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const V32 x = hn::Set(d, a.data[r * a.row + k * a.column]);
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[r][v], d, c + r * ldc + v * kLanes);
}

template <int NV>
HWY_INLINE void Panel(I M, I K, Operand a, const float* b, I ldb, float* c, I ldc, bool add) {
  constexpr int R = kVectors / NV > 12 ? 12 : kVectors / NV;
  I m = 0;
  const auto tiles = [&](auto rows) HWY_ATTR {
    constexpr int r = decltype(rows)::value;
    for (; m + r <= M; m += r)
      Tile<r, NV>({a.data + m * a.row, a.row, a.column}, b, ldb, c + m * ldc, ldc, K, add);
  };
  tiles(std::integral_constant<int, R>());
  tiles(std::integral_constant<int, 4>());
  tiles(std::integral_constant<int, 1>());
}

HWY_INLINE void Gemm(I M, I N, I K, Operand a, const float* b, I ldb, float* c, I ldc, bool add) {
  I n = 0;
  if constexpr (kLanes == 16)
    for (; n + 4 * kLanes <= N; n += 4 * kLanes) Panel<4>(M, K, a, b + n, ldb, c + n, ldc, add);
  for (; n + 2 * kLanes <= N; n += 2 * kLanes) Panel<2>(M, K, a, b + n, ldb, c + n, ldc, add);
  for (; n < N; n += kLanes) Panel<1>(M, K, a, b + n, ldb, c + n, ldc, add);
}

// to [rows, P] = scale * from [rows, width], the rest of each row 0.
HWY_MAYBE_UNUSED inline void Pad(float* to, I P, const float* from, I stride, I width, I rows,
                                 float scale) {
  const F32 d;
  for (I r = 0; r < rows; ++r)
    for (I c = 0; c < P; c += kLanes) {
      const auto n = static_cast<std::size_t>(std::clamp<I>(width - c, 0, kLanes));
      hn::StoreU(hn::Mul(Load(d, from + r * stride + c, n), hn::Set(d, scale)), d, to + r * P + c);
    }
}

// to [4 rows, 64 apart] = from [4 rows, `stride` apart] transposed.
HWY_INLINE void Transpose4(float* to, const float* from, I stride) {
#if HWY_TARGET == HWY_SCALAR
  for (I r = 0; r < 4; ++r)
    for (I c = 0; c < 4; ++c) to[c * kBlock + r] = from[r * stride + c];
#else
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride),
             e = hn::LoadU(d, from + 2 * stride), f = hn::LoadU(d, from + 3 * stride);
  const auto ab = hn::InterleaveLower(d, a, b), ef = hn::InterleaveLower(d, e, f),
             AB = hn::InterleaveUpper(d, a, b), EF = hn::InterleaveUpper(d, e, f);
  const auto lower = [&](auto x, auto y) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y)));
  };
  const auto upper = [&](auto x, auto y) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y)));
  };
  hn::StoreU(lower(ab, ef), d, to);
  hn::StoreU(upper(ab, ef), d, to + kBlock);
  hn::StoreU(lower(AB, EF), d, to + 2 * kBlock);
  hn::StoreU(upper(AB, EF), d, to + 3 * kBlock);
#endif
}

// Blocks of 64 rows of `from` [rows, width], transposed: to [blocks, width, 64], padded with 0.
HWY_MAYBE_UNUSED inline void TransposeBlocks(float* to, const float* from, I width, I rows) {
  for (I r0 = 0; r0 < rows; r0 += kBlock) {
    const I n = std::min(kBlock, rows - r0);
    float* block = to + r0 * width;
    I c = 0;
    if (n == kBlock)
      for (; c + 4 <= width; c += 4)
        for (I r = 0; r < kBlock; r += 4)
          Transpose4(block + c * kBlock + r, from + (r0 + r) * width + c, width);
    for (; c < width; ++c) {
      for (I r = 0; r < n; ++r) block[c * kBlock + r] = from[(r0 + r) * width + c];
      for (I r = n; r < kBlock; ++r) block[c * kBlock + r] = 0;
    }
  }
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
