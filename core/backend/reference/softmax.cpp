// Softmax of composed attention, and the classifier.
#include "backend/reference/reference.h"

namespace pesuite::reference {

void Reference::softmax_forward(Out y, View scores, Index first) {
  const Index S = scores.shape[-1], T = scores.shape[-2];
  for (Index r = 0; r < scores.shape.count() / S; ++r) {
    const Index visible = std::min(S, first + r % T + 1);
    const double* s = in(scores) + r * S;
    const double top = *std::max_element(s, s + visible);
    double total = 0;
    for (Index j = 0; j < visible; ++j) total += std::exp(s[j] - top);
    for (Index j = 0; j < S; ++j) put(y, r * S + j, j < visible ? std::exp(s[j] - top) / total : 0);
  }
}

void Reference::softmax_backward(Out ds, View dy, View y) {
  const Index S = y.shape[-1];
  for (Index r = 0; r < y.shape.count() / S; ++r) {
    double delta = 0;
    for (Index j = 0; j < S; ++j) delta += in(y)[r * S + j] * in(dy)[r * S + j];
    for (Index j = 0; j < S; ++j)
      put(ds, r * S + j, in(y)[r * S + j] * (in(dy)[r * S + j] - delta));
  }
}

void Reference::classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h,
                         const Classifier& by, const std::int32_t* targets, double weight) {
  const auto [w, bias, cap] = by;
  const Index W = w.shape[1], V = w.shape[0], N = h.shape.count() / W;
  dh = accumulator(dh);
  dw = accumulator(dw);
  dbias = accumulator(dbias);
  std::vector<double> z(static_cast<std::size_t>(V));
  for (Index n = 0; n < N; ++n) {
    for (Index c = 0; c < V; ++c) {
      double s = bias ? in(bias)[c] : 0;
      for (Index i = 0; i < W; ++i) s += in(h)[n * W + i] * in(w)[c * W + i];
      z[static_cast<std::size_t>(c)] = cap > 0 ? cap * std::tanh(s / cap) : s;
    }
    const auto top = std::max_element(z.begin(), z.end());
    double total = 0;
    for (const double s : z) total += std::exp(s - *top);
    const double lse = *top + std::log(total);
    best[n] = static_cast<std::int32_t>(top - z.begin());
    put(nats, n, lse - z[static_cast<std::size_t>(targets[n])]);
    for (Index c = 0; c < V; ++c) {
      const double logit = z[static_cast<std::size_t>(c)], part = cap > 0 ? logit / cap : 0;
      const double slope = 1 - part * part;  // of cap tanh(z / cap)
      const double g = weight * slope * (std::exp(logit - lse) - (c == targets[n] ? 1 : 0));
      for (Index i = 0; i < W; ++i) {
        if (dh) put(dh, n * W + i, g * in(w)[c * W + i]);
        if (dw) put(dw, c * W + i, g * in(h)[n * W + i]);
      }
      if (dbias) put(dbias, c, g);
    }
  }
}

}  // namespace pesuite::reference
