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
  PESUITE_HD void operator()(Block& block) const {
    const Index n = block.index();
    const float* const row = x + n * W;
    const T* const d = dy + n * W;
    const float mean = stats[2 * n], rstd = stats[2 * n + 1], width = static_cast<float>(W);
    const auto z = [&](Index i) {
      Some<N> s = some<N>(row + i * N);
      for (float& x : s.x) x = (x - mean) * rstd;
      return s;
    };
    const auto g = [&](Index i) {
      Some<N> s = some<N>(d + i * N);
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
        layer ? block.sum(W / N, [&](Index i) { return sum_of(g(i), ones); }) / width : 0;
    const float b = block.sum(W / N, [&](Index i) { return sum_of(g(i), z(i)); }) / width;
    block.each(W / N, [&](Index i) {
      Some<N> s = g(i);
      const Some<N> at = z(i);
      for (int k = 0; k < N; ++k) s.x[k] = rstd * (s.x[k] - a - at.x[k] * b);
      put(dx, n * W + i * N, s);
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
    if (dx)
      by_eights(W, {dx.data, dy.data, x.data}, [&]<int Few>(Width<Few>) {
        queue_.blocks(N, W / (3 * Few),
                      NormBackward<T, Few>{target(dx), from, in(x), in(gain), in(stats), W,
                                           kind == Norm::layer});
      });
    if (dgain) reduce(queue_, target(dgain), W, N, GainGradient<T>{from, in(x), in(stats), W});
  });
  if (dbias) sum_columns(target(dbias), dy, N, W);
}

}  // namespace pesuite::cuda
