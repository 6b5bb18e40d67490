// Ops along the last axis that plain loops would do element by element: running sums, gathers and
// what lies between two entries.
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

// Positions in a row of V entries: behind the entry `low`, `way` of the way to the next one. NaN
// counts as 0, and has a NaN before it.
using Vi32 = hn::Vec<hn::RebindToSigned<F32>>;
struct Between {
  Vi32 low;
  V32 way;
};
HWY_INLINE Between BetweenEntries(F32 d, V32 position, V32 last) {
  const hn::RebindToSigned<F32> di;
  const V32 p = hn::Min(hn::Max(position, hn::Zero(d)), last), low = hn::Floor(p);
  return {hn::ConvertTo(di, low), hn::IfThenElse(hn::IsNaN(position), position, hn::Sub(p, low))};
}

// The entries of a row x [V] and how far each lies below the next one; behind the last there is
// none.
class InMemory {
 public:
  InMemory(F32 d, const float* x, Index V)
      : d_(d), x_(x), last_(hn::Set(di_, static_cast<std::int32_t>(V - 1))) {}
  HWY_INLINE V32 Entry(Vi32 n) const { return hn::GatherIndex(d_, x_, n); }
  HWY_INLINE V32 Rise(Vi32 n) const {
    const Vi32 next = hn::Min(hn::Add(n, hn::Set(di_, 1)), last_);
    return hn::Sub(hn::GatherIndex(d_, x_, next), Entry(n));
  }

 private:
  F32 d_;
  hn::RebindToSigned<F32> di_;
  const float* x_;
  Vi32 last_;
};

#if HWY_TARGET <= HWY_AVX3
// The same of at most 32 P entries, which stay in registers.
template <int P>
class InRegisters {
 public:
  InRegisters(F32 d, const float* x, Index V) : d_(d) {
    for (int i = 0; i < 2 * P; ++i) {
      const Index here = std::min(V, Index{16} * i);
      const auto left = static_cast<std::size_t>(V - here);
      x_[i] = Load(d, x + here, left);
      rise_[i] = hn::Zero(d);
      if (left > 1)
        rise_[i] = hn::IfThenElseZero(hn::FirstN(d, left - 1),
                                      hn::Sub(Load(d, x + here + 1, left - 1), x_[i]));
    }
  }
  HWY_INLINE V32 Entry(Vi32 n) const { return Look(x_, n); }
  HWY_INLINE V32 Rise(Vi32 n) const { return Look(rise_, n); }

 private:
  HWY_INLINE V32 Look(const V32* table, Vi32 n) const {
    const V32 low = Of32(table, n);
    if constexpr (P == 1) return low;
    const auto high = hn::RebindMask(d_, hn::Gt(n, hn::Set(di_, 31)));
    return hn::IfThenElse(high, Of32(table + 2 * (P - 1), n), low);
  }
  // Entry n modulo 32 of two vectors.
  static HWY_INLINE V32 Of32(const V32* table, Vi32 n) {
    return V32{_mm512_permutex2var_ps(table[0].raw, n.raw, table[1].raw)};
  }

  F32 d_;
  hn::RebindToSigned<F32> di_;
  V32 x_[2 * P], rise_[2 * P];
};
#endif

// f(the row in registers, if it fits there, else in memory)
template <class F>
HWY_INLINE void WithRow(F32 d, const float* x, Index V, F f) {
#if HWY_TARGET <= HWY_AVX3
  if (V <= 32) return f(InRegisters<1>(d, x, V));
  if (V <= 64) return f(InRegisters<2>(d, x, V));
#endif
  f(InMemory(d, x, V));
}

// y [J] (+)= x [V] at position [J]
void InterpolateRow(float* y, const float* x, const float* position, Index J, Index V, bool add) {
  const F32 d;
  const V32 last = hn::Set(d, static_cast<float>(V - 1));
  WithRow(d, x, V, [&](const auto& row) HWY_ATTR {
    for (Index j = 0; j < J; j += static_cast<Index>(hn::Lanes(d))) {
      const auto m = static_cast<std::size_t>(J - j);
      const Between b = BetweenEntries(d, Load(d, position + j, m), last);
      Put(d, hn::MulAdd(b.way, row.Rise(b.low), row.Entry(b.low)), y + j, m, add);
    }
  });
}

// dposition [J] (+)= dy times the slope of x at position, where that is not clamped.
// dx [V] += dy, parted between the entries beside position. An entry's share and the next one's lie
// side by side until the end, so that one addition does for both; and there are four of each, since
// neighbours often fall on one place. shares: 8 V + 8 floats. Either gradient may be null.
void InterpolateRowBackward(float* dx, float* dposition, const float* dy, const float* x,
                            const float* position, Index J, Index V, bool add, float* shares) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const V32 zero = hn::Zero(d), last = hn::Set(d, static_cast<float>(V - 1));
  const Index copy = 2 * V + 2;  // in front of the first entry stands the share of none
  // of the lane's copy
  const auto first = hn::Add(hn::Mul(hn::And(hn::Iota(di, 0), hn::Set(di, 3)),
                                     hn::Set(di, static_cast<std::int32_t>(copy))),
                             hn::Set(di, 2));
  constexpr Index most = 256;  // places and parts that are found before any is added
  alignas(64) std::int32_t to[most];
  alignas(64) float parts[2 * most];
  if (dx != nullptr) std::fill_n(shares, 4 * copy, 0.0f);
  WithRow(d, x, V, [&](const auto& row) HWY_ATTR {
    for (Index begin = 0; begin < J; begin += most) {
      const Index end = std::min(J, begin + most);
      Index n = 0;
      for (Index j = begin; j < end; j += lanes) {
        const auto m = static_cast<std::size_t>(end - j);
        const V32 g = Load(d, dy + j, m), p = Load(d, position + j, m);
        const Between b = BetweenEntries(d, p, last);
        if (dposition != nullptr) {
          const auto inside = hn::And(hn::Ge(p, zero), hn::Le(p, last));
          Put(d, hn::IfThenElseZero(inside, hn::Mul(g, row.Rise(b.low))), dposition + j, m, add);
        }
        // of keys that no row sees, say
        if (dx == nullptr || hn::AllTrue(d, hn::Eq(g, zero))) continue;
        const V32 next = hn::Mul(g, b.way);
        hn::Store(hn::Add(hn::Add(b.low, b.low), first), di, to + n);
        hn::StoreInterleaved2(hn::Sub(g, next), next, d, parts + 2 * n);
        n += lanes;  // what hangs over are zeros
      }
      for (Index i = 0; i < n; ++i) {
        float* const share = shares + to[i];
        share[0] += parts[2 * i];
        share[1] += parts[2 * i + 1];
      }
    }
  });
  if (dx == nullptr) return;
  for (Index i = 0; i < copy; i += lanes) {
    const auto m = static_cast<std::size_t>(copy - i);
    const auto part = [&](Index c) HWY_ATTR { return Load(d, shares + c * copy + i, m); };
    Store(d, hn::Add(hn::Add(part(0), part(1)), hn::Add(part(2), part(3))), shares + i, m);
  }
  for (Index v = 0; v < V; ++v) dx[v] += shares[2 * v + 1] + shares[2 * v + 2];
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(ScanRows);
HWY_EXPORT(TakeRow);
HWY_EXPORT(TakeRowBackward);
HWY_EXPORT(InterpolateRow);
HWY_EXPORT(InterpolateRowBackward);

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

// part(first in y, start of the row in x, first in index, elements) over all of y, shared by
// threads: parts of long rows, or several short ones.
template <class Rows, class F>
void CpuBackend::each_part(const Rows& rows, F part) {
  if (rows.J >= 16384)
    rows.range(0, rows.count, [&](Index oy, Index ox, Index oi) {
      parallel(rows.J, 8192,
               [&](Index first, Index last) { part(oy + first, ox, oi + first, last - first); });
    });
  else
    parallel(rows.count, rows.grain, [&](Index first, Index last) {
      rows.range(first, last, [&](Index oy, Index ox, Index oi) { part(oy, ox, oi, rows.J); });
    });
}

void CpuBackend::take_forward(Out y, View x, View index) {
  const TakeRows rows(y.shape, x.shape, index.shape);
  each_part(rows, [&](Index oy, Index ox, Index oi, Index n) {
    HWY_DYNAMIC_DISPATCH(TakeRow)
    (out(y) + oy, in(x) + ox, in(index) + oi, n, rows.V, y.add);
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

void CpuBackend::interpolate_forward(Out y, View x, View position) {
  const TakeRows rows(y.shape, x.shape, position.shape);
  each_part(rows, [&](Index oy, Index ox, Index oi, Index n) {
    HWY_DYNAMIC_DISPATCH(InterpolateRow)
    (out(y) + oy, in(x) + ox, in(position) + oi, n, rows.V, y.add);
  });
}

void CpuBackend::interpolate_backward(Out dx, Out dposition, View dy, View x, View position) {
  const TakeRows rows(dy.shape, x.shape, position.shape);
  const bool one_x = x.shape.count() == rows.count * rows.V,
             one_position = position.shape.count() == rows.count * rows.J;
  if (dx && !dx.add) fill(dx, 0);
  if (dposition && !dposition.add && !one_position) fill(dposition, 0);
  const bool add = dposition.add || !one_position;
  const auto run = [&](Index first, Index last) {
    float* shares = workspace(omp_get_thread_num(), static_cast<std::size_t>(8 * rows.V + 8));
    rows.range(first, last, [&](Index oy, Index ox, Index oi) {
      HWY_DYNAMIC_DISPATCH(InterpolateRowBackward)
      (dx ? out(dx) + ox : nullptr, dposition ? out(dposition) + oi : nullptr, in(dy) + oy,
       in(x) + ox, in(position) + oi, rows.J, rows.V, add, shares);
    });
  };
  if ((!dx || one_x) && (!dposition || one_position))
    parallel(rows.count, rows.grain, run);
  else
    run(0, rows.count);  // several rows of dy end in one
}

}  // namespace pesuite
#endif
