// Softmax of composed attention, and the classifier: cross-entropy with its gradient.
#include <cmath>
#include <limits>

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

// The largest of some logits, the first place it stands at, and the sum of all e^(z - top).
struct Summary {
  float top = -std::numeric_limits<float>::infinity(), total = 0;
  std::int32_t place = std::numeric_limits<std::int32_t>::max();
};
PESUITE_HD inline float scaled(float top, float to) {  // also where both are infinite
  return top == to ? 1 : std::exp(top - to);
}
PESUITE_HD inline Summary both(const Summary& a, const Summary& b) {
  Summary s;
  s.top = b.top > a.top ? b.top : a.top;
  s.total = a.total * scaled(a.top, s.top) + b.total * scaled(b.top, s.top);
  const bool from_b = b.top > a.top || (b.top == a.top && b.place < a.place);
  s.place = from_b ? b.place : a.place;
  return s;
}

// A block a row of logits z [V], read once, and once more where a gradient is wanted; N numbers a
// thread. With a cap, cap tanh(z / cap) counts. The gradient may lie where z does. Rows of z and of
// the gradient are `pitch` apart, and those of the gradient end in zeros.
template <class T, int N>
struct Classify {
  Target nats;
  std::int32_t* best;
  const T* z;
  T* gradient;  // null: none
  Index pitch;
  const std::int32_t* targets;
  Index V;
  float weight, cap;
  PESUITE_HD float capped(float x) const { return cap > 0 ? cap * std::tanh(x / cap) : x; }
  PESUITE_HD Some<N> logits(const T* from) const {
    Some<N> x = some<N>(from);
    for (int k = 0; k < N; ++k) x.x[k] = capped(x.x[k]);
    return x;
  }
  PESUITE_HD void operator()(Block& block) const {
    const Index n = block.index(), target = targets[n];
    const T* const row = z + n * pitch;
    const Summary all = block.combine(
        V / N, Summary{},
        [&](Index i) {
          const Some<N> x = logits(row + i * N);
          Summary s;
          for (int k = 0; k < N; ++k)
            if (x.x[k] > s.top) s.top = x.x[k], s.place = static_cast<std::int32_t>(i * N + k);
          for (int k = 0; k < N; ++k) s.total += scaled(x.x[k], s.top);
          return s;
        },
        [](const Summary& a, const Summary& b) { return both(a, b); });
    block.each(1, [&](Index) {
      best[n] = all.place < V ? all.place : 0;  // none where all are NaN
      nats.put(n, std::log(all.total) + (all.top - capped(static_cast<float>(row[target]))));
    });
    if (gradient == nullptr) return;
    T* const to = gradient + n * pitch;
    block.each(V / N, [&](Index i) {
      Some<N> x = logits(row + i * N);
      for (int k = 0; k < N; ++k) {
        const float part = cap > 0 ? x.x[k] / cap : 0, slope = 1 - part * part;
        const float p = std::exp(x.x[k] - all.top) / all.total;
        x.x[k] = weight * slope * (p - (i * N + k == target ? 1 : 0));
      }
      store(to + i * N, x);
    });
    block.each(pitch - V, [&](Index i) { to[V + i] = T(0.0f); });
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

void CudaBackend::classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h,
                           const Classifier& by, const std::int32_t* targets, double weight) {
  const auto [w, bias, softcap] = by;
  const Index W = w.shape[1], V = w.shape[0], N = h.shape.count() / W;
  // What two products would round is written rounded, and so are the logits of a training step, as
  // mixed precision elsewhere has them; what a bias sums is not, nor what an evaluation reports.
  const bool rounded = settings_.precision == Precision::bf16 && dh && dw && !dbias;
  const Storage storage = rounded ? Storage::bf16 : Storage::own;
  const Index pitch = rounded ? (V + 7) / 8 * 8 : V;
  const Index numbers = settings_.block * (rounded ? 2 : 1);  // the same bytes
  const Index rows = std::clamp<Index>(numbers / V, 1, N);
  const Scratch<char> logits(queue_, rows * pitch * stored_bytes(storage));
  std::optional<Halves> of_h, of_w;
  const Operand hs = products_.prepared(queue_, {in(h), W}, N, W, of_h),
                all_w = products_.prepared(queue_, weights(w), V, W, of_w);
  for (Index start = 0; start < N; start += rows) {
    const Index n = std::min(rows, N - start);
    Product z{n, V, W, hs.from_row(start), all_w.exchanged(), logits.data(), pitch};
    z.storage = storage;
    z.bias = in(bias);
    product(z);
    Target to = target(nats);
    to.data += start;
    by_storage(storage, [&]<class T>(T) {
      auto* const all = reinterpret_cast<T*>(logits.data());
      by_eights(V, {all}, [&]<int Few>(Width<Few>) {
        queue_.blocks(n, V / 4,
                      Classify<T, Few>{to, best + start, all, dh || dw || dbias ? all : nullptr,
                                       pitch, targets + start, V, static_cast<float>(weight),
                                       static_cast<float>(softcap)});
      });
    });
    const Operand gradient{logits.data(), pitch, false, 0, storage};
    if (dh) {
      Product p{n, W, V, gradient, all_w};
      p.write({target(dh).data, dh.shape, dh.add}, start * W, W);
      product(p);
    }
    if (dw) {
      Product p{V, W, n, gradient.exchanged(), hs.from_row(start)};
      p.write({target(dw).data, dw.shape, dw.add || start > 0}, 0, W);
      product(p);
    }
    if (dbias)
      sum_columns({target(dbias).data, dbias.add || start > 0},
                  {reinterpret_cast<float*>(logits.data()), {n, V}}, n, V);
  }
}

}  // namespace pesuite::cuda
