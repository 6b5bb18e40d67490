// Products and linear layers.
#include "backend/reference/reference.h"

namespace pesuite::reference {

void Reference::matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) {
  c = accumulator(c);
  const Index M = c.shape[-2], N = c.shape[-1], K = transpose_a ? a.shape[-2] : a.shape[-1];
  const Shape la = Shape::of(a.shape.rank() - 2, a.shape.data()),
              lb = Shape::of(b.shape.rank() - 2, b.shape.data()),
              lc = Shape::of(c.shape.rank() - 2, c.shape.data()),
              lead = *broadcast(*broadcast(la, lb), lc);
  const Strides sc = broadcast_strides(lc, lead);
  for_each(lead, la, lb, [&](Index i, Index ia, Index ib) {
    Index ic = 0;
    for (int axis = lead.rank() - 1; axis >= 0; --axis) {
      ic += i % lead[axis] * sc.s[axis];
      i /= lead[axis];
    }
    for (Index m = 0; m < M; ++m)
      for (Index n = 0; n < N; ++n) {
        double s = 0;
        for (Index k = 0; k < K; ++k)
          s += in(a)[ia * M * K + (transpose_a ? k * M + m : m * K + k)] *
               in(b)[ib * K * N + (transpose_b ? n * K + k : k * N + n)];
        put(c, ic * M * N + m * N + n, s);
      }
  });
}

void Reference::linear_forward(Out y, View x, View w, View bias, View residual) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  for (Index n = 0; n < N; ++n)
    for (Index o = 0; o < O; ++o) {
      double s = (bias ? in(bias)[o] : 0) + (residual ? in(residual)[n * O + o] : 0);
      for (Index i = 0; i < I; ++i) s += in(x)[n * I + i] * in(w)[o * I + i];
      put(y, n * O + o, s);
    }
}

void Reference::linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  dx = accumulator(dx);
  dw = accumulator(dw);
  dbias = accumulator(dbias);
  for (Index n = 0; n < N; ++n)
    for (Index o = 0; o < O; ++o) {
      const double g = in(dy)[n * O + o];
      for (Index i = 0; i < I; ++i) {
        if (dx) put(dx, n * I + i, g * in(w)[o * I + i]);
        if (dw) put(dw, o * I + i, g * in(x)[n * I + i]);
      }
      if (dbias) put(dbias, o, g);
    }
}

}  // namespace pesuite::reference
