// Rotation of pairs of features.
#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct RotateSizes {
  Index D, n;  // features of a row, and pairs among them
  bool half;   // a pair is (r, r + n), else (2r, 2r + 1)
  PESUITE_HD Index first(Index r) const { return half ? r : 2 * r; }
  PESUITE_HD Index second(Index r) const { return half ? r + n : 2 * r + 1; }
};
// A pair, or a feature behind the pairs, which stays; y = x turned, or backwards.
struct Rotate {
  Target y;
  const float *x, *cos, *sin;
  RotateSizes sizes;
  float direction;  // 1, or -1 backwards
  Walk<1> tables;   // row of a table, by row of x
  PESUITE_HD void operator()(Index i) const {
    Index r, at[1];
    const Index row = divide(i, sizes.D - sizes.n, r), base = row * sizes.D;
    if (r >= sizes.n) {
      y.put(base + sizes.n + r, x[base + sizes.n + r]);
      return;
    }
    tables.at(row, at);
    const Index a = base + sizes.first(r), b = base + sizes.second(r), t = at[0] * sizes.n + r;
    const float c = cos[t], s = direction * sin[t], xa = x[a], xb = x[b];
    y.put(a, xa * c - xb * s);
    y.put(b, xb * c + xa * s);
  }
};
// The gradient of an entry of a table; a term is a row of x that it turns.
struct TableGradient {
  const float *dy, *x;
  RotateSizes sizes;
  bool of_cos;
  Parts<1> rows;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index r, own[1], more[1];
    rows.own.at(divide(o, sizes.n, r), own);
    rows.repeated.at(term, more);
    const Index base = (own[0] + more[0]) * sizes.D;
    const Index a = base + sizes.first(r), b = base + sizes.second(r);
    return of_cos ? dy[a] * x[a] + dy[b] * x[b] : dy[b] * x[a] - dy[a] * x[b];
  }
};

Shape without_last(const Shape& s) {
  return Shape::of(s.rank() - 1, s.data());
}
RotateSizes rotate_sizes(const Shape& x, const Shape& table, Pairs pairs) {
  return {x[-1], table[-1], pairs == Pairs::half};
}

}  // namespace

void CudaBackend::rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) {
  const RotateSizes z = rotate_sizes(x.shape, cos.shape, pairs);
  const Shape rows = without_last(x.shape);
  queue_.each(rows.count() * (z.D - z.n), Rotate{target(y), in(x), in(cos), in(sin), z, 1,
                                                 walk<1>(rows, {without_last(cos.shape)})});
}

void CudaBackend::rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                                  Pairs pairs) {
  const RotateSizes z = rotate_sizes(x.shape, cos.shape, pairs);
  const Shape rows = without_last(x.shape), tables = without_last(cos.shape);
  if (dx)
    queue_.each(rows.count() * (z.D - z.n),
                Rotate{target(dx), in(dy), in(cos), in(sin), z, -1, walk<1>(rows, {tables})});
  for (const bool of_cos : {true, false}) {
    const Out to = of_cos ? dcos : dsin;
    if (!to) continue;
    const TableGradient f{in(dy), in(x), z, of_cos, parts<1>(rows, tables, {rows})};
    reduce(queue_, target(to), to.shape.count(), f.rows.repeated.count(), f);
  }
}

}  // namespace pesuite::cuda
