// Norms.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

template <class T>
struct NormForward {  // a block a row
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
    const float mean = layer ? block.sum(W, [&](Index i) { return row[i]; }) / width : 0;
    const float variance =
        block.sum(W, [&](Index i) { return (row[i] - mean) * (row[i] - mean); }) / width;
    const float rstd = 1 / std::sqrt(variance + eps);
    block.each(1, [&](Index) {
      stats[2 * n] = mean;
      stats[2 * n + 1] = rstd;
    });
    block.each(W, [&](Index i) {
      const float z = (row[i] - mean) * rstd;
      y.put(n * W + i, (gain != nullptr ? z * gain[i] : z) + (bias != nullptr ? bias[i] : 0));
    });
  }
};
template <class T>
struct NormBackward {  // a block a row
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
    const auto z = [&](Index i) { return (row[i] - mean) * rstd; };
    const auto g = [&](Index i) {
      const float from = d[i];
      return gain != nullptr ? from * gain[i] : from;
    };
    const float a = layer ? block.sum(W, g) / width : 0;
    const float b = block.sum(W, [&](Index i) { return g(i) * z(i); }) / width;
    block.each(W, [&](Index i) { dx.put(n * W + i, rstd * (g(i) - a - z(i) * b)); });
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
    queue_.blocks(x.shape.count() / W, W / 4,
                  NormForward<T>{target<T>(y), target(stats).data, in(x), in(gain), in(bias), W,
                                 kind == Norm::layer, static_cast<float>(eps)});
  });
}

void CudaBackend::norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain,
                                View stats, Norm kind) {
  const Index W = x.shape[-1], N = x.shape.count() / W;
  by_storage(dy.storage, [&]<class T>(T) {
    const T* const from = in<T>(dy);
    if (dx)
      queue_.blocks(
          N, W / 4,
          NormBackward<T>{target(dx), from, in(x), in(gain), in(stats), W, kind == Norm::layer});
    if (dgain) reduce(queue_, target(dgain), W, N, GainGradient<T>{from, in(x), in(stats), W});
  });
  if (dbias) sum_columns(target(dbias), dy, N, W);
}

}  // namespace pesuite::cuda
