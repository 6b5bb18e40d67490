// Rotation of pairs of features, also of heads on their way from and to where they stand side by
// side. Memory-bound; without pairs it moves heads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/backend.h"
#include "backend/cpu/row_steps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rotate.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

// y = x [2 n], pairs of neighbours turned by (cos, direction sin) [n].
HWY_INLINE void TurnNeighbours(float* y, const float* x, const float* cos, const float* sin,
                               float direction, std::size_t n) {
  const F32 d;
  const V32 sign = hn::Set(d, direction);
  std::size_t r = 0;
  for (; r + hn::Lanes(d) <= n; r += hn::Lanes(d)) {
    const V32 c = hn::LoadU(d, cos + r), s = hn::Mul(sign, hn::LoadU(d, sin + r));
    V32 a, b;
    hn::LoadInterleaved2(d, x + 2 * r, a, b);
    hn::StoreInterleaved2(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)),
                          hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, y + 2 * r);
  }
  for (; r < n; ++r) {
    const float a = x[2 * r], b = x[2 * r + 1], s = direction * sin[r];
    y[2 * r] = a * cos[r] - b * s;
    y[2 * r + 1] = b * cos[r] + a * s;
  }
}

template <class Y, class X>
HWY_INLINE void Copy(Y* y, const X* x, std::size_t n, bool add) {
  const F32 d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    Put(d, Load(d, x + i, n - i), y + i, n - i, add);
}

// y (+)= x [D], its first n pairs turned by (cos, direction sin) [n].
template <class Y, class X>
HWY_INLINE void TurnRow(Y* y, const X* x, const float* cos, const float* sin, float direction,
                        std::size_t n, std::size_t D, bool half, bool add) {
  const F32 d;
  if (half) {
    const V32 sign = hn::Set(d, direction);
    for (std::size_t r = 0; r < n; r += hn::Lanes(d)) {
      const std::size_t left = n - r;
      const V32 c = Load(d, cos + r, left), s = hn::Mul(sign, Load(d, sin + r, left)),
                a = Load(d, x + r, left), b = Load(d, x + n + r, left);
      Put(d, hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), y + r, left, add);
      Put(d, hn::Add(hn::Mul(b, c), hn::Mul(a, s)), y + n + r, left, add);
    }
  } else {
    constexpr std::size_t most = 64;  // pairs at a time
    alignas(64) float before[2 * most], after[2 * most];
    for (std::size_t r = 0; r < n; r += most) {
      const std::size_t pairs = std::min(most, n - r);
      Copy(before, x + 2 * r, 2 * pairs, false);
      TurnNeighbours(after, before, cos + r, sin + r, direction, pairs);
      Copy(y + 2 * r, after, 2 * pairs, add);
    }
  }
  Copy(y + 2 * n, x + 2 * n, D - 2 * n, add);
}

template <class Y, class X>
HWY_INLINE void TurnRows(Y* y, RowSteps of_y, const X* x, RowSteps of_x, const float* cos,
                         const float* sin, RowSteps of_table, std::int64_t tokens,
                         std::int64_t heads, float direction, std::size_t n, std::size_t D,
                         bool half, bool add) {
  constexpr std::int64_t line = 64 / sizeof(X);
  const std::int64_t ahead = std::max<std::int64_t>(1, kAhead / sizeof(X) / of_x.token);  // tokens
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      const X* const next = x + of_x.at(0, h, t + ahead);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(D); i += line) hwy::Prefetch(next + i);
      const std::int64_t at = of_table.at(0, h, t);
      Y* const to = y + of_y.at(0, h, t);
      const X* const from = x + of_x.at(0, h, t);
      if (n == 0 && !add && std::is_same_v<X, Y>)
        std::memcpy(to, from, D * sizeof(X));
      else
        TurnRow(to, from, cos + at, sin + at, direction, n, D, half, add);
    }
}

// Rows of `tokens` tokens, and of `heads` heads in each.
void TurnBlock(void* y, Storage stored_y, RowSteps of_y, const void* x, Storage stored_x,
               RowSteps of_x, const float* cos, const float* sin, RowSteps of_table,
               std::int64_t tokens, std::int64_t heads, float direction, std::size_t n,
               std::size_t D, bool half, bool add) {
  as_stored(y, stored_y, [&](auto* to) HWY_ATTR {
    as_stored(x, stored_x, [&](auto* from) HWY_ATTR {
      TurnRows(to, of_y, from, of_x, cos, sin, of_table, tokens, heads, direction, n, D, half, add);
    });
  });
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(TurnBlock);

namespace {

// x [.., T, D] as [B, H, T, D]
Shape as_heads(const Shape& x) {
  return {x[-4], x[-3], x[-2], x[-1]};
}

RowSteps table_steps(const Shape& table, const Shape& heads) {
  Shape rows = table;
  rows.at(-1) = 1;
  const Strides s = broadcast_strides(rows, heads);
  return {s.s[0] * table[-1], s.s[1] * table[-1], s.s[2] * table[-1]};
}
RowSteps apart(const Shape& heads) {  // [B, H, T, D]
  return {heads.span(1, 4), heads.span(2, 4), heads[3]};
}
RowSteps side_by_side(const Shape& x, Index D) {  // [B, T, C]
  return {x.span(1, 3), D, x[2]};
}

}  // namespace

void CpuBackend::turn_rows(Out y, RowSteps of_y, View x, RowSteps of_x, const Shape& shape,
                           const Turn& turn, float direction) {
  const Index H = shape[1], T = shape[2], D = shape[3], n = turn ? turn.cos.shape[-1] : 0;
  const RowSteps of_table = turn ? table_steps(turn.cos.shape, shape) : RowSteps{};
  parallel(shape[0] * T, 64, [&](Index first, Index last) {
    for (Index count, i = first; i < last; i += count) {
      const Index b = i / T, t = i % T, table = of_table.at(b, 0, t);
      count = std::min(last - i, T - t);
      HWY_DYNAMIC_DISPATCH(TurnBlock)
      (at(y, of_y.at(b, 0, t)), y.storage, of_y, at(x, of_x.at(b, 0, t)), x.storage, of_x,
       in(turn.cos) + table, in(turn.sin) + table, of_table, count, H, direction,
       static_cast<std::size_t>(n), static_cast<std::size_t>(D), turn.pairs == Pairs::half, y.add);
    }
  });
}

void CpuBackend::rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) {
  const Shape shape = as_heads(x.shape);
  turn_rows(y, apart(shape), x, apart(shape), shape, {cos, sin, pairs}, 1);
}

void CpuBackend::rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                                 Pairs pairs) {
  const Shape shape = as_heads(x.shape);
  if (dx) turn_rows(dx, apart(shape), dy, apart(shape), shape, {cos, sin, pairs}, -1);
  if (!dcos && !dsin) return;
  if (dcos && !dcos.add) fill(dcos, 0);
  if (dsin && !dsin.add) fill(dsin, 0);
  const Index D = shape[3], n = cos.shape[-1];
  const RowSteps table = table_steps(cos.shape, shape);
  for (Index r = 0; r < shape.span(0, 3); ++r) {
    const Index t = table.at(r / shape.span(1, 3), r / shape[2] % shape[1], r % shape[2]);
    const float *xr = in(x) + r * D, *g = in(dy) + r * D;
    for (Index i = 0; i < n; ++i) {
      const Index a = pairs == Pairs::half ? i : 2 * i,
                  b = pairs == Pairs::half ? i + n : 2 * i + 1;
      if (dcos) out(dcos)[t + i] += g[a] * xr[a] + g[b] * xr[b];
      if (dsin) out(dsin)[t + i] += g[b] * xr[a] - g[a] * xr[b];
    }
  }
}

void CpuBackend::heads_forward(Out q, Out k, Out v, View x, const Turn& of_q, const Turn& of_k) {
  View from = x;
  const auto part = [&](Out y, const Turn& turn) {
    const Shape& s = y.shape;
    if (y) turn_rows(y, apart(s), from, side_by_side(x.shape, s[3]), s, turn, 1);
    from.data = at(from, s[1] * s[3]);
  };
  part(q, of_q), part(k, of_k), part(v, {});
}

void CpuBackend::heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                                const Turn& of_k) {
  const Index tokens = dx.shape.span(0, 2), C = dx.shape[2];
  Out to = dx;
  const auto part = [&](View dy, const Turn& turn) {
    const Shape& s = dy.shape;
    if (dy)
      turn_rows(to, side_by_side(dx.shape, s[3]), dy, apart(s), s, turn, -1);
    else if (!dx.add)
      as_stored(to.data, to.storage, [&](auto* number) {
        for (Index i = 0; i < tokens; ++i)
          std::memset(number + i * C, 0, static_cast<std::size_t>(s[1] * s[3]) * sizeof *number);
      });
    to.data = at(to, s[1] * s[3]);
  };
  part(dq, of_q), part(dk, of_k), part(dv, {});
}

}  // namespace pesuite
#endif
