// Ops along the last axis that plain loops would do element by element: running sums and gathers.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "backend/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/last_axis.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

using Index = std::int64_t;

// Running sums of R rows at once, so that one row's addition waits while the others' go on.
template <int R, bool reverse>
HWY_INLINE void Scan(float* y, const float* x, Index n, bool add) {
  float carry[R] = {};
  const auto single = [&](Index i) {
    for (int r = 0; r < R; ++r) {
      carry[r] += x[r * n + i];
      y[r * n + i] = carry[r] + (add ? y[r * n + i] : 0.0f);
    }
  };
  Index i = 0;  // elements done, from the end where `reverse`
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  using V = hn::Vec<decltype(d)>;
  V total[R];
  for (int r = 0; r < R; ++r) total[r] = hn::Zero(d);
  for (; i + 4 <= n; i += 4) {
    const Index at = reverse ? n - 4 - i : i;
    for (int r = 0; r < R; ++r) {
      V v = hn::LoadU(d, x + r * n + at);
      if constexpr (reverse) v = hn::Reverse(d, v);
      v = hn::Add(v, hn::ShiftLeftLanes<1>(v));
      v = hn::Add(v, hn::ShiftLeftLanes<2>(v));
      v = hn::Add(v, total[r]);
      total[r] = hn::Broadcast<3>(v);
      if constexpr (reverse) v = hn::Reverse(d, v);
      float* to = y + r * n + at;
      hn::StoreU(add ? hn::Add(v, hn::LoadU(d, to)) : v, d, to);
    }
  }
  for (int r = 0; r < R; ++r) carry[r] = hn::GetLane(total[r]);
#endif
  for (; i < n; ++i) single(reverse ? n - 1 - i : i);
}

void ScanRows(float* y, const float* x, Index rows, Index n, bool add, bool reverse) {
  const auto run = [&](auto scan4, auto scan1) HWY_ATTR {
    Index r = 0;
    for (; r + 4 <= rows; r += 4) scan4(y + r * n, x + r * n);
    for (; r < rows; ++r) scan1(y + r * n, x + r * n);
  };
  if (reverse)
    run([&](float* to, const float* from) HWY_ATTR { Scan<4, true>(to, from, n, add); },
        [&](float* to, const float* from) HWY_ATTR { Scan<1, true>(to, from, n, add); });
  else
    run([&](float* to, const float* from) HWY_ATTR { Scan<4, false>(to, from, n, add); },
        [&](float* to, const float* from) HWY_ATTR { Scan<1, false>(to, from, n, add); });
}

// An index as an integer of 0 .. V - 1; NaN counts as 0.
HWY_INLINE hn::Vec<hn::RebindToSigned<F32>> Places(F32 d, V32 index, Index V) {
  const V32 last = hn::Set(d, static_cast<float>(V - 1));
  return hn::NearestInt(hn::Min(hn::Max(index, hn::Zero(d)), last));
}

// y [J] (+)= x[index[J]], x [V]
void TakeRow(float* y, const float* x, const float* index, Index J, Index V, bool add) {
  const F32 d;
  for (Index j = 0; j < J; j += static_cast<Index>(hn::Lanes(d))) {
    const auto m = static_cast<std::size_t>(J - j);
    Put(d, hn::GatherIndex(d, x, Places(d, Load(d, index + j, m), V)), y + j, m, add);
  }
}

// dx [V] += dy[j] at index[j]. Neighbours often fall on one place: four copies of dx keep their
// additions from waiting for each other. copies: 4 V floats.
void TakeRowBackward(float* dx, const float* dy, const float* index, Index J, Index V,
                     float* copies) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  alignas(64) std::int32_t at[16];
  std::fill_n(copies, 4 * V, 0.0f);
  for (Index j = 0; j < J; j += lanes) {
    const Index n = std::min(lanes, J - j);
    hn::Store(Places(d, Load(d, index + j, static_cast<std::size_t>(n)), V), di, at);
    for (Index i = 0; i < n; ++i) copies[i % 4 * V + at[i]] += dy[j + i];
  }
  for (Index v = 0; v < V; ++v)
    dx[v] += (copies[v] + copies[V + v]) + (copies[2 * V + v] + copies[3 * V + v]);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(ScanRows);
HWY_EXPORT(TakeRow);
HWY_EXPORT(TakeRowBackward);

namespace {

// Rows of a take, y [.., J], x [.., V], index [.., J], and how many of them make up a task.
struct TakeRows {
  Shape lead;
  Strides x, index;
  Index J, V, count, grain;
  TakeRows(const Shape& sy, const Shape& sx, const Shape& si) : lead(sy), J(sy[-1]), V(sx[-1]) {
    Shape rows_x = sx, rows_i = si;
    lead.at(-1) = rows_x.at(-1) = rows_i.at(-1) = 1;
    x = broadcast_strides(rows_x, lead);
    index = broadcast_strides(rows_i, lead);
    count = lead.count();
    grain = std::max<Index>(1, 8192 / J);
  }
  // body(first element in y, start of the row in x, start of the row in index)
  template <class F>
  void range(Index first, Index last, F body) const {
    for (Index i = first; i < last; ++i) {
      Index rest = i, ox = 0, oi = 0;
      for (int axis = lead.rank() - 1; axis >= 0; --axis) {
        const Index c = rest % lead[axis];
        rest /= lead[axis];
        ox += c * x.s[axis];
        oi += c * index.s[axis];
      }
      body(i * J, ox * V, oi * J);
    }
  }
};

}  // namespace

void CpuBackend::cumsum_rows(Out y, View x, Index n, bool reverse) {
  parallel(x.shape.count() / n, std::max<Index>(4, 8192 / n / 4 * 4), [&](Index first, Index last) {
    HWY_DYNAMIC_DISPATCH(ScanRows)
    (out(y) + first * n, in(x) + first * n, last - first, n, y.add, reverse);
  });
}

void CpuBackend::take_forward(Out y, View x, View index) {
  const TakeRows rows(y.shape, x.shape, index.shape);
  const auto part = [&](Index oy, Index ox, Index oi, Index first, Index last) {
    HWY_DYNAMIC_DISPATCH(TakeRow)
    (out(y) + oy + first, in(x) + ox, in(index) + oi + first, last - first, rows.V, y.add);
  };
  if (rows.J >= 16384)
    rows.range(0, rows.count, [&](Index oy, Index ox, Index oi) {
      parallel(rows.J, 8192, [&](Index first, Index last) { part(oy, ox, oi, first, last); });
    });
  else
    parallel(rows.count, rows.grain, [&](Index first, Index last) {
      rows.range(first, last, [&](Index oy, Index ox, Index oi) { part(oy, ox, oi, 0, rows.J); });
    });
}

void CpuBackend::take_backward(Out dx, View dy, View index) {
  if (!dx.add) fill(dx, 0);
  const TakeRows rows(dy.shape, dx.shape, index.shape);
  const auto run = [&](Index first, Index last) {
    float* copies = workspace(omp_get_thread_num(), static_cast<std::size_t>(4 * rows.V));
    rows.range(first, last, [&](Index oy, Index ox, Index oi) {
      HWY_DYNAMIC_DISPATCH(TakeRowBackward)
      (out(dx) + ox, in(dy) + oy, in(index) + oi, rows.J, rows.V, copies);
    });
  };
  if (dx.shape.count() == rows.count * rows.V)
    parallel(rows.count, rows.grain, run);
  else
    run(0, rows.count);  // several rows of dy end in one of dx
}

}  // namespace pesuite
#endif
