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

namespace {
// Unit f of the hidden layer in column n of network l, before it is rectified.
double hidden(const TwoLayers& m, Index l, Index f, Index n) {
  const Index F = m.w1.shape[-2], I = m.w1.shape[-1], N = m.x.shape[-1];
  const Index own = m.x.shape.count() > I * N ? l : 0;
  double z = m.b1 ? in(m.b1)[l * F + f] : 0;
  for (Index i = 0; i < I; ++i) z += in(m.w1)[(l * F + f) * I + i] * in(m.x)[(own * I + i) * N + n];
  return z;
}
}  // namespace

void Reference::two_layers_forward(Out y, const TwoLayers& m) {
  const Index O = m.w2.shape[-2], F = m.w2.shape[-1], N = m.x.shape[-1];
  for (Index l = 0; l < y.shape.count() / (O * N); ++l)
    for (Index o = 0; o < O; ++o)
      for (Index n = 0; n < N; ++n) {
        double sum = m.b2 ? in(m.b2)[l * O + o] : 0;
        for (Index f = 0; f < F; ++f)
          sum += in(m.w2)[(l * O + o) * F + f] * std::max(0.0, hidden(m, l, f, n));
        put(y, (l * O + o) * N + n, sum);
      }
}
void Reference::two_layers_backward(const TwoLayerGradients& gradients, View all_dy,
                                    const TwoLayers& m) {
  const Index O = m.w2.shape[-2], F = m.w2.shape[-1], I = m.w1.shape[-1], N = m.x.shape[-1];
  TwoLayerGradients g = gradients;
  for (Out* const o : {&g.w2, &g.b2, &g.w1, &g.b1, &g.x}) *o = accumulator(*o);
  for (Index l = 0; l < all_dy.shape.count() / (O * N); ++l)
    for (Index n = 0; n < N; ++n) {
      const double* dy = in(all_dy) + l * O * N + n;
      for (Index o = 0; o < O; ++o)
        if (g.b2) put(g.b2, l * O + o, dy[o * N]);
      for (Index f = 0; f < F; ++f) {
        const double z = hidden(m, l, f, n);
        if (z <= 0) continue;
        double dz = 0;
        for (Index o = 0; o < O; ++o) {
          dz += in(m.w2)[(l * O + o) * F + f] * dy[o * N];
          if (g.w2) put(g.w2, (l * O + o) * F + f, dy[o * N] * z);
        }
        if (g.b1) put(g.b1, l * F + f, dz);
        for (Index i = 0; i < I; ++i) {
          const Index w = (l * F + f) * I + i,
                      x = ((m.x.shape.count() > I * N ? l : 0) * I + i) * N + n;
          if (g.w1) put(g.w1, w, dz * in(m.x)[x]);
          if (g.x) put(g.x, x, dz * in(m.w1)[w]);
        }
      }
    }
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
