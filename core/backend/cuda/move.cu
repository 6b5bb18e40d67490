// Moving values: other orders, parts, and what indices choose.
#include <cmath>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct Permute {
  Target y;
  const float* x;
  Walk<1> walk;
  PESUITE_HD void operator()(Index i) const {
    Index at[1];
    walk.at(i, at);
    y.put(i, x[at[0]]);
  }
};
struct CopyPart {
  Target y;
  const float* x;
  Index part, y_outer, x_outer;  // elements of a part, and from one to the next
  PESUITE_HD void operator()(Index i) const {
    Index at;
    const Index outer = divide(i, part, at);
    y.put(outer * y_outer + at, x[outer * x_outer + at]);
  }
};

struct TakeForward {
  Target y;
  const float *x, *index;
  Index V;
  Walk<2> walk;  // of the row of x and the index
  PESUITE_HD void operator()(Index i) const {
    Index at[2];
    walk.at(i, at);
    y.put(i, x[at[0] * V + place_of(index[at[1]], V)]);
  }
};
// What a term gives to entry n of its row, and to the next one.
struct Gift {
  std::int32_t n;
  float here, next;
  PESUITE_HD float to(Index v) const { return n == v ? here : n + 1 == v ? next : 0; }
};
// A term is an element of dy that may have been taken from the row.
struct TakeBackward {
  const float *dy, *index;
  Index V;
  Parts<2> parts;  // of dy and the index, by rows of x
  PESUITE_HD Gift gift(Index row, Index term) const {
    Index own[2], more[2];
    parts.own.at(row, own);
    parts.repeated.at(term, more);
    const Index n = place_of(index[own[1] + more[1]], V);
    return {static_cast<std::int32_t>(n), dy[own[0] + more[0]], 0};
  }
};

// Where a position lies in a row of V entries: behind the entry n, w of the way to the next one.
struct Between {
  Index n;
  float w;
};
PESUITE_HD Between between(float position, Index V) {
  const auto last = static_cast<float>(V - 1);
  const float p = position < 0 ? 0 : position > last ? last : position;
  const Index n = p > 0 ? static_cast<Index>(p) : 0;  // of NaN: 0
  return {n, p - static_cast<float>(n)};
}
// From the entry n to the next one; behind the last one there is none.
PESUITE_HD float rise(const float* x, Index n, Index V) {
  return n + 1 < V ? x[n + 1] - x[n] : 0;
}

struct InterpolateForward {
  Target y;
  const float *x, *position;
  Index V;
  Walk<2> walk;  // of the row of x and the position
  PESUITE_HD void operator()(Index i) const {
    Index at[2];
    walk.at(i, at);
    const float* const row = x + at[0] * V;
    const Between b = between(position[at[1]], V);
    y.put(i, row[b.n] + b.w * rise(row, b.n, V));
  }
};
// A term is an element of dy that may have been made from the row.
struct InterpolateBackward {
  const float *dy, *position;
  Index V;
  Parts<2> parts;  // of dy and the position, by rows of x
  PESUITE_HD Gift gift(Index row, Index term) const {
    Index own[2], more[2];
    parts.own.at(row, own);
    parts.repeated.at(term, more);
    const Between b = between(position[own[1] + more[1]], V);
    const float g = dy[own[0] + more[0]];
    return {static_cast<std::int32_t>(b.n), g * (1 - b.w), g * b.w};
  }
};
// An element of dposition; a term is an element of dy that it has led to.
struct InterpolateSlope {
  const float *dy, *x, *position;
  Index V;
  Parts<3> parts;  // of dy, the row of x and the position
  PESUITE_HD float operator()(Index o, Index term) const {
    Index own[3], more[3];
    parts.own.at(o, own);
    parts.repeated.at(term, more);
    const float p = position[own[2] + more[2]];
    if (!(p >= 0 && p <= static_cast<float>(V - 1))) return 0;
    return dy[own[0] + more[0]] * rise(x + (own[1] + more[1]) * V, between(p, V).n, V);
  }
};

// The gradient of a row of V entries, from a chunk of its terms: a block of threads works out a
// tile of gifts and then looks through it for each entry, some of the terms a thread.
template <class F>
struct Receive {
  F f;
  Target part;  // [chunk, row, V]
  Index V, rows, terms, chunk;

  static constexpr Index tile = 2048, most_entries = 2048;
  static_assert(tile * sizeof(Gift) + most_entries * sizeof(float) <= tile_bytes);

  PESUITE_HD void operator()(Block& block) const {
    Index row;
    const Index c = divide(block.index(), rows, row), first = c * chunk;
    const Index end = first + chunk < terms ? first + chunk : terms;
    const Index lanes = V < block.threads() ? block.threads() / V : 1;
    auto* const gifts = block.tiles<Gift>();
    auto* const sums = reinterpret_cast<float*>(gifts + tile);  // [lane, V]
    block.each(lanes * V, [&](Index i) { sums[i] = 0; });
    for (Index start = first; start < end; start += tile) {
      const Index n = start + tile < end ? tile : end - start;
      block.each(n, [&](Index i) { gifts[i] = f.gift(row, start + i); });
      block.each(lanes * V, [&](Index i) {
        Index v;
        float sum = sums[i];
        for (Index t = divide(i, V, v); t < n; t += lanes) sum += gifts[t].to(v);
        sums[i] = sum;
      });
    }
    block.each(V, [&](Index v) {
      float sum = 0;
      for (Index lane = 0; lane < lanes; ++lane) sum += sums[lane * V + v];
      part.put(c * rows * V + row * V + v, sum);
    });
  }
};
// The same where a row is narrow: a warp works out the gifts, and each of its lanes adds them to
// sums of its own.
template <class F, Index most>
struct ReceiveInLanes {
  F f;
  Target part;
  Index V, rows, terms, chunk;

  PESUITE_HD void operator()(Block& block) const {
    constexpr Index lanes = warp_threads;
    Index row;
    const Index c = divide(block.index(), rows, row), first = c * chunk;
    const Index n = first + chunk < terms ? chunk : terms - first;
    float* const sums = block.tiles<float, most * lanes * sizeof(float)>();  // [V, lane]
    block.each(lanes * V, [&](Index i) { sums[i] = 0; });
    block.each(n, [&](Index i) {
      const Gift gift = f.gift(row, first + i);
      float* const own = sums + gift.n * lanes + i % lanes;
      own[0] += gift.here;
      if (gift.n + 1 < V) own[lanes] += gift.next;
    });
    block.each(V, [&](Index v) {
      float sum = 0;
      for (Index lane = 0; lane < lanes; ++lane)  // each thread begins with another bank of memory
        sum += sums[v * lanes + (v + lane) % lanes];
      part.put(c * rows * V + row * V + v, sum);
    });
  }
};
// The same, an entry a thread, where a row is too wide for a block's memory.
template <class F>
struct ReceiveOne {
  F f;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index v;
    const Index row = divide(o, f.V, v);
    return f.gift(row, term).to(v);
  }
};
template <class F>
void receive(Queue& queue, Out dx, const F& f) {
  const Index outputs = dx.shape.count(), terms = f.parts.repeated.count(), rows = outputs / f.V;
  using Wide = Receive<F>;
  if (f.V > Wide::most_entries) return reduce(queue, target(dx), outputs, terms, ReceiveOne<F>{f});
  reduce_in_chunks(queue, target(dx), outputs, terms,
                   std::min((terms + Wide::tile - 1) / Wide::tile, 4096 / rows),
                   [&](Target part, Index chunk, Index chunks) {
                     const Index blocks = rows * chunks;
                     if (f.V <= 64)
                       queue.blocks(blocks, warp_threads,
                                    ReceiveInLanes<F, 64>{f, part, f.V, rows, terms, chunk});
                     else if (f.V <= 256)
                       queue.blocks(blocks, warp_threads,
                                    ReceiveInLanes<F, 256>{f, part, f.V, rows, terms, chunk});
                     else
                       queue.blocks(blocks, most_threads, Wide{f, part, f.V, rows, terms, chunk});
                   });
}

// x with one element for each row: an offset in it is the number of a row.
Shape one_a_row(Shape x) {
  x.at(-1) = 1;
  return x;
}

}  // namespace

void CudaBackend::permute(Out y, View x, const int* axes) {
  Walk<1> w;
  for (int axis = y.shape.rank() - 1; axis >= 0; --axis) {
    const int from = axes[axis] < 0 ? axes[axis] + x.shape.rank() : axes[axis];
    w.around(y.shape[axis], {x.shape.span(from + 1, x.shape.rank())});
  }
  queue_.each(y.shape.count(), Permute{target(y), in(x), w});
}

void CudaBackend::copy(Out y, Index y_start, View x, Index x_start, int axis, Index length) {
  const Index outer = x.shape.span(0, axis), inner = x.shape.span(axis + 1, x.shape.rank());
  Target to = target(y);
  to.data += y_start * inner;
  queue_.each(outer * length * inner, CopyPart{to, in(x) + x_start * inner, length * inner,
                                               y.shape[axis] * inner, x.shape[axis] * inner});
}

void CudaBackend::take_forward(Out y, View x, View index) {
  queue_.each(y.shape.count(), TakeForward{target(y), in(x), in(index), x.shape[-1],
                                           walk<2>(y.shape, {one_a_row(x.shape), index.shape})});
}
void CudaBackend::take_backward(Out dx, View dy, View index) {
  receive(queue_, dx,
          TakeBackward{in(dy), in(index), dx.shape[-1],
                       parts<2>(dy.shape, one_a_row(dx.shape), {dy.shape, index.shape})});
}

void CudaBackend::interpolate_forward(Out y, View x, View position) {
  queue_.each(y.shape.count(),
              InterpolateForward{target(y), in(x), in(position), x.shape[-1],
                                 walk<2>(y.shape, {one_a_row(x.shape), position.shape})});
}
void CudaBackend::interpolate_backward(Out dx, Out dposition, View dy, View x, View position) {
  const Index V = x.shape[-1];
  const Shape rows = one_a_row(x.shape);
  if (dx)
    receive(queue_, dx,
            InterpolateBackward{in(dy), in(position), V,
                                parts<2>(dy.shape, rows, {dy.shape, position.shape})});
  if (dposition) {
    const InterpolateSlope f{in(dy), in(x), in(position), V,
                             parts<3>(dy.shape, position.shape, {dy.shape, rows, position.shape})};
    reduce(queue_, target(dposition), dposition.shape.count(), f.parts.repeated.count(), f);
  }
}

}  // namespace pesuite::cuda
