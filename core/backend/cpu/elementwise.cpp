// Ops that act on each element alone: unary, binary, affine, dropout, the gate.
#include <cmath>
#include <cstddef>

#include "backend/backend.h"
#include "pesuite/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

using Index = std::int64_t;

// y[i] (+)= f(x[i]) in vectors.
template <class T, class F>
HWY_INLINE void Map(T* y, const T* x, std::size_t n, bool add, F f) {
  const F32 d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    Put(d, f(d, Stream(d, x + i, n - i)), y + i, n - i, add);
}
// The same with a function of libm, for ops that no hot loop uses.
template <class F>
HWY_INLINE void MapScalar(float* y, const float* x, std::size_t n, bool add, F f) {
  for (std::size_t i = 0; i < n; ++i) y[i] = f(x[i]) + (add ? y[i] : 0.0f);
}

template <class T>
HWY_INLINE void GeluForward(T* y, const T* x, std::size_t n, bool add) {
  Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return hn::Mul(v, NormalCdf(d, v)); });
}

// (1 + tanh u) / 2 = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
constexpr float kTwiceRoot2Pi = 1.5957691216057308f, kCubicOfGelu = 0.044715f;
HWY_INLINE V32 TanhShare(F32 d, V32 x) {
  const V32 square = hn::Mul(x, x);
  const V32 inner = hn::MulAdd(hn::Mul(square, x), hn::Set(d, kCubicOfGelu), x);
  return Sigmoid(d, hn::Mul(inner, hn::Set(d, kTwiceRoot2Pi)));
}

void UnaryForward(float* y, const float* x, std::size_t n, bool add, Unary op) {
  switch (op) {
    case Unary::exp: return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return Exp(d, v); });
    case Unary::sigmoid:
      return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return Sigmoid(d, v); });
    case Unary::relu:
      return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v);
      });
    case Unary::abs: return Map(y, x, n, add, [](F32, V32 v) HWY_ATTR { return hn::Abs(v); });
    case Unary::sqrt: return Map(y, x, n, add, [](F32, V32 v) HWY_ATTR { return hn::Sqrt(v); });
    case Unary::floor: return Map(y, x, n, add, [](F32, V32 v) HWY_ATTR { return hn::Floor(v); });
    case Unary::gelu: return GeluForward(y, x, n, add);
    case Unary::gelu_tanh:
      return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return hn::Mul(v, TanhShare(d, v)); });
    case Unary::log: return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return Log(d, v); });
    case Unary::tanh: return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return Tanh(d, v); });
    case Unary::softplus:
      return Map(y, x, n, add, [](F32 d, V32 v) HWY_ATTR { return Softplus(d, v); });
    case Unary::sin: return MapScalar(y, x, n, add, [](float v) { return std::sin(v); });
    case Unary::cos: return MapScalar(y, x, n, add, [](float v) { return std::cos(v); });
  }
}

// dx (+)= dy * f(x, y)
template <class T, class F>
HWY_INLINE void MapBackward(T* dx, const T* dy, const T* x, const T* y, std::size_t n, bool add,
                            F f) {
  const F32 d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const std::size_t m = n - i;
    const V32 slope = f(d, Stream(d, x + i, m), Stream(d, y + i, m));
    Put(d, hn::Mul(Stream(d, dy + i, m), slope), dx + i, m, add);
  }
}

template <class T>
HWY_INLINE void GeluBackward(T* dx, const T* dy, const T* x, std::size_t n, bool add) {
  MapBackward(dx, dy, x, x, n, add, [](F32 d, V32 v, V32) HWY_ATTR {
    const V32 density =
        hn::Mul(Exp(d, hn::Mul(hn::Mul(v, v), hn::Set(d, -0.5f))), hn::Set(d, 0.3989422804014327f));
    return hn::MulAdd(v, density, NormalCdf(d, v));
  });
}

void UnaryBackward(float* dx, const float* dy, const float* x, const float* y, std::size_t n,
                   bool add, Unary op) {
  const auto run = [&](auto f) HWY_ATTR { MapBackward(dx, dy, x, y, n, add, f); };
  switch (op) {
    case Unary::exp: return run([](F32, V32, V32 vy) HWY_ATTR { return vy; });
    case Unary::log:
      return run([](F32 d, V32 vx, V32) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), vx); });
    case Unary::tanh:
      return run([](F32 d, V32, V32 vy)
                     HWY_ATTR { return hn::NegMulAdd(vy, vy, hn::Set(d, 1.0f)); });
    case Unary::sigmoid:
      return run([](F32, V32, V32 vy) HWY_ATTR { return hn::NegMulAdd(vy, vy, vy); });
    case Unary::softplus: return run([](F32 d, V32 vx, V32) HWY_ATTR { return Sigmoid(d, vx); });
    case Unary::relu:
      return run([](F32 d, V32 vx, V32) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(vx, hn::Zero(d)), hn::Set(d, 1.0f));
      });
    case Unary::abs:
      return run([](F32 d, V32 vx, V32) HWY_ATTR {
        return hn::IfThenElseZero(hn::Ne(vx, hn::Zero(d)), hn::CopySign(hn::Set(d, 1.0f), vx));
      });
    case Unary::sqrt:
      return run([](F32 d, V32, V32 vy) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(vy, hn::Zero(d)), hn::Div(hn::Set(d, 0.5f), vy));
      });
    case Unary::floor: return run([](F32 d, V32, V32) HWY_ATTR { return hn::Zero(d); });
    case Unary::gelu: return GeluBackward(dx, dy, x, n, add);
    case Unary::gelu_tanh:
      return run([](F32 d, V32 vx, V32) HWY_ATTR {
        const V32 s = TanhShare(d, vx), one = hn::Set(d, 1.0f);
        const V32 slope = hn::MulAdd(hn::Mul(vx, vx), hn::Set(d, 3 * kCubicOfGelu), one);
        const V32 grows = hn::Mul(hn::Mul(s, hn::Sub(one, s)), hn::Set(d, kTwiceRoot2Pi));
        return hn::MulAdd(hn::Mul(vx, grows), slope, s);
      });
    case Unary::sin:
    case Unary::cos:
      for (std::size_t i = 0; i < n; ++i) {
        const float slope = op == Unary::sin ? std::cos(x[i]) : -std::sin(x[i]);
        dx[i] = dy[i] * slope + (add ? dx[i] : 0.0f);
      }
  }
}

// y[i] (+)= a[i sa] op b[i sb] for strides 0 or 1.
template <class F>
HWY_INLINE void Zip(float* y, const float* a, Index sa, const float* b, Index sb, std::size_t n,
                    bool add, F f) {
  const F32 d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V32 va = sa == 0 ? hn::Set(d, *a) : Stream(d, a + i, n - i);
    const V32 vb = sb == 0 ? hn::Set(d, *b) : Stream(d, b + i, n - i);
    Put(d, f(d, va, vb), y + i, n - i, add);
  }
}

void BinaryForward(float* y, const float* a, Index sa, const float* b, Index sb, std::size_t n,
                   bool add, Binary op) {
  const auto run = [&](auto f) HWY_ATTR { Zip(y, a, sa, b, sb, n, add, f); };
  switch (op) {
    case Binary::add: return run([](F32, V32 va, V32 vb) HWY_ATTR { return hn::Add(va, vb); });
    case Binary::sub: return run([](F32, V32 va, V32 vb) HWY_ATTR { return hn::Sub(va, vb); });
    case Binary::mul: return run([](F32, V32 va, V32 vb) HWY_ATTR { return hn::Mul(va, vb); });
    case Binary::div: return run([](F32, V32 va, V32 vb) HWY_ATTR { return hn::Div(va, vb); });
    case Binary::min:
      return run([](F32, V32 va, V32 vb)
                     HWY_ATTR { return hn::IfThenElse(hn::Lt(vb, va), vb, va); });
    case Binary::max:
      return run([](F32, V32 va, V32 vb)
                     HWY_ATTR { return hn::IfThenElse(hn::Gt(vb, va), vb, va); });
  }
}

// d[i] (+)= dy[i] * slope of the op in its first (or second) argument.
void BinarySlope(float* g, const float* dy, const float* a, Index sa, const float* b, Index sb,
                 std::size_t n, bool add, bool second, Binary op) {
  const F32 d;
  const V32 one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V32 va = sa == 0 ? hn::Set(d, *a) : Load(d, a + i, n - i);
    const V32 vb = sb == 0 ? hn::Set(d, *b) : Load(d, b + i, n - i);
    V32 slope = one;
    switch (op) {
      case Binary::add: break;
      case Binary::sub: slope = second ? hn::Neg(one) : one; break;
      case Binary::mul: slope = second ? va : vb; break;
      case Binary::div:
        slope = second ? hn::Neg(hn::Div(va, hn::Mul(vb, vb))) : hn::Div(one, vb);
        break;
      case Binary::min:
        slope = hn::IfThenElse(hn::Lt(vb, va), second ? one : zero, second ? zero : one);
        break;
      case Binary::max:
        slope = hn::IfThenElse(hn::Gt(vb, va), second ? one : zero, second ? zero : one);
        break;
    }
    Put(d, hn::Mul(Load(d, dy + i, n - i), slope), g + i, n - i, add);
  }
}

float Sum(const float* x, std::size_t n) {
  const F32 d;
  V32 s = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) s = hn::Add(s, Load(d, x + i, n - i));
  return SumOf(d, s);
}

template <class Y, class X>
HWY_INLINE void AffineOf(Y* y, const X* x, Index sx, std::size_t n, bool add, float scale,
                         float shift) {
  const F32 d;
  const V32 s = hn::Set(d, scale), c = hn::Set(d, shift);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V32 v = sx == 0 ? hn::Set(d, *x) : Stream(d, x + i, n - i);
    Put(d, hn::MulAdd(v, s, c), y + i, n - i, add);
  }
}
void Affine(void* y, Storage to, const void* x, Storage from, Index sx, std::size_t n, bool add,
            float scale, float shift) {
  as_stored(y, to, [&](auto* out) HWY_ATTR {
    as_stored(x, from, [&](auto* in) HWY_ATTR { AffineOf(out, in, sx, n, add, scale, shift); });
  });
}

// Columns first .. first + n - 1 of row 0; first a multiple of 64.
void DropoutRow(float* y, const float* x, std::size_t first, std::size_t n, bool add,
                const Dropout& drop) {
  const F32 d;
  const auto threshold = static_cast<std::uint32_t>(pes::probability(drop.p));
  const float factor = static_cast<float>(1 / (1 - drop.p));
  alignas(64) std::uint32_t words[64];
  alignas(64) float keep[64];
  for (std::size_t i = 0; i < n; i += 64) {
    PhiloxRow64(drop.seed, drop.purpose, 0, static_cast<std::uint32_t>((first + i) / 4), words);
    for (int j = 0; j < 64; ++j) keep[j] = words[j] < threshold ? 0.0f : factor;
    for (std::size_t j = 0; j < 64 && i + j < n; j += hn::Lanes(d))
      Put(d, hn::Mul(Load(d, x + i + j, n - i - j), hn::Load(d, keep + j)), y + i + j, n - i - j,
          add);
  }
}

// One row: y [F] = silu(g) u, x = [g, u] [2F].
template <class T>
HWY_INLINE void GateRow(T* y, const T* x, std::size_t F, bool add) {
  const F32 d;
  for (std::size_t i = 0; i < F; i += hn::Lanes(d)) {
    const V32 g = Stream(d, x + i, F - i), u = Stream(d, x + F + i, F - i);
    Put(d, hn::Mul(hn::Mul(g, Sigmoid(d, g)), u), y + i, F - i, add);
  }
}
template <class T>
HWY_INLINE void GateRowBackward(T* dx, const T* dy, const T* x, std::size_t F, bool add) {
  const F32 d;
  const V32 one = hn::Set(d, 1.0f);
  for (std::size_t i = 0; i < F; i += hn::Lanes(d)) {
    const std::size_t m = F - i;
    const V32 g = Stream(d, x + i, m), u = Stream(d, x + F + i, m), dv = Stream(d, dy + i, m);
    const V32 s = Sigmoid(d, g);
    const V32 slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
    Put(d, hn::Mul(hn::Mul(dv, u), slope), dx + i, m, add);
    Put(d, hn::Mul(hn::Mul(dv, g), s), dx + F + i, m, add);
  }
}

void GeluForward16(void* y, const void* x, std::size_t n, bool add) {
  GeluForward(static_cast<Bf16*>(y), static_cast<const Bf16*>(x), n, add);
}
void GeluBackward16(void* dx, const void* dy, const void* x, std::size_t n, bool add) {
  GeluBackward(static_cast<Bf16*>(dx), static_cast<const Bf16*>(dy), static_cast<const Bf16*>(x), n,
               add);
}

void GateForward(void* y, const void* x, Storage storage, std::size_t F, bool add) {
  as_stored(y, storage,
            [&]<class T>(T* to) HWY_ATTR { GateRow(to, static_cast<const T*>(x), F, add); });
}
void GateBackward(void* dx, const void* dy, const void* x, Storage storage, std::size_t F,
                  bool add) {
  as_stored(dx, storage, [&]<class T>(T* to) HWY_ATTR {
    GateRowBackward(to, static_cast<const T*>(dy), static_cast<const T*>(x), F, add);
  });
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(UnaryForward);
HWY_EXPORT(UnaryBackward);
HWY_EXPORT(BinaryForward);
HWY_EXPORT(BinarySlope);
HWY_EXPORT(Sum);
HWY_EXPORT(Affine);
HWY_EXPORT(DropoutRow);
HWY_EXPORT(GeluForward16);
HWY_EXPORT(GeluBackward16);
HWY_EXPORT(GateForward);
HWY_EXPORT(GateBackward);

namespace {

constexpr Index grain = 16384;
std::size_t size(Index n) {
  return static_cast<std::size_t>(n);
}

// A broadcast op as runs of `inner` elements, along which each operand stands still or moves by 1.
struct Runs {
  Shape outer;
  Index inner = 1;
  Index step_a = 0, step_b = 0;  // 0 or 1
  Strides a, b;
  Runs(const Shape& full, const Shape& sa, const Shape& sb) {
    const Strides ta = broadcast_strides(sa, full), tb = broadcast_strides(sb, full);
    int axis = full.rank() - 1;
    while (axis >= 0 && full[axis] == 1) --axis;
    if (axis >= 0) {
      step_a = ta.s[axis] != 0 ? 1 : 0;
      step_b = tb.s[axis] != 0 ? 1 : 0;
    }
    // join axes while both operands go on as they began
    while (axis >= 0) {
      const bool on = full[axis] == 1 ||
                      (ta.s[axis] == (step_a ? inner : 0) && tb.s[axis] == (step_b ? inner : 0));
      if (!on) break;
      inner *= full[axis--];
    }
    outer = Shape::of(axis + 1, full.data());
    a = ta;
    b = tb;
  }
  template <class F>
  void each(F body) const {  // body(offset in the result, in a, in b)
    range(0, outer.count(), body);
  }
  template <class F>
  void range(Index first, Index last, F body) const {  // of the runs first .. last-1 alone
    for (Index i = first; i < last; ++i) {
      Index rest = i, oa = 0, ob = 0;
      for (int axis = outer.rank() - 1; axis >= 0; --axis) {
        const Index c = rest % outer[axis];
        rest /= outer[axis];
        oa += c * a.s[axis];
        ob += c * b.s[axis];
      }
      body(i * inner, oa, ob);
    }
  }
};

}  // namespace

void CpuBackend::unary_forward(Out y, View x, Unary op) {
  const bool half = op == Unary::gelu && y.storage == Storage::bf16 && x.storage == y.storage;
  parallel(x.shape.count(), grain, [&](Index first, Index last) {
    if (half) {
      HWY_DYNAMIC_DISPATCH(GeluForward16)(at(y, first), at(x, first), size(last - first), y.add);
      return;
    }
    HWY_DYNAMIC_DISPATCH(UnaryForward)
    (out(y) + first, in(x) + first, size(last - first), y.add, op);
  });
}
void CpuBackend::unary_backward(Out dx, View dy, View x, View y, Unary op) {
  const bool half = op == Unary::gelu && dx.storage == Storage::bf16 && dy.storage == dx.storage &&
                    x.storage == dx.storage;
  parallel(x.shape.count(), grain, [&](Index first, Index last) {
    if (half) {
      HWY_DYNAMIC_DISPATCH(GeluBackward16)
      (at(dx, first), at(dy, first), at(x, first), size(last - first), dx.add);
      return;
    }
    HWY_DYNAMIC_DISPATCH(UnaryBackward)
    (out(dx) + first, in(dy) + first, in(x) + first, in(y) + first, size(last - first), dx.add, op);
  });
}

// body(offset in the result, offset in a, offset in b, length) over all elements, shared by
// threads: parts of long runs, or several short ones.
template <class F>
void CpuBackend::each_run(const Shape& full, const Shape& a, const Shape& b, F body) {
  const Runs runs(full, a, b);
  if (runs.inner >= 2 * grain) {
    runs.each([&](Index o, Index oa, Index ob) {
      parallel(runs.inner, grain, [&](Index first, Index last) {
        body(o + first, oa + first * runs.step_a, ob + first * runs.step_b, last - first);
      });
    });
  } else {
    parallel(runs.outer.count(), std::max<Index>(1, grain / runs.inner),
             [&](Index first, Index last) {
               runs.range(first, last,
                          [&](Index o, Index oa, Index ob) { body(o, oa, ob, runs.inner); });
             });
  }
}

void CpuBackend::binary_forward(Out y, View a, View b, Binary op) {
  const Runs runs(y.shape, a.shape, b.shape);
  each_run(y.shape, a.shape, b.shape, [&](Index o, Index oa, Index ob, Index n) {
    HWY_DYNAMIC_DISPATCH(BinaryForward)
    (out(y) + o, in(a) + oa, runs.step_a, in(b) + ob, runs.step_b, size(n), y.add, op);
  });
}

void CpuBackend::binary_backward(Out da, Out db, View dy, View a, View b, Binary op) {
  const Runs runs(dy.shape, a.shape, b.shape);
  const auto slope = [&](float* g, Index o, Index oa, Index ob, Index n, bool add, bool second) {
    HWY_DYNAMIC_DISPATCH(BinarySlope)
    (g, in(dy) + o, in(a) + oa, runs.step_a, in(b) + ob, runs.step_b, size(n), add, second, op);
  };
  const auto operand = [&](Out g, bool second) {
    if (!g) return;
    if (g.shape.count() == dy.shape.count()) {
      each_run(dy.shape, a.shape, b.shape, [&](Index o, Index oa, Index ob, Index n) {
        slope(out(g) + (second ? ob : oa), o, oa, ob, n, g.add, second);
      });
      return;
    }
    // What was stretched collects sums: a thread owns some of its elements, or does all.
    if (!g.add) fill(g, 0);
    const bool sums = (second ? runs.step_b : runs.step_a) == 0;
    const auto collect = [&](Index first, Index last) {
      float products[2048];
      runs.range(first, last, [&](Index o, Index oa, Index ob) {
        float* to = out(g) + (second ? ob : oa);
        for (Index i = 0; i < runs.inner; i += 2048) {
          const Index n = std::min<Index>(2048, runs.inner - i);
          slope(products, o + i, oa + i * runs.step_a, ob + i * runs.step_b, n, false, second);
          *to += HWY_DYNAMIC_DISPATCH(Sum)(products, size(n));
        }
      });
    };
    if (!sums)
      runs.each([&](Index o, Index oa, Index ob) {
        parallel(runs.inner, 2048, [&](Index first, Index last) {
          slope(out(g) + (second ? ob : oa) + first, o + first, oa + first * runs.step_a,
                ob + first * runs.step_b, last - first, true, second);
        });
      });
    else if (g.shape.count() == runs.outer.count())
      parallel(runs.outer.count(), std::max<Index>(1, grain / runs.inner), collect);
    else
      collect(0, runs.outer.count());
  };
  operand(da, false);
  operand(db, true);
}

void CpuBackend::affine(Out y, View x, double scale, double shift) {
  const Runs runs(y.shape, x.shape, {});
  each_run(y.shape, x.shape, {}, [&](Index o, Index ox, Index, Index n) {
    HWY_DYNAMIC_DISPATCH(Affine)
    (at(y, o), y.storage, at(x, ox), x.storage, runs.step_a, size(n), y.add,
     static_cast<float>(scale), static_cast<float>(shift));
  });
}
void CpuBackend::dropout(Out y, View x, const Dropout& d) {
  parallel(x.shape.count(), grain, [&](Index first, Index last) {
    HWY_DYNAMIC_DISPATCH(DropoutRow)
    (out(y) + first, in(x) + first, size(first), size(last - first), y.add, d);
  });
}
void CpuBackend::gate_forward(Out y, View x) {
  PES_CHECK(y.storage == x.storage);
  const Index F = y.shape[-1];
  parallel(y.shape.count() / F, 16, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n) HWY_DYNAMIC_DISPATCH(GateForward)
    (at(y, n * F), at(x, n * 2 * F), y.storage, size(F), y.add);
  });
}
void CpuBackend::gate_backward(Out dx, View dy, View x) {
  PES_CHECK(dx.storage == x.storage && dy.storage == x.storage);
  const Index F = dy.shape[-1];
  parallel(dy.shape.count() / F, 16, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n) HWY_DYNAMIC_DISPATCH(GateBackward)
    (at(dx, n * 2 * F), at(dy, n * F), at(x, n * 2 * F), x.storage, size(F), dx.add);
  });
}

}  // namespace pesuite
#endif
