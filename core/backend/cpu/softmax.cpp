// Softmax of composed attention, and the classifier: cross-entropy with its gradient.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "backend/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/softmax.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

HWY_INLINE float RowMax(F32 d, const float* x, std::size_t n) {
  V32 m = hn::Set(d, x[0]);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) m = hn::Max(m, hn::LoadU(d, x + i));
  float top = MaxOf(d, m);
  for (; i < n; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

// y [S] = softmax of the first `visible` scores, 0 behind them.
void SoftmaxRow(float* y, const float* scores, std::size_t S, std::size_t visible) {
  const F32 d;
  const V32 top = hn::Set(d, RowMax(d, scores, visible));
  V32 total = hn::Zero(d);
  for (std::size_t i = 0; i < visible; i += hn::Lanes(d)) {
    V32 e = Exp(d, hn::Sub(Load(d, scores + i, visible - i), top));
    if (i + hn::Lanes(d) > visible) e = hn::IfThenElseZero(hn::FirstN(d, visible - i), e);
    Store(d, e, y + i, visible - i);
    total = hn::Add(total, e);
  }
  const V32 scale = hn::Set(d, 1.0f / SumOf(d, total));
  for (std::size_t i = 0; i < visible; i += hn::Lanes(d))
    Store(d, hn::Mul(Load(d, y + i, visible - i), scale), y + i, visible - i);
  for (std::size_t i = visible; i < S; ++i) y[i] = 0;
}

void SoftmaxRowBackward(float* ds, const float* dy, const float* y, std::size_t S, bool add) {
  const F32 d;
  V32 delta = hn::Zero(d);
  for (std::size_t i = 0; i < S; i += hn::Lanes(d))
    delta = hn::MulAdd(Load(d, y + i, S - i), Load(d, dy + i, S - i), delta);
  const V32 mean = hn::Set(d, SumOf(d, delta));
  for (std::size_t i = 0; i < S; i += hn::Lanes(d))
    Put(d, hn::Mul(Load(d, y + i, S - i), hn::Sub(Load(d, dy + i, S - i), mean)), ds + i, S - i,
        add);
}

// z [V] becomes cap tanh(z / cap); `slopes`, where they are wanted, its derivative by z.
void SoftcapRow(float* z, float* slopes, std::size_t V, float cap) {
  const F32 d;
  const V32 to = hn::Set(d, cap), share = hn::Set(d, 1 / cap), one = hn::Set(d, 1.0f);
  for (std::size_t i = 0; i < V; i += hn::Lanes(d)) {
    const V32 t = Tanh(d, hn::Mul(Load(d, z + i, V - i), share));
    Store(d, hn::Mul(to, t), z + i, V - i);
    if (slopes != nullptr) Store(d, hn::NegMulAdd(t, t, one), slopes + i, V - i);
  }
}

void MultiplyRow(void* row, Storage storage, const float* by, std::size_t V) {
  const F32 d;
  as_stored(row, storage, [&](auto* g) HWY_ATTR {
    for (std::size_t i = 0; i < V; i += hn::Lanes(d))
      Store(d, hn::Mul(Load(d, g + i, V - i), Load(d, by + i, V - i)), g + i, V - i);
  });
}

// Cross-entropy of one row of logits z [V]; returns its nats and the largest entry's place. A
// gradient that is wanted becomes weight (softmax(z) - onehot(target)); it may stand where z does,
// which is used up.
float ClassifyRow(float* z, std::size_t V, std::int32_t target, std::int32_t* best, void* gradient,
                  Storage storage, float weight) {
  const F32 d;
  const float top = RowMax(d, z, V);
  std::size_t where = 0;
  for (; where + hn::Lanes(d) <= V; where += hn::Lanes(d))
    if (!hn::AllFalse(d, hn::Eq(hn::LoadU(d, z + where), hn::Set(d, top)))) break;
  while (where < V && !(z[where] == top)) ++where;
  *best = static_cast<std::int32_t>(where < V ? where : 0);
  const float chosen = z[target];
  V32 total = hn::Zero(d);
  for (std::size_t i = 0; i < V; i += hn::Lanes(d)) {
    V32 e = Exp(d, hn::Sub(Load(d, z + i, V - i), hn::Set(d, top)));
    if (i + hn::Lanes(d) > V) e = hn::IfThenElseZero(hn::FirstN(d, V - i), e);
    if (gradient != nullptr) Store(d, e, z + i, V - i);
    total = hn::Add(total, e);
  }
  const float sum = SumOf(d, total);
  if (gradient != nullptr)
    as_stored(gradient, storage, [&](auto* g) HWY_ATTR {
      const float scale = weight / sum, of_target = z[target] * scale - weight;
      for (std::size_t i = 0; i < V; i += hn::Lanes(d))
        Store(d, hn::Mul(Load(d, z + i, V - i), hn::Set(d, scale)), g + i, V - i);
      store(g[target], of_target);
    });
  return std::log(sum) + (top - chosen);
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"
#include "backend/cpu/products.h"

namespace pesuite {
HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(SoftmaxRowBackward);
HWY_EXPORT(SoftcapRow);
HWY_EXPORT(MultiplyRow);
HWY_EXPORT(ClassifyRow);

void CpuBackend::softmax_forward(Out y, View scores, Index first_query) {
  const Index S = scores.shape[-1], T = scores.shape[-2];
  parallel(scores.shape.count() / S, 16, [&](Index first, Index last) {
    for (Index r = first; r < last; ++r) HWY_DYNAMIC_DISPATCH(SoftmaxRow)
    (out(y) + r * S, in(scores) + r * S, static_cast<std::size_t>(S),
     static_cast<std::size_t>(std::min(S, first_query + r % T + 1)));
  });
}
void CpuBackend::softmax_backward(Out ds, View dy, View y) {
  const Index S = y.shape[-1];
  parallel(y.shape.count() / S, 16, [&](Index first, Index last) {
    for (Index r = first; r < last; ++r) HWY_DYNAMIC_DISPATCH(SoftmaxRowBackward)
    (out(ds) + r * S, in(dy) + r * S, in(y) + r * S, static_cast<std::size_t>(S), ds.add);
  });
}

void CpuBackend::classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h,
                          const Classifier& by, const std::int32_t* targets, double weight) {
  const auto [w, bias, softcap] = by;
  const auto cap = static_cast<float>(softcap);
  const Index W = w.shape[1], V = w.shape[0], N = h.shape.count() / W;
  const bool wanted = dh || dw || dbias;
  // rows of a block: its logits stay near 1 MiB, but no fewer than 512 rows share a packed w
  const Index rows = std::max<Index>(512, (Index{1} << 18) / V);
  const auto count = static_cast<std::size_t>(std::min(rows, N) * V);
  float* const logits = workspace(0, wanted && bf16_ ? count + count / 2 + 1 : count);
  // their gradients: in their place, or behind them as the products read them
  const Out gradient{bf16_ ? logits + count : logits, {}, false, activations()};
  for (Index start = 0; start < N; start += rows) {
    const Index n = std::min(rows, N - start);
    const float* hs = in(h) + start * W;
    const bool again = start > 0 && n == rows;  // packed for the block before
    products_->run({.M = n,
                    .N = V,
                    .K = W,
                    .a = {hs, false},
                    .b = {w.data, true, w.storage},
                    .bias = in(bias),
                    .c = logits,
                    .keep_b = true,
                    .same_b = again});
    parallel(n, 16, [&](Index first, Index last) {
      thread_local std::vector<float> slopes;  // kept: steps after the first allocate nothing
      const auto classes = static_cast<std::size_t>(V);
      if (cap > 0) slopes.resize(classes);
      for (Index r = first; r < last; ++r) {
        float* const row = logits + r * V;
        void* const of_row = wanted ? at(gradient, r * V) : nullptr;
        if (cap > 0)
          HWY_DYNAMIC_DISPATCH(SoftcapRow)(row, wanted ? slopes.data() : nullptr, classes, cap);
        out(nats)[start + r] =
            HWY_DYNAMIC_DISPATCH(ClassifyRow)(row, classes, targets[start + r], best + start + r,
                                              of_row, gradient.storage, static_cast<float>(weight));
        if (cap > 0 && wanted)
          HWY_DYNAMIC_DISPATCH(MultiplyRow)(of_row, gradient.storage, slopes.data(), classes);
      }
    });
    if (dh)
      products_->run({.M = n,
                      .N = W,
                      .K = V,
                      .a = {gradient.data, false, gradient.storage},
                      .b = {in(w), false},
                      .c = out(dh) + start * W,
                      .add = dh.add,
                      .keep_b = true,
                      .same_b = again});
    if (dw)
      products_->run({.M = V,
                      .N = W,
                      .K = n,
                      .a = {gradient.data, true, gradient.storage},
                      .b = {hs, false},
                      .c = out(dw),
                      .add = dw.add || start > 0});
    if (dbias)
      sum_columns({dbias.data, dbias.shape, dbias.add || start > 0}, n, V,
                  [&](Index first, Index last, float* partial) {
                    as_stored(gradient.data, gradient.storage, [&](auto* g) {
                      for (Index r = first; r < last; ++r)
                        for (Index c = 0; c < V; ++c) partial[c] += g[r * V + c];
                    });
                  });
  }
}

}  // namespace pesuite
#endif
