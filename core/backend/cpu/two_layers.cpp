// Two layers with a rectifier between them, of few units and many columns, as an MLP of every
// distance has: 64 columns at a time, whose hidden units stay in the first-level cache. Stored
// whole, they would be most of what such an MLP reads and writes.
#include <algorithm>
#include <cstddef>

#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/two_layers.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "backend/cpu/block_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pesuite::HWY_NAMESPACE {

// h [F, 64] = relu(w1 x + b1)
HWY_INLINE void Hidden(const LayerColumns& m, const float* x, I ldx, float* h) {
  const F32 d;
  constexpr int V = static_cast<int>(kBlock / kLanes);
  for (I f = 0; f < m.F; ++f) {
    V32 z[V];
    for (int v = 0; v < V; ++v) z[v] = m.b1 != nullptr ? hn::Set(d, m.b1[f]) : hn::Zero(d);
    for (I i = 0; i < m.I; ++i) {
      const V32 w = hn::Set(d, m.w1[f * m.I + i]);
      for (int v = 0; v < V; ++v)
        z[v] = hn::MulAdd(w, hn::LoadU(d, x + i * ldx + v * kLanes), z[v]);
    }
    for (int v = 0; v < V; ++v) {
      const V32 on = hn::IfThenElse(hn::Lt(z[v], hn::Zero(d)), hn::Zero(d), z[v]);
      hn::StoreU(on, d, h + f * kBlock + v * kLanes);
    }
  }
}

// Vectors of sums [M, K, lanes] += a [M, 64] b^T [64, K], k0 .. k0 + R - 1 of K.
template <int R>
HWY_INLINE void AddProducts(float* sums, const float* a, I M, const float* b, I ldb, I K, I k0) {
  const F32 d;
  for (I m = 0; m < M; ++m) {
    float* const to = sums + (m * K + k0) * kLanes;
    V32 acc[R];
    for (int r = 0; r < R; ++r) acc[r] = hn::LoadU(d, to + r * kLanes);
    for (I n = 0; n < kBlock; n += kLanes) {
      const V32 v = hn::LoadU(d, a + m * kBlock + n);
      for (int r = 0; r < R; ++r)
        acc[r] = hn::MulAdd(v, hn::LoadU(d, b + (k0 + r) * ldb + n), acc[r]);
    }
    for (int r = 0; r < R; ++r) hn::StoreU(acc[r], d, to + r * kLanes);
  }
}
HWY_INLINE void AddAllProducts(float* sums, const float* a, I M, const float* b, I ldb, I K) {
  I k = 0;
  for (; k + 4 <= K; k += 4) AddProducts<4>(sums, a, M, b, ldb, K, k);
  for (; k + 2 <= K; k += 2) AddProducts<2>(sums, a, M, b, ldb, K, k);
  for (; k < K; ++k) AddProducts<1>(sums, a, M, b, ldb, K, k);
}

// n columns of `rows` rows, filled up with zeros to 64 where there are fewer.
HWY_INLINE const float* Whole(const float* x, I rows, I n, I& ld, float* memory) {
  if (n == kBlock) return x;
  Pad(memory, kBlock, x, ld, n, rows, 1.0f);
  ld = kBlock;
  return memory;
}
HWY_INLINE void PutColumns(float* y, I ldy, const float* from, I rows, I n, bool add) {
  const F32 d;
  for (I r = 0; r < rows; ++r)
    for (I c = 0; c < n; c += kLanes)
      Put(d, hn::LoadU(d, from + r * kBlock + c), y + r * ldy + c, static_cast<std::size_t>(n - c),
          add);
}

// Vectors of sums [M, lanes] += a [M, 64]
HWY_INLINE void AddSums(float* sums, const float* a, I lda, I M) {
  const F32 d;
  for (I m = 0; m < M; ++m) {
    V32 sum = hn::LoadU(d, sums + m * kLanes);
    for (I n = 0; n < kBlock; n += kLanes) sum = hn::Add(sum, hn::LoadU(d, a + m * lda + n));
    hn::StoreU(sum, d, sums + m * kLanes);
  }
}

// Columns first .. last - 1 of y. work: (F + I + O) * 64 floats.
void TwoLayersForward(const LayerColumns& m, float* y, bool add, I first, I last, float* work) {
  float *const h = work, *const spare = h + m.F * kBlock, *const result = spare + m.I * kBlock;
  for (I c = first; c < last; c += kBlock) {
    const I n = std::min(kBlock, last - c);
    I ldx = m.N;
    const float* const x = Whole(m.x + c, m.I, n, ldx, spare);
    Hidden(m, x, ldx, h);
    for (I o = 0; o < m.O; ++o)
      std::fill_n(result + o * kBlock, kBlock, m.b2 != nullptr ? m.b2[o] : 0.0f);
    Gemm(m.O, kBlock, m.F, {m.w2, m.F, 1}, h, kBlock, result, kBlock, true);
    PutColumns(y + c, m.N, result, m.O, n, add);
  }
}

// Sums of a part of the columns, in the order of LayerSums. dx: those columns, null: not wanted.
// work: (2 F + 2 I + O) * 64 + LayerSums * lanes floats.
void TwoLayersBackward(const LayerColumns& m, const float* all_dy, float* dx, bool add, I first,
                       I last, float* sums, float* work) {
  const F32 d;
  float *const h = work, *const dh = h + m.F * kBlock, *const spare = dh + m.F * kBlock;
  float *const spare_dy = spare + m.I * kBlock, *const result = spare_dy + m.O * kBlock;
  float* const vectors = result + m.I * kBlock;
  const LayerSums at(m.O, m.F, m.I);
  std::fill_n(vectors, at.count * kLanes, 0.0f);
  for (I c = first; c < last; c += kBlock) {
    const I n = std::min(kBlock, last - c);
    I ldx = m.N, ldy = m.N;
    const float* const x = Whole(m.x + c, m.I, n, ldx, spare);
    const float* const dy = Whole(all_dy + c, m.O, n, ldy, spare_dy);
    Hidden(m, x, ldx, h);
    AddAllProducts(vectors + at.w2 * kLanes, h, m.F, dy, ldy, m.O);
    AddSums(vectors + at.b2 * kLanes, dy, ldy, m.O);
    Gemm(m.F, kBlock, m.O, {m.w2, 1, m.F}, dy, ldy, dh, kBlock, false);
    for (I i = 0; i < m.F * kBlock; i += kLanes) {
      const auto on = hn::Gt(hn::LoadU(d, h + i), hn::Zero(d));
      hn::StoreU(hn::IfThenElseZero(on, hn::LoadU(d, dh + i)), d, dh + i);
    }
    AddAllProducts(vectors + at.w1 * kLanes, dh, m.F, x, ldx, m.I);
    AddSums(vectors + at.b1 * kLanes, dh, kBlock, m.F);
    if (dx == nullptr) continue;
    Gemm(m.I, kBlock, m.F, {m.w1, 1, m.I}, dh, kBlock, result, kBlock, false);
    PutColumns(dx + c, m.N, result, m.I, n, add);
  }
  for (I i = 0; i < at.count; ++i) sums[i] = SumOf(d, hn::LoadU(d, vectors + i * kLanes));
}

}  // namespace pesuite::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/cpu.h"

namespace pesuite {
HWY_EXPORT(TwoLayersForward);
HWY_EXPORT(TwoLayersBackward);

namespace {

constexpr Index part_columns = 2048;  // whose sums are collected together

// Network l of as many as the weights' leading axes count.
LayerColumns columns_of(const TwoLayers& m, Index l) {
  const Index O = m.w2.shape[-2], F = m.w2.shape[-1], I = m.w1.shape[-1], N = m.x.shape[-1];
  return {O,
          F,
          I,
          N,
          in(m.w2) + l * O * F,
          m.b2 ? in(m.b2) + l * O : nullptr,
          in(m.w1) + l * F * I,
          m.b1 ? in(m.b1) + l * F : nullptr,
          in(m.x) + (m.x.shape.count() > I * N ? l * I * N : 0)};
}

}  // namespace

void CpuBackend::two_layers_forward(Out y, const TwoLayers& layers) {
  for (Index l = 0; l < y.shape.count() / (y.shape[-2] * y.shape[-1]); ++l) {
    const LayerColumns m = columns_of(layers, l);
    const auto floats = static_cast<std::size_t>((m.F + m.I + m.O) * 64);
    parallel(m.N, part_columns / 2, [&](Index first, Index last) {
      HWY_DYNAMIC_DISPATCH(TwoLayersForward)
      (m, out(y) + l * m.O * m.N, y.add, first, last, workspace(omp_get_thread_num(), floats));
    });
  }
}

void CpuBackend::two_layers_backward(const TwoLayerGradients& g, View dy, const TwoLayers& layers) {
  const Index one = dy.shape[-2] * dy.shape[-1];
  for (Index l = 0; l < dy.shape.count() / one; ++l) {
    const LayerColumns m = columns_of(layers, l);
    const LayerSums at(m.O, m.F, m.I);
    const Index parts = (m.N + part_columns - 1) / part_columns;
    partials_.resize(static_cast<std::size_t>(parts * at.count));
    const auto floats = static_cast<std::size_t>((2 * m.F + 2 * m.I + m.O) * 64 + at.count * 16);
    float* const dx = g.x ? out(g.x) + (m.x - in(layers.x)) : nullptr;
    const bool add = g.x.add || (l > 0 && m.x == in(layers.x));
    each_group(parts, floats, [&](Index p, float* work) {
      HWY_DYNAMIC_DISPATCH(TwoLayersBackward)
      (m, in(dy) + l * one, dx, add, p * part_columns, std::min(m.N, (p + 1) * part_columns),
       partials_.data() + p * at.count, work);
    });
    // to [rows, columns], network l of it, from sums whose columns follow each other
    const auto collect = [&](Out all, Index start, Index rows, Index columns) {
      if (!all) return;
      float* const to = out(all) + l * rows * columns;
      for (Index i = 0; i < rows * columns; ++i) {
        float sum = all.add ? to[i] : 0.0f;
        for (Index p = 0; p < parts; ++p)
          sum += partials_[static_cast<std::size_t>(p * at.count + start + i % columns * rows +
                                                    i / columns)];
        to[i] = sum;
      }
    };
    collect(g.w2, at.w2, m.O, m.F);
    collect(g.b2, at.b2, m.O, 1);
    collect(g.w1, at.w1, m.F * m.I, 1);
    collect(g.b1, at.b1, m.F, 1);
  }
}

}  // namespace pesuite
#endif
