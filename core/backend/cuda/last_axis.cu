// Sums and running sums along an axis.
#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct AxisSum {  // x [outer, n, inner], outputs [outer, inner]
  const float* x;
  Index n, inner;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index c;
    const Index outer = divide(o, inner, c);
    return x[(outer * n + term) * inner + c];
  }
};
template <class T>
struct ColumnSum {  // x [rows, width]
  const T* x;
  Index width;
  PESUITE_HD float operator()(Index o, Index term) const { return x[term * width + o]; }
};

struct RunningSum {  // a thread a line
  Target y;
  const float* x;
  Index n, inner;
  bool reverse;
  PESUITE_HD void operator()(Index line) const {
    Index c;
    const Index base = divide(line, inner, c) * n * inner + c;
    float sum = 0;
    for (Index i = 0; i < n; ++i) {
      const Index at = base + (reverse ? n - 1 - i : i) * inner;
      sum += x[at];
      y.put(at, sum);
    }
  }
};
// A block a line of neighbours: each thread sums a stretch of its own, then goes over it again from
// the sum of the stretches before.
struct RunningSumOfLine {
  Target y;
  const float* x;
  Index n;
  bool reverse;
  PESUITE_HD void operator()(Block& block) const {
    const Index base = block.index() * n;
    const Index stretch = (n + block.threads() - 1) / block.threads();
    float* const before = block.memory();
    const auto at = [&](Index i) { return base + (reverse ? n - 1 - i : i); };
    const auto end = [&](Index t) { return (t + 1) * stretch < n ? (t + 1) * stretch : n; };
    block.each(block.threads(), [&](Index t) {
      float sum = 0;
      for (Index i = t * stretch; i < end(t); ++i) sum += x[at(i)];
      before[t] = sum;
    });
    block.each(block.threads(), [&](Index t) {
      float sum = 0;
      for (Index u = 0; u < t; ++u) sum += before[u];
      for (Index i = t * stretch; i < end(t); ++i) {
        sum += x[at(i)];
        y.put(at(i), sum);
      }
    });
  }
};

}  // namespace

void CudaBackend::sum(Out y, View x, int axis) {
  const Index n = x.shape[axis], inner = x.shape.span(axis + 1, x.shape.rank());
  const AxisSum f{in(x), n, inner};
  if (inner == 1)
    reduce_rows(queue_, target(y), x.shape.count() / n, n, f);
  else
    reduce(queue_, target(y), x.shape.count() / n, n, f);
}

void CudaBackend::sum_columns(Target y, View x, Index rows, Index width) {
  by_storage(x.storage, [&]<class T>(T) {
    reduce(queue_, y, width, rows, ColumnSum<T>{in<T>(x), width});
  });
}

void CudaBackend::cumsum(Out y, View x, int axis, bool reverse) {
  const Index n = x.shape[axis], inner = x.shape.span(axis + 1, x.shape.rank());
  const Index lines = x.shape.count() / n;
  if (inner == 1 && n >= warp_threads)
    queue_.blocks(lines, n / 4, RunningSumOfLine{target(y), in(x), n, reverse});
  else
    queue_.each(lines, RunningSum{target(y), in(x), n, inner, reverse});
}

}  // namespace pesuite::cuda
