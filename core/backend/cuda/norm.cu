// Norms.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

// A block a row; N numbers a thread at a time.
template <class T, int N>
struct NormForward {
  TargetOf<T> y;
  float* stats;  // [N, 2]
  const float *x, *gain, *bias;
  Index W;
  bool layer;
  float eps;
  PESUITE_HD void operator()(Block& block) const {
    const Index n = block.index();
    const float* const row = x + n * W;
    const float width = static_cast<float>(W);
    const auto sum = [&](float less, auto f) {
      return block.sum(W / N, [&](Index i) {
        const Some<N> z = some<N>(row + i * N);
        float all = 0;
        for (int k = 0; k < N; ++k) all += f(z.x[k] - less);
        return all;
      });
    };
    const float mean = layer ? sum(0, [](float z) { return z; }) / width : 0;
    const float variance = sum(mean, [](float z) { return z * z; }) / width;
    const float rstd = 1 / std::sqrt(variance + eps);
    block.each(1, [&](Index) {
      stats[2 * n] = mean;
      stats[2 * n + 1] = rstd;
    });
    block.each(W / N, [&](Index i) {
      Some<N> z = some<N>(row + i * N);
      for (int k = 0; k < N; ++k) {
        z.x[k] = (z.x[k] - mean) * rstd;
        if (gain != nullptr) z.x[k] *= gain[i * N + k];
        if (bias != nullptr) z.x[k] += bias[i * N + k];
      }
      put(y, n * W + i * N, z);
    });
  }
};
template <class T, int N>
struct NormBackward {
  Target dx;
  const T* dy;
  const float *x, *gain, *stats;
  Index W;
  bool layer;

  PESUITE_HD void operator()(Block& block) const { row(block, block.index(), nullptr); }

  // Of row n. Adds its part of the gradient of the gain to `of_gain` [W], unless that is null: a
  // thread adds to what it alone adds to.
  PESUITE_HD void row(Block& block, Index n, float* of_gain) const {
    const float mean = stats[2 * n], rstd = stats[2 * n + 1], width = static_cast<float>(W);
    const auto z = [&](Index i) {
      Some<N> s = some<N>(x + n * W + i * N);
      for (float& x : s.x) x = (x - mean) * rstd;
      return s;
    };
    const auto d = [&](Index i) { return some<N>(dy + n * W + i * N); };
    const auto scaled = [&](Some<N> s, Index i) {
      if (gain != nullptr)
        for (int k = 0; k < N; ++k) s.x[k] *= gain[i * N + k];
      return s;
    };
    const auto sum_of = [](const Some<N>& s, const Some<N>& t) {
      float all = 0;
      for (int k = 0; k < N; ++k) all += s.x[k] * t.x[k];
      return all;
    };
    Some<N> ones;
    for (float& x : ones.x) x = 1;
    const float a =
        layer ? block.sum(W / N, [&](Index i) { return sum_of(scaled(d(i), i), ones); }) / width
              : 0;
    const float b =
        block.sum(W / N, [&](Index i) { return sum_of(scaled(d(i), i), z(i)); }) / width;
    block.each(W / N, [&](Index i) {
      const Some<N> own = d(i), at = z(i);
      if (of_gain != nullptr)
        for (int k = 0; k < N; ++k) of_gain[i * N + k] += own.x[k] * at.x[k];
      Some<N> s = scaled(own, i);
      for (int k = 0; k < N; ++k) s.x[k] = rstd * (s.x[k] - a - at.x[k] * b);
      put(dx, n * W + i * N, s);
    });
  }
};
// A block a chunk of rows, one after the other, with its part of the gradient of the gain: a row is
// read once for both.
template <class T, int N>
struct NormBackwardRows {
  static constexpr Index widest = 2048;
  NormBackward<T, N> each_row;
  Target part;  // [chunks, W]
  Index rows, chunk;
  PESUITE_HD void operator()(Block& block) const {
    float* const sums = block.tiles<float, widest * sizeof(float)>();
    const Index W = each_row.W, first = block.index() * chunk;
    const Index end = first + chunk < rows ? first + chunk : rows;
    block.each(W / N, [&](Index i) {
      for (int k = 0; k < N; ++k) sums[i * N + k] = 0;
    });
    for (Index n = first; n < end; ++n) each_row.row(block, n, sums);
    block.each(W / N, [&](Index i) {
      for (int k = 0; k < N; ++k) part.put(block.index() * W + i * N + k, sums[i * N + k]);
    });
  }
};
template <class T>
struct GainGradient {
  const T* dy;
  const float *x, *stats;
  Index W;
  PESUITE_HD float operator()(Index w, Index n) const {
    const float d = dy[n * W + w];
    return d * (x[n * W + w] - stats[2 * n]) * stats[2 * n + 1];
  }
};

}  // namespace

void CudaBackend::norm_forward(Out y, Out stats, View x, View gain, View bias, Norm kind,
                               double eps) {
  const Index W = x.shape[-1];
  by_storage(y.storage, [&]<class T>(T) {
    by_eights(W, {y.data, x.data}, [&]<int N>(Width<N>) {
      queue_.blocks(x.shape.count() / W, W / (3 * N),
                    NormForward<T, N>{target<T>(y), target(stats).data, in(x), in(gain), in(bias),
                                      W, kind == Norm::layer, static_cast<float>(eps)});
    });
  });
}

void CudaBackend::norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain,
                                View stats, Norm kind) {
  const Index W = x.shape[-1], N = x.shape.count() / W;
  by_storage(dy.storage, [&]<class T>(T) {
    const T* const from = in<T>(dy);
    const bool together = dx && dgain && W <= NormBackwardRows<T, 1>::widest;
    if (dx)
      by_eights(W, {dx.data, dy.data, x.data}, [&]<int Few>(Width<Few>) {
        const NormBackward<T, Few> rows{target(dx),         from, in(x), in(gain), in(stats), W,
                                        kind == Norm::layer};
        if (!together) return queue_.blocks(N, W / (3 * Few), rows);
        reduce_in_chunks(
            queue_, target(dgain), W, N, N / 4, [&](Target part, Index chunk, Index chunks) {
              queue_.blocks(chunks, W / Few, NormBackwardRows<T, Few>{rows, part, N, chunk});
            });
      });
    if (dgain && !together)
      reduce(queue_, target(dgain), W, N, GainGradient<T>{from, in(x), in(stats), W});
  });
  if (dbias) sum_columns(target(dbias), dy, N, W);
}

}  // namespace pesuite::cuda
