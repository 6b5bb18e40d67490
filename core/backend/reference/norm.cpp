// Norms.
#include "backend/reference/reference.h"

namespace pesuite::reference {

void Reference::norm_forward(Out y, Out stats, View x, View gain, View bias, Norm kind,
                             double eps) {
  const Index W = x.shape[-1], N = x.shape.count() / W;
  for (Index n = 0; n < N; ++n) {
    const double* r = in(x) + n * W;
    double mean = 0, variance = 0;
    if (kind == Norm::layer)
      for (Index i = 0; i < W; ++i) mean += r[i] / static_cast<double>(W);
    for (Index i = 0; i < W; ++i)
      variance += (r[i] - mean) * (r[i] - mean) / static_cast<double>(W);
    const double rstd = 1 / std::sqrt(variance + eps);
    out(stats)[2 * n] = mean;
    out(stats)[2 * n + 1] = rstd;
    for (Index i = 0; i < W; ++i)
      put(y, n * W + i, (r[i] - mean) * rstd * (gain ? in(gain)[i] : 1) + (bias ? in(bias)[i] : 0));
  }
}

void Reference::norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                              Norm kind) {
  const Index W = x.shape[-1], N = x.shape.count() / W;
  dgain = accumulator(dgain);
  dbias = accumulator(dbias);
  for (Index n = 0; n < N; ++n) {
    const double mean = in(stats)[2 * n], rstd = in(stats)[2 * n + 1];
    double a = 0, b = 0;  // means of g and of g z, z the normalized input
    for (Index i = 0; i < W; ++i) {
      const double z = (in(x)[n * W + i] - mean) * rstd, d = in(dy)[n * W + i];
      const double g = d * (gain ? in(gain)[i] : 1);
      a += kind == Norm::layer ? g / static_cast<double>(W) : 0;
      b += g * z / static_cast<double>(W);
      if (dgain) put(dgain, i, d * z);
      if (dbias) put(dbias, i, d);
    }
    if (!dx) continue;
    for (Index i = 0; i < W; ++i) {
      const double z = (in(x)[n * W + i] - mean) * rstd;
      const double g = in(dy)[n * W + i] * (gain ? in(gain)[i] : 1);
      put(dx, n * W + i, rstd * (g - a - z * b));
    }
  }
}

}  // namespace pesuite::reference
