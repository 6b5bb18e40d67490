// AdamW (Loshchilov & Hutter 2017, arXiv:1711.05101) with clipping by the global norm: one pass
// over the gradients for the norm, one over everything for the update.
#include <cmath>
#include <cstddef>

#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optimizer.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

float SumSquares(const float* x, std::size_t n) {
  const F32 d;
  V32 a = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V32 v = Load(d, x + i, n - i);
    a = hn::MulAdd(v, v, a);
  }
  return SumOf(d, a);
}

void AdamUpdate(float* x, float* m, float* v, const float* g, std::size_t n, const AdamStep& s) {
  const F32 d;
  const V32 b1 = hn::Set(d, s.beta1), b2 = hn::Set(d, s.beta2);
  const V32 c1 = hn::Set(d, 1.0f - s.beta1), c2 = hn::Set(d, 1.0f - s.beta2);
  const V32 factor = hn::Set(d, s.factor), eps = hn::Set(d, s.eps), rate = hn::Set(d, s.rate);
  const V32 root = hn::Set(d, s.root), keep = hn::Set(d, 1.0f - s.decay);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const std::size_t k = n - i;
    const V32 grad = hn::Mul(Load(d, g + i, k), factor);
    const V32 mean = hn::MulAdd(b1, Load(d, m + i, k), hn::Mul(c1, grad));
    const V32 square = hn::MulAdd(b2, Load(d, v + i, k), hn::Mul(c2, hn::Mul(grad, grad)));
    Store(d, mean, m + i, k);
    Store(d, square, v + i, k);
    const V32 step = hn::Div(hn::Mul(rate, mean), hn::MulAdd(hn::Sqrt(square), root, eps));
    Store(d, hn::Sub(hn::Mul(keep, Load(d, x + i, k)), step), x + i, k);
  }
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(SumSquares);
HWY_EXPORT(AdamUpdate);

void CpuBackend::adamw(Out norm, std::span<const Update> updates, const AdamW& o) {
  constexpr Index block = 16384;
  double squares = 0;
  for (const Update& u : updates) {
    const Index n = u.grad.shape.count(), blocks = (n + block - 1) / block;
    partials_.resize(static_cast<std::size_t>(blocks));
    parallel(blocks, 1, [&](Index first, Index last) {
      for (Index b = first; b < last; ++b)
        partials_[static_cast<std::size_t>(b)] = HWY_DYNAMIC_DISPATCH(SumSquares)(
            in(u.grad) + b * block, static_cast<std::size_t>(std::min(block, n - b * block)));
    });
    for (Index b = 0; b < blocks; ++b) squares += double{partials_[static_cast<std::size_t>(b)]};
  }
  const double total = std::sqrt(squares) / o.loss_scale;
  out(norm)[0] = static_cast<float>(total);
  if (!std::isfinite(total)) return;
  AdamStep s{};
  s.beta1 = static_cast<float>(o.beta1);
  s.beta2 = static_cast<float>(o.beta2);
  s.eps = static_cast<float>(o.eps);
  s.factor = static_cast<float>((o.clip > 0 && total > o.clip ? o.clip / total : 1) / o.loss_scale);
  s.rate = static_cast<float>(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step))));
  s.root = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step))));
  for (const Update& u : updates) {
    s.decay = static_cast<float>(o.lr * u.weight_decay);
    parallel(u.grad.shape.count(), block, [&](Index first, Index last) {
      HWY_DYNAMIC_DISPATCH(AdamUpdate)
      (out(u.value) + first, out(u.m) + first, out(u.v) + first, in(u.grad) + first,
       static_cast<std::size_t>(last - first), s);
    });
  }
}

}  // namespace pesuite
#endif
