// Ops that move or collect values: permute, copy, sums along an axis, gathers.
// Memory-bound; plain loops over contiguous runs, which the compiler vectorises.
#include <cmath>
#include <cstring>

#include "backend/cpu/cpu.h"

namespace pesuite {

namespace {

void add_run(float* y, const float* x, Index n) {
  for (Index i = 0; i < n; ++i) y[i] += x[i];
}
void put_run(float* y, const float* x, Index n, bool add) {
  if (add)
    add_run(y, x, n);
  else
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
}
Index row_of(const float* index, Index i, Index rows) {
  const float x = index[i];
  return x >= 0 ? std::min(static_cast<Index>(std::lround(x)), rows - 1) : 0;
}

// x seen from one axis: outer x n x inner.
struct Axis {
  Index outer, n, inner;
  Axis(const Shape& s, int axis)
      : outer(s.span(0, axis)), n(s[axis]), inner(s.span(axis + 1, s.rank())) {}
};

}  // namespace

void CpuBackend::permute(Out y, View x, const int* axes) {
  const int rank = x.shape.rank();
  Index stride[Shape::max_rank];
  for (int i = 0; i < rank; ++i) stride[i] = x.shape.span(axes[i] + 1, rank);
  const Index width = rank > 0 ? y.shape[-1] : 1, step = rank > 0 ? stride[rank - 1] : 1;
  const Index runs = y.shape.count() / width;
  parallel(runs, 64, [&](Index first, Index last) {
    for (Index r = first; r < last; ++r) {
      Index rest = r, source = 0;
      for (int axis = rank - 2; axis >= 0; --axis) {
        source += rest % y.shape[axis] * stride[axis];
        rest /= y.shape[axis];
      }
      const float* from = in(x) + source;
      float* to = out(y) + r * width;
      if (step == 1) {
        put_run(to, from, width, y.add);
      } else {
        for (Index i = 0; i < width; ++i) to[i] = from[i * step] + (y.add ? to[i] : 0.0f);
      }
    }
  });
}

void CpuBackend::copy(Out y, Index y_start, View x, Index x_start, int axis, Index length) {
  const Axis ax(x.shape, axis), ay(y.shape, axis);
  const Index run = length * ax.inner;  // numbers side by side
  const auto part = [&](Index o, Index first, Index last) {
    put_run(out(y) + (o * ay.n + y_start) * ay.inner + first,
            in(x) + (o * ax.n + x_start) * ax.inner + first, last - first, y.add);
  };
  if (run >= 16384)
    for (Index o = 0; o < ax.outer; ++o)
      parallel(run, 8192, [&](Index first, Index last) { part(o, first, last); });
  else
    parallel(ax.outer, std::max<Index>(1, 8192 / run), [&](Index first, Index last) {
      for (Index o = first; o < last; ++o) part(o, 0, run);
    });
}

void CpuBackend::sum(Out y, View x, int axis) {
  const Axis a(x.shape, axis);
  parallel(a.outer, 16, [&](Index first, Index last) {
    for (Index o = first; o < last; ++o) {
      float* to = out(y) + o * a.inner;
      if (!y.add) std::fill_n(to, a.inner, 0.0f);
      for (Index i = 0; i < a.n; ++i) add_run(to, in(x) + (o * a.n + i) * a.inner, a.inner);
    }
  });
}

void CpuBackend::cumsum(Out y, View x, int axis, bool reverse) {
  const Axis a(x.shape, axis);
  if (a.inner == 1) return cumsum_rows(y, x, a.n, reverse);
  parallel(a.outer, 16, [&](Index first, Index last) {
    thread_local std::vector<float> running;  // kept: steps after the first allocate nothing
    for (Index o = first; o < last; ++o) {
      running.assign(static_cast<std::size_t>(a.inner), 0.0f);
      for (Index i = 0; i < a.n; ++i) {
        const Index at = (o * a.n + (reverse ? a.n - 1 - i : i)) * a.inner;
        add_run(running.data(), in(x) + at, a.inner);
        put_run(out(y) + at, running.data(), a.inner, y.add);
      }
    }
  });
}

void CpuBackend::rows_forward(Out y, View x, View index) {
  const Index n = x.shape.count() / x.shape[0];
  parallel(index.shape.count(), std::max<Index>(1, 8192 / n), [&](Index first, Index last) {
    for (Index i = first; i < last; ++i)
      put_run(out(y) + i * n, in(x) + row_of(in(index), i, x.shape[0]) * n, n, y.add);
  });
}
void CpuBackend::rows_backward(Out dx, View dy, View index, bool) {
  if (!dx.add) fill(dx, 0);
  const Index n = dx.shape.count() / dx.shape[0];
  for (Index i = 0; i < index.shape.count(); ++i)
    add_run(out(dx) + row_of(in(index), i, dx.shape[0]) * n, in(dy) + i * n, n);
}

void CpuBackend::embed_forward(Out y, View table, const std::int32_t* tokens) {
  const Index W = table.shape[1];
  parallel(y.shape.count() / W, 64, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n)
      if (table.storage == Storage::own)
        put_run(out(y) + n * W, in(table) + tokens[n] * W, W, y.add);
      else
        for (Index i = 0; i < W; ++i) {
          float& to = out(y)[n * W + i];
          to = static_cast<const Bf16*>(table.data)[tokens[n] * W + i] + (y.add ? to : 0.0f);
        }
  });
}
void CpuBackend::embed_backward(Out dtable, View dy, const std::int32_t* tokens) {
  if (!dtable.add) fill(dtable, 0);
  const Index W = dtable.shape[1], N = dy.shape.count() / W;
  parallel(W, 64, [&](Index first, Index last) {  // each thread owns some columns
    for (Index n = 0; n < N; ++n)
      add_run(out(dtable) + tokens[n] * W + first, in(dy) + n * W + first, last - first);
  });
}

}  // namespace pesuite
