// Softmax of composed attention, and the classifier: cross-entropy with its gradient.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct SoftmaxForward {  // a block a row
  Target y;
  const float* scores;
  Index T, S, first;
  PESUITE_HD void operator()(Block& block) const {
    const Index r = block.index(), last = first + r % T;
    const Index visible = last < S ? last + 1 : S;
    const float* const s = scores + r * S;
    const float top = block.max(visible, [&](Index j) { return s[j]; });
    const float total = block.sum(visible, [&](Index j) { return std::exp(s[j] - top); });
    block.each(S,
               [&](Index j) { y.put(r * S + j, j < visible ? std::exp(s[j] - top) / total : 0); });
  }
};
struct SoftmaxBackward {  // a block a row
  Target ds;
  const float *dy, *y;
  Index S;
  PESUITE_HD void operator()(Block& block) const {
    const Index base = block.index() * S;
    const float delta = block.sum(S, [&](Index j) { return y[base + j] * dy[base + j]; });
    block.each(S, [&](Index j) { ds.put(base + j, y[base + j] * (dy[base + j] - delta)); });
  }
};

// A block a row of logits z [V], which becomes the gradient where one is wanted.
struct Classify {
  Target nats;
  std::int32_t* best;
  float* z;
  const std::int32_t* targets;
  Index V;
  bool gradient;
  float weight;
  PESUITE_HD void operator()(Block& block) const {
    const Index n = block.index(), target = targets[n];
    float* const row = z + n * V;
    const float top = block.max(V, [&](Index c) { return row[c]; });
    const Index where = block.min(V, V, [&](Index c) { return row[c] == top ? c : V; });
    const float total = block.sum(V, [&](Index c) { return std::exp(row[c] - top); });
    block.each(1, [&](Index) {
      best[n] = static_cast<std::int32_t>(where < V ? where : 0);  // none where all are NaN
      nats.put(n, std::log(total) + (top - row[target]));
    });
    if (!gradient) return;
    block.each(V, [&](Index c) {
      row[c] = weight * (std::exp(row[c] - top) / total - (c == target ? 1 : 0));
    });
  }
};

}  // namespace

void CudaBackend::softmax_forward(Out y, View scores, Index first) {
  const Index S = scores.shape[-1], T = scores.shape[-2];
  queue_.blocks(scores.shape.count() / S, S / 4,
                SoftmaxForward{target(y), in(scores), T, S, first});
}
void CudaBackend::softmax_backward(Out ds, View dy, View y) {
  const Index S = y.shape[-1];
  queue_.blocks(y.shape.count() / S, S / 4, SoftmaxBackward{target(ds), in(dy), in(y), S});
}

void CudaBackend::classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h, View w,
                           View bias, const std::int32_t* targets, double weight) {
  const Index W = w.shape[1], V = w.shape[0], N = h.shape.count() / W;
  const Index rows = std::clamp<Index>(settings_.block / V, 1, N);
  const Scratch<float> logits(queue_, rows * V);
  std::optional<Scratch<Bf16>> of_h, of_w, of_gradient;
  const Operand hs = products_.prepared(queue_, {in(h), W}, N, W, of_h),
                weights = products_.prepared(queue_, {in(w), W}, V, W, of_w);
  for (Index start = 0; start < N; start += rows) {
    const Index n = std::min(rows, N - start);
    Product z{n, V, W, hs.from_row(start), weights.exchanged(), logits.data(), V};
    z.bias = in(bias);
    product(z);
    Target to = target(nats);
    to.data += start;
    queue_.blocks(n, V / 4,
                  Classify{to, best + start, logits.data(), targets + start, V, dh || dw || dbias,
                           static_cast<float>(weight)});
    Operand gradient{logits.data(), V};
    if (dh && dw) gradient = products_.prepared(queue_, gradient, n, V, of_gradient);
    if (dh) {
      Product p{n, W, V, gradient, weights};
      p.write({target(dh).data, dh.shape, dh.add}, start * W, W);
      product(p);
    }
    if (dw) {
      Product p{V, W, n, gradient.exchanged(), hs.from_row(start)};
      p.write({target(dw).data, dw.shape, dw.add || start > 0}, 0, W);
      product(p);
    }
    if (dbias)
      sum_columns({target(dbias).data, dbias.add || start > 0}, {logits.data(), {n, V}}, n, V);
  }
}

}  // namespace pesuite::cuda
