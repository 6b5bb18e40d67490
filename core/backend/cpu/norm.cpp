// LayerNorm and RMSNorm over the last axis (Ba et al. 2016; Zhang & Sennrich 2019).
#include <cmath>
#include <cstddef>

#include "backend/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

// y [W], stats [2]: mean and 1 / standard deviation. gain and bias may be null.
template <class Y>
HWY_INLINE void NormRowTo(Y* y, float* stats, const float* x, const float* gain, const float* bias,
                          std::size_t W, bool add, Norm kind, float eps) {
  const F32 d;
  const float scale = 1.0f / static_cast<float>(W);
  float mean = 0;
  if (kind == Norm::layer) {
    V32 s = hn::Zero(d);
    for (std::size_t i = 0; i < W; i += hn::Lanes(d)) s = hn::Add(s, Stream(d, x + i, W - i));
    mean = SumOf(d, s) * scale;
  }
  V32 squares = hn::Zero(d);
  for (std::size_t i = 0; i < W; i += hn::Lanes(d)) {
    V32 c = hn::Sub(Stream(d, x + i, W - i), hn::Set(d, mean));
    if (i + hn::Lanes(d) > W) c = hn::IfThenElseZero(hn::FirstN(d, W - i), c);
    squares = hn::MulAdd(c, c, squares);
  }
  const float rstd = 1.0f / std::sqrt(SumOf(d, squares) * scale + eps);
  stats[0] = mean;
  stats[1] = rstd;
  for (std::size_t i = 0; i < W; i += hn::Lanes(d)) {
    V32 z = hn::Mul(hn::Sub(Load(d, x + i, W - i), hn::Set(d, mean)), hn::Set(d, rstd));
    if (gain != nullptr) z = hn::Mul(z, Load(d, gain + i, W - i));
    if (bias != nullptr) z = hn::Add(z, Load(d, bias + i, W - i));
    Put(d, z, y + i, W - i, add);
  }
}

void NormRow(void* y, Storage storage, float* stats, const float* x, const float* gain,
             const float* bias, std::size_t W, bool add, Norm kind, float eps) {
  as_stored(y, storage,
            [&](auto* to) HWY_ATTR { NormRowTo(to, stats, x, gain, bias, W, add, kind, eps); });
}

// dx = rstd (g - mean(g) - z mean(g z)), g = dy gain, z the normalized input; rms has no mean(g).
template <class Y>
HWY_INLINE void NormRowBackwardFrom(float* dx, const Y* dy, const float* x, const float* gain,
                                    const float* stats, std::size_t W, bool add, Norm kind) {
  const F32 d;
  const V32 mean = hn::Set(d, stats[0]), rstd = hn::Set(d, stats[1]);
  V32 sum_g = hn::Zero(d), sum_gz = hn::Zero(d);
  for (std::size_t i = 0; i < W; i += hn::Lanes(d)) {
    V32 g = Stream(d, dy + i, W - i);  // 0 behind the row's end, so the sums are unharmed
    if (gain != nullptr) g = hn::Mul(g, Load(d, gain + i, W - i));
    const V32 z = hn::Mul(hn::Sub(Stream(d, x + i, W - i), mean), rstd);
    sum_g = hn::Add(sum_g, g);
    sum_gz = hn::MulAdd(g, z, sum_gz);
  }
  const float scale = 1.0f / static_cast<float>(W);
  const V32 a = hn::Set(d, kind == Norm::layer ? SumOf(d, sum_g) * scale : 0.0f);
  const V32 b = hn::Set(d, SumOf(d, sum_gz) * scale);
  for (std::size_t i = 0; i < W; i += hn::Lanes(d)) {
    V32 g = Load(d, dy + i, W - i);
    if (gain != nullptr) g = hn::Mul(g, Load(d, gain + i, W - i));
    const V32 z = hn::Mul(hn::Sub(Load(d, x + i, W - i), mean), rstd);
    Put(d, hn::Mul(rstd, hn::NegMulAdd(z, b, hn::Sub(g, a))), dx + i, W - i, add);
  }
}

void NormRowBackward(float* dx, const void* dy, Storage storage, const float* x, const float* gain,
                     const float* stats, std::size_t W, bool add, Norm kind) {
  as_stored(dy, storage, [&](auto* from) HWY_ATTR {
    NormRowBackwardFrom(dx, from, x, gain, stats, W, add, kind);
  });
}

// dgain += dy z, dbias += dy; either may be null.
template <class Y>
HWY_INLINE void NormParametersFrom(float* dgain, float* dbias, const Y* dy, const float* x,
                                   const float* stats, std::size_t W) {
  const F32 d;
  const V32 mean = hn::Set(d, stats[0]), rstd = hn::Set(d, stats[1]);
  for (std::size_t i = 0; i < W; i += hn::Lanes(d)) {
    const V32 g = Stream(d, dy + i, W - i);
    const V32 z = hn::Mul(hn::Sub(Stream(d, x + i, W - i), mean), rstd);
    if (dgain != nullptr) Put(d, hn::Mul(g, z), dgain + i, W - i, true);
    if (dbias != nullptr) Put(d, g, dbias + i, W - i, true);
  }
}

void NormParameters(float* dgain, float* dbias, const void* dy, Storage storage, const float* x,
                    const float* stats, std::size_t W) {
  as_stored(dy, storage,
            [&](auto* from) HWY_ATTR { NormParametersFrom(dgain, dbias, from, x, stats, W); });
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(NormRow);
HWY_EXPORT(NormRowBackward);
HWY_EXPORT(NormParameters);

void CpuBackend::norm_forward(Out y, Out stats, View x, View gain, View bias, Norm kind,
                              double eps) {
  const Index W = x.shape[-1];
  parallel(x.shape.count() / W, 64, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n) HWY_DYNAMIC_DISPATCH(NormRow)
    (at(y, n * W), y.storage, out(stats) + 2 * n, in(x) + n * W, in(gain), in(bias),
     static_cast<std::size_t>(W), y.add, kind, static_cast<float>(eps));
  });
}
void CpuBackend::norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                               Norm kind) {
  const Index W = x.shape[-1], N = x.shape.count() / W;
  const auto row_of_dx = [&](Index n) {
    HWY_DYNAMIC_DISPATCH(NormRowBackward)
    (out(dx) + n * W, at(dy, n * W), dy.storage, in(x) + n * W, in(gain), in(stats) + 2 * n,
     static_cast<std::size_t>(W), dx.add, kind);
  };
  const auto parameter = [&](Out g, bool is_bias, bool with_dx) {
    sum_columns(g, N, W, [&](Index first, Index last, float* partial) {
      for (Index n = first; n < last; ++n) {
        HWY_DYNAMIC_DISPATCH(NormParameters)
        (is_bias ? nullptr : partial, is_bias ? partial : nullptr, at(dy, n * W), dy.storage,
         in(x) + n * W, in(stats) + 2 * n, static_cast<std::size_t>(W));
        if (with_dx) row_of_dx(n);
      }
    });
  };
  if (dgain)  // and dx on the way, while dy and x are near
    parameter(dgain, false, static_cast<bool>(dx));
  else if (dx)
    parallel(N, 64, [&](Index first, Index last) {
      for (Index n = first; n < last; ++n) row_of_dx(n);
    });
  if (dbias) parameter(dbias, true, false);
}

}  // namespace pesuite
#endif
