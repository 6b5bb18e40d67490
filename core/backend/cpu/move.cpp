// Ops that move or collect values: permute, copy, sums along an axis, gathers, rotation.
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
  for (Index i = 0; i < index.shape.count(); ++i)
    put_run(out(y) + i * n, in(x) + row_of(in(index), i, x.shape[0]) * n, n, y.add);
}
void CpuBackend::rows_backward(Out dx, View dy, View index) {
  if (!dx.add) fill(dx, 0);
  const Index n = dx.shape.count() / dx.shape[0];
  for (Index i = 0; i < index.shape.count(); ++i)
    add_run(out(dx) + row_of(in(index), i, dx.shape[0]) * n, in(dy) + i * n, n);
}

namespace {

// Where the row of cos and sin stands that belongs to row r of x.
struct TableRows {
  Shape lead;
  Strides s;
  TableRows(const Shape& x, const Shape& table) : lead(x) {
    Shape rows = table;
    lead.at(-1) = rows.at(-1) = 1;
    s = broadcast_strides(rows, lead);
  }
  Index operator()(Index r) const {
    Index at = 0;
    for (int axis = lead.rank() - 1; axis >= 0; --axis) {
      at += r % lead[axis] * s.s[axis];
      r /= lead[axis];
    }
    return at;
  }
};

// y (+)= x turned by (cos, sin); `sign` -1 turns back.
template <bool add>
void turn(float* y, const float* x, const float* cos, const float* sin, float sign, Index n,
          Index D, Pairs pairs) {
  const auto put = [](float& to, float value) { to = add ? to + value : value; };
  if (pairs == Pairs::half) {
    for (Index r = 0; r < n; ++r) {
      const float a = x[r], b = x[r + n], s = sign * sin[r];
      put(y[r], a * cos[r] - b * s);
      put(y[r + n], b * cos[r] + a * s);
    }
  } else {
    for (Index r = 0; r < n; ++r) {
      const float a = x[2 * r], b = x[2 * r + 1], s = sign * sin[r];
      put(y[2 * r], a * cos[r] - b * s);
      put(y[2 * r + 1], b * cos[r] + a * s);
    }
  }
  for (Index i = 2 * n; i < D; ++i) put(y[i], x[i]);
}

}  // namespace

void CpuBackend::rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) {
  const Index D = x.shape[-1], n = cos.shape[-1];
  const TableRows table(x.shape, cos.shape);
  parallel(x.shape.count() / D, 64, [&](Index first, Index last) {
    for (Index r = first; r < last; ++r) {
      const Index t = table(r) * n;
      (y.add ? turn<true> : turn<false>)(out(y) + r * D, in(x) + r * D, in(cos) + t, in(sin) + t, 1,
                                         n, D, pairs);
    }
  });
}
void CpuBackend::rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                                 Pairs pairs) {
  const Index D = x.shape[-1], n = cos.shape[-1];
  const TableRows table(x.shape, cos.shape);
  if (dx)
    parallel(x.shape.count() / D, 64, [&](Index first, Index last) {
      for (Index r = first; r < last; ++r) {
        const Index t = table(r) * n;
        (dx.add ? turn<true> : turn<false>)(out(dx) + r * D, in(dy) + r * D, in(cos) + t,
                                            in(sin) + t, -1, n, D, pairs);
      }
    });
  if (!dcos && !dsin) return;
  if (dcos && !dcos.add) fill(dcos, 0);
  if (dsin && !dsin.add) fill(dsin, 0);
  for (Index r = 0; r < x.shape.count() / D; ++r) {
    const Index t = table(r) * n;
    const float *xr = in(x) + r * D, *g = in(dy) + r * D;
    for (Index i = 0; i < n; ++i) {
      const Index a = pairs == Pairs::half ? i : 2 * i,
                  b = pairs == Pairs::half ? i + n : 2 * i + 1;
      if (dcos) out(dcos)[t + i] += g[a] * xr[a] + g[b] * xr[b];
      if (dsin) out(dsin)[t + i] += g[b] * xr[a] - g[a] * xr[b];
    }
  }
}

void CpuBackend::embed_forward(Out y, View table, const std::int32_t* tokens) {
  const Index W = table.shape[1];
  parallel(y.shape.count() / W, 64, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n)
      put_run(out(y) + n * W, in(table) + tokens[n] * W, W, y.add);
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

// body(row of x, first column, head's matrix, row of it) for each head of each token.
namespace {
template <class F>
void each_head(const Shape& part, Index first_column, Index b, Index t, F body) {
  const Index heads = part[1], T = part[2], D = part[3];
  for (Index h = 0; h < heads; ++h) body(first_column + h * D, ((b * heads + h) * T + t) * D, D);
}
}  // namespace

void CpuBackend::heads_forward(Out q, Out k, Out v, View x) {
  const Index T = x.shape[1], C = x.shape[2], D = q.shape[3];
  parallel(x.shape[0] * T, 64, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n) {
      Index column = 0;
      for (const Out& part : {q, k, v}) {
        each_head(part.shape, column, n / T, n % T, [&](Index from, Index to, Index width) {
          put_run(out(part) + to, in(x) + n * C + from, width, part.add);
        });
        column += part.shape[1] * D;
      }
    }
  });
}
void CpuBackend::heads_backward(Out dx, View dq, View dk, View dv) {
  const Index T = dx.shape[1], C = dx.shape[2], D = dq.shape[3];
  parallel(dx.shape[0] * T, 64, [&](Index first, Index last) {
    for (Index n = first; n < last; ++n) {
      Index column = 0;
      for (const View& part : {dq, dk, dv}) {
        each_head(part.shape, column, n / T, n % T, [&](Index to, Index from, Index width) {
          if (part)
            put_run(out(dx) + n * C + to, in(part) + from, width, dx.add);
          else if (!dx.add)
            std::fill_n(out(dx) + n * C + to, width, 0.0f);
        });
        column += part.shape[1] * D;
      }
    }
  });
}

}  // namespace pesuite
