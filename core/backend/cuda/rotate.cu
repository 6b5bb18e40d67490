// Rotation of pairs of features, also of heads on their way from and to where they stand side by
// side.
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

// A feature of a row x [D] turned, or backwards; its partner is read by the neighbour as well.
struct TurnedFeature {
  const float *cos, *sin;
  RotateSizes sizes;
  float direction;
  Walk<1> tables;  // row of a table, by row
  template <class T>
  PESUITE_HD float operator()(const T* x, Index row, Index d) const {
    if (d >= 2 * sizes.n) return x[d];
    const Index r = !sizes.half ? d / 2 : d < sizes.n ? d : d - sizes.n;
    Index at[1];
    tables.at(row, at);
    const float c = cos[at[0] * sizes.n + r], s = direction * sin[at[0] * sizes.n + r];
    const float a = x[sizes.first(r)], b = x[sizes.second(r)];
    return d == sizes.first(r) ? a * c - b * s : b * c + a * s;
  }
};

// Sixteen features of a row, in two eights: eight pairs, or features behind the pairs. The unit u
// of a row begins at its features `first` and `second`.
struct TurnedUnit {
  TurnedFeature of;
  PESUITE_HD bool turns(Index u) const { return 8 * u < of.sizes.n; }
  PESUITE_HD Index first(Index u) const { return turns(u) && of.sizes.half ? 8 * u : 16 * u; }
  PESUITE_HD Index second(Index u) const {
    return turns(u) && of.sizes.half ? of.sizes.n + 8 * u : 16 * u + 8;
  }
  PESUITE_HD void operator()(Some<8>& a, Some<8>& b, Index row, Index u) const {
    if (!turns(u)) return;
    Index at[1];
    of.tables.at(row, at);
    const Index t = at[0] * of.sizes.n + 8 * u;
    const Some<8> c = some<8>(of.cos + t), s = some<8>(of.sin + t);
    for (int k = 0; k < 8; ++k) {
      float& one = of.sizes.half ? a.x[k] : k < 4 ? a.x[2 * k] : b.x[2 * k - 8];
      float& two = of.sizes.half ? b.x[k] : k < 4 ? a.x[2 * k + 1] : b.x[2 * k - 7];
      const float sine = of.direction * s.x[k], x = one;
      one = x * c.x[k] - two * sine;
      two = two * c.x[k] + x * sine;
    }
  }
};

// Which of q, k and v an element of x [B, T, (H + 2G) D] belongs to, and where it stands in it.
struct HeadPlace {
  int part;
  Index row, d;
};
struct HeadSizes {
  Index T, D, H, G;
  PESUITE_HD HeadPlace place(Index i) const {
    Index d, h, t;
    const Index token = divide(divide(i, D, d), H + 2 * G, h), b = divide(token, T, t);
    const int part = h < H ? 0 : h < H + G ? 1 : 2;
    h -= part == 0 ? 0 : part == 1 ? H : H + G;
    return {part, (b * (part == 0 ? H : G) + h) * T + t, d};
  }
};
template <class X, class Part>
struct HeadsForward {
  TargetOf<Part> q, k, v;
  const X* x;
  TurnedFeature of_q, of_k;
  HeadSizes sizes;
  PESUITE_HD void operator()(Index i) const {
    const auto [part, row, d] = sizes.place(i);
    const TargetOf<Part>& to = part == 0 ? q : part == 1 ? k : v;
    const X* const from = x + i - d;
    if (to.data != nullptr)
      to.put(row * sizes.D + d, part == 0   ? of_q(from, row, d)
                                : part == 1 ? of_k(from, row, d)
                                            : static_cast<float>(from[d]));
  }
};
template <class X, class Part>
struct HeadsBackward {
  TargetOf<X> dx;
  const Part *dq, *dk, *dv;
  TurnedFeature of_q, of_k;
  HeadSizes sizes;
  PESUITE_HD void operator()(Index i) const {
    const auto [part, row, d] = sizes.place(i);
    const Part* from = part == 0 ? dq : part == 1 ? dk : dv;
    if (from == nullptr) return dx.put(i, 0);
    from += row * sizes.D;
    dx.put(i, part == 0   ? of_q(from, row, d)
              : part == 1 ? of_k(from, row, d)
                          : static_cast<float>(from[d]));
  }
};

// A unit a thread. Neighbouring threads take the units of one head of `tokens` tokens, then of the
// next head: so a block reads and writes whole kilobytes on both sides.
struct UnitPlace {
  int part;
  Index row, u;  // of q, k or v
  Index packed;  // row of x, whose heads are rows
};
struct HeadUnits {
  Index D, heads, H, G, T;  // D in units
  Index tokens;             // divides T
  PESUITE_HD UnitPlace place(Index i) const {
    Index u, near, h, t;
    const Index group = divide(divide(divide(i, D, u), tokens, near), heads, h);
    const Index token = group * tokens + near, b = divide(token, T, t);
    const int part = h < H ? 0 : h < H + G ? 1 : 2;
    const Index own = h - (part == 0 ? 0 : part == 1 ? H : H + G);
    return {part, (b * (part == 0 ? H : G) + own) * T + t, u, token * heads + h};
  }
};

template <class X, class Part>
struct HeadUnitsForward {
  TargetOf<Part> q, k, v;
  const X* x;
  TurnedUnit of_q, of_k, of_v;
  HeadUnits units;
  PESUITE_HD void operator()(Index i) const {
    const auto [part, row, u, packed] = units.place(i);
    const TargetOf<Part>& to = part == 0 ? q : part == 1 ? k : v;
    if (to.data == nullptr) return;
    const TurnedUnit& turn = part == 0 ? of_q : part == 1 ? of_k : of_v;
    const Index first = turn.first(u), second = turn.second(u), base = row * units.D * 16;
    const X* const from = x + packed * units.D * 16;
    Some<8> a = some<8>(from + first), b = some<8>(from + second);
    turn(a, b, row, u);
    put(to, base + first, a);
    put(to, base + second, b);
  }
};
template <class X, class Part>
struct HeadUnitsBackward {
  TargetOf<X> dx;
  const Part *dq, *dk, *dv;
  TurnedUnit of_q, of_k, of_v;
  HeadUnits units;
  PESUITE_HD void operator()(Index i) const {
    const auto [part, row, u, packed] = units.place(i);
    const Part* const from = part == 0 ? dq : part == 1 ? dk : dv;
    const TurnedUnit& turn = part == 0 ? of_q : part == 1 ? of_k : of_v;
    const Index first = turn.first(u), second = turn.second(u), base = row * units.D * 16;
    Some<8> a{}, b{};
    if (from != nullptr) {
      a = some<8>(from + base + first), b = some<8>(from + base + second);
      turn(a, b, row, u);
    }
    put(dx, packed * units.D * 16 + first, a);
    put(dx, packed * units.D * 16 + second, b);
  }
};

Shape without_last(const Shape& s) {
  return Shape::of(s.rank() - 1, s.data());
}
RotateSizes rotate_sizes(const Shape& x, const Shape& table, Pairs pairs) {
  return {x[-1], table[-1], pairs == Pairs::half};
}
// Of heads [B, H, T, D]; without tables no pair turns.
TurnedFeature turned(const Shape& heads, const Turn& turn, float direction) {
  if (!turn) return {nullptr, nullptr, {heads[3], 0, true}, direction, {}};
  return {in(turn.cos), in(turn.sin), rotate_sizes(heads, turn.cos.shape, turn.pairs), direction,
          walk<1>(without_last(heads), {without_last(turn.cos.shape)})};
}
// Of q, k and v, which are stored alike where they are given.
template <class View>
Storage storage_of_heads(const View& q, const View& k, const View& v) {
  return q ? q.storage : k ? k.storage : v.storage;
}
HeadSizes head_sizes(const Shape& x, const Shape& q, const Shape& k) {
  return {x[1], q[3], q[1], k[1]};
}
// Whether heads are whole units for a device to read 16 bytes at a time.
bool in_units(const Shape& heads, const TurnedFeature& q, const TurnedFeature& k,
              std::initializer_list<const void*> memory) {
  bool can = heads[3] % 16 == 0;
  for (const TurnedFeature* t : {&q, &k})
    can = can && t->sizes.n % 8 == 0 && starts_at_16_bytes(t->cos) && starts_at_16_bytes(t->sin);
  for (const void* m : memory) can = can && starts_at_16_bytes(m);
  return can;
}
HeadUnits head_units(const HeadSizes& s) {
  const Index tokens = s.T % 8 == 0 ? 8 : s.T % 4 == 0 ? 4 : 1;
  return {s.D / 16, s.H + 2 * s.G, s.H, s.G, s.T, tokens};
}
TurnedUnit unturned(const TurnedFeature& of) {
  TurnedUnit u{of};
  u.of.sizes.n = 0;
  return u;
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

void CudaBackend::heads_forward(Out q, Out k, Out v, View x, const Turn& of_q, const Turn& of_k) {
  by_storage(x.storage, [&]<class X>(X) {
    by_storage(storage_of_heads(q, k, v), [&]<class Part>(Part) {
      const TargetOf<Part> to_q = target<Part>(q), to_k = target<Part>(k), to_v = target<Part>(v);
      const TurnedFeature turn_q = turned(q.shape, of_q, 1), turn_k = turned(k.shape, of_k, 1);
      const HeadSizes sizes = head_sizes(x.shape, q.shape, k.shape);
      if (in_units(q.shape, turn_q, turn_k, {q.data, k.data, v.data, x.data}))
        queue_.each(x.shape.count() / 16, HeadUnitsForward<X, Part>{to_q,
                                                                    to_k,
                                                                    to_v,
                                                                    in<X>(x),
                                                                    {turn_q},
                                                                    {turn_k},
                                                                    unturned(turn_q),
                                                                    head_units(sizes)});
      else
        queue_.each(x.shape.count(),
                    HeadsForward<X, Part>{to_q, to_k, to_v, in<X>(x), turn_q, turn_k, sizes});
    });
  });
}
void CudaBackend::heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                                 const Turn& of_k) {
  by_storage(dx.storage, [&]<class X>(X) {
    by_storage(storage_of_heads(dq, dk, dv), [&]<class Part>(Part) {
      const TurnedFeature turn_q = turned(dq.shape, of_q, -1), turn_k = turned(dk.shape, of_k, -1);
      const HeadSizes sizes = head_sizes(dx.shape, dq.shape, dk.shape);
      if (in_units(dq.shape, turn_q, turn_k, {dq.data, dk.data, dv.data, dx.data}))
        queue_.each(dx.shape.count() / 16, HeadUnitsBackward<X, Part>{target<X>(dx),
                                                                      in<Part>(dq),
                                                                      in<Part>(dk),
                                                                      in<Part>(dv),
                                                                      {turn_q},
                                                                      {turn_k},
                                                                      unturned(turn_q),
                                                                      head_units(sizes)});
      else
        queue_.each(dx.shape.count(),
                    HeadsBackward<X, Part>{target<X>(dx), in<Part>(dq), in<Part>(dk), in<Part>(dv),
                                           turn_q, turn_k, sizes});
    });
  });
}

}  // namespace pesuite::cuda
