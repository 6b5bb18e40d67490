// AdamW.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

constexpr Index square_chunk = 1 << 14;

struct Squares {  // a block a chunk
  float* part;
  const float* x;
  Index count;
  PESUITE_HD void operator()(Block& block) const {
    const Index first = block.index() * square_chunk;
    const Index n = count - first < square_chunk ? count - first : square_chunk;
    const float sum = block.sum(n, [&](Index i) { return x[first + i] * x[first + i]; });
    block.each(1, [&](Index) { part[block.index()] = sum; });
  }
};
struct GlobalNorm {  // one block
  float* norm;
  const float* part;
  Index parts;
  PESUITE_HD void operator()(Block& block) const {
    const double sum = block.combine(
        parts, 0.0, [&](Index i) { return static_cast<double>(part[i]); },
        [](double a, double b) { return a + b; });
    block.each(1, [&](Index) { *norm = static_cast<float>(std::sqrt(sum)); });
  }
};
// The norm stays on the device: each thread works the factor out again.
struct AdamUpdate {
  float *value, *m, *v;
  const float *grad, *norm;
  float beta1, beta2, eps, clip, rate, root, decay;
  PESUITE_HD void operator()(Index i) const {
    const float total = *norm;
    if (!(total <= std::numeric_limits<float>::max())) return;
    const float g = grad[i] * (clip > 0 && total > clip ? clip / total : 1);
    const float mean = beta1 * m[i] + (1 - beta1) * g;
    const float square = beta2 * v[i] + (1 - beta2) * g * g;
    m[i] = mean;
    v[i] = square;
    value[i] -= rate * mean / (std::sqrt(square) * root + eps) + decay * value[i];
  }
};

}  // namespace

void CudaBackend::adamw(Out norm, std::span<const Update> updates, const AdamW& o) {
  const auto chunks = [](const Update& u) {
    return (u.grad.shape.count() + square_chunk - 1) / square_chunk;
  };
  Index all = 0;
  for (const Update& u : updates) all += chunks(u);
  const Scratch<float> part(queue_, all);
  Index done = 0;
  for (const Update& u : updates) {
    queue_.blocks(chunks(u), most_threads,
                  Squares{part.data() + done, in(u.grad), u.grad.shape.count()});
    done += chunks(u);
  }
  queue_.blocks(1, most_threads, GlobalNorm{target(norm).data, part.data(), all});

  AdamUpdate s{};
  s.norm = target(norm).data;
  s.beta1 = static_cast<float>(o.beta1), s.beta2 = static_cast<float>(o.beta2);
  s.eps = static_cast<float>(o.eps), s.clip = static_cast<float>(o.clip);
  s.rate = static_cast<float>(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step))));
  s.root = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step))));
  for (const Update& u : updates) {
    s.value = target(u.value).data, s.m = target(u.m).data, s.v = target(u.v).data;
    s.grad = in(u.grad);
    s.decay = static_cast<float>(o.lr * u.weight_decay);
    queue_.each(u.grad.shape.count(), s);
  }
}

}  // namespace pesuite::cuda
