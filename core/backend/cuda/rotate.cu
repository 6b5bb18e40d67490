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

PESUITE_HD inline void turn_pair(float& one, float& two, float cosine, float sine) {
  const float x = one;
  one = x * cosine - two * sine;
  two = two * cosine + x * sine;
}
// Sixteen features of a row, in two eights: eight pairs, or features behind the pairs. The unit u
// of a row begins at its features `first` and `second`.
struct TurnedUnit {
  const float *cos, *sin;
  RotateSizes sizes;
  float direction;
  Index of_example, of_head, of_token;  // rows from a table's row to the next one's
  PESUITE_HD bool turns(Index u) const { return 8 * u < sizes.n; }
  PESUITE_HD Index first(Index u) const { return turns(u) && sizes.half ? 8 * u : 16 * u; }
  PESUITE_HD Index second(Index u) const {
    return turns(u) && sizes.half ? sizes.n + 8 * u : 16 * u + 8;
  }
  PESUITE_HD void operator()(Some<8>& a, Some<8>& b, Index example, Index head, Index token,
                             Index u) const {
    if (!turns(u)) return;
    const Index row = example * of_example + head * of_head + token * of_token;
    const Some<8> c = some<8>(cos + row * sizes.n + 8 * u);
    Some<8> s = some<8>(sin + row * sizes.n + 8 * u);
    for (float& x : s.x) x *= direction;
    if (sizes.half) {  // two loops: what is known of their indices keeps all in registers
      for (int k = 0; k < 8; ++k) turn_pair(a.x[k], b.x[k], c.x[k], s.x[k]);
    } else {
      for (int k = 0; k < 4; ++k) turn_pair(a.x[2 * k], a.x[2 * k + 1], c.x[k], s.x[k]);
      for (int k = 0; k < 4; ++k) turn_pair(b.x[2 * k], b.x[2 * k + 1], c.x[k + 4], s.x[k + 4]);
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
  Index example, head, token, u;  // head among those of its part
  Index row;                      // of q, k or v
  Index packed;                   // row of x, whose heads are rows
};
struct HeadUnits {
  Index D, heads, H, G, T, tokens;  // D in units; tokens divides T
  Divisor by_D, by_heads, by_T, by_tokens;
  HeadUnits(const HeadSizes& s, Index tokens)
      : D(s.D / 16),
        heads(s.H + 2 * s.G),
        H(s.H),
        G(s.G),
        T(s.T),
        tokens(tokens),
        by_D(D),
        by_heads(heads),
        by_T(T),
        by_tokens(tokens) {}
  PESUITE_HD UnitPlace place(Index i) const {
    UnitPlace p{};
    Index near, h;
    const Index group = by_heads.divide(by_tokens.divide(by_D.divide(i, p.u), near), h);
    const Index token = group * tokens + near;
    p.example = by_T.divide(token, p.token);
    p.part = h < H ? 0 : h < H + G ? 1 : 2;
    p.head = h - (p.part == 0 ? 0 : p.part == 1 ? H : H + G);
    p.row = (p.example * (p.part == 0 ? H : G) + p.head) * T + p.token;
    p.packed = token * heads + h;
    return p;
  }
};

template <class X, class Part>
struct HeadUnitsForward {
  TargetOf<Part> q, k, v;
  const X* x;
  TurnedUnit of_q, of_k;
  HeadUnits units;
  PESUITE_HD void operator()(Index i) const {
    const UnitPlace p = units.place(i);
    if (p.part == 0) return move(q, of_q, p);
    if (p.part == 1) return move(k, of_k, p);
    move(v, {}, p);
  }
  PESUITE_HD void move(const TargetOf<Part>& to, const TurnedUnit& turn, const UnitPlace& p) const {
    if (to.data == nullptr) return;
    const Index first = turn.first(p.u), second = turn.second(p.u);
    const X* const from = x + p.packed * units.D * 16;
    Some<8> a = some<8>(from + first), b = some<8>(from + second);
    turn(a, b, p.example, p.head, p.token, p.u);
    put(to, p.row * units.D * 16 + first, a);
    put(to, p.row * units.D * 16 + second, b);
  }
};
template <class X, class Part>
struct HeadUnitsBackward {
  TargetOf<X> dx;
  const Part *dq, *dk, *dv;
  TurnedUnit of_q, of_k;
  HeadUnits units;
  PESUITE_HD void operator()(Index i) const {
    const UnitPlace p = units.place(i);
    if (p.part == 0) return move(dq, of_q, p);
    if (p.part == 1) return move(dk, of_k, p);
    move(dv, {}, p);
  }
  PESUITE_HD void move(const Part* from, const TurnedUnit& turn, const UnitPlace& p) const {
    const Index first = turn.first(p.u), second = turn.second(p.u);
    Some<8> a{}, b{};
    if (from != nullptr) {
      from += p.row * units.D * 16;
      a = some<8>(from + first), b = some<8>(from + second);
      turn(a, b, p.example, p.head, p.token, p.u);
    }
    put(dx, p.packed * units.D * 16 + first, a);
    put(dx, p.packed * units.D * 16 + second, b);
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
bool in_units(const Shape& heads, const TurnedUnit& q, const TurnedUnit& k,
              std::initializer_list<const void*> memory) {
  bool can = heads[3] % 16 == 0;
  for (const TurnedUnit* t : {&q, &k})
    can = can && t->sizes.n % 8 == 0 && starts_at_16_bytes(t->cos) && starts_at_16_bytes(t->sin);
  for (const void* m : memory) can = can && starts_at_16_bytes(m);
  return can;
}
TurnedUnit turned_unit(const Shape& heads, const Turn& turn, float direction) {
  if (!turn) return {};
  const Strides rows = broadcast_strides(without_last(turn.cos.shape), without_last(heads));
  return {in(turn.cos), in(turn.sin), rotate_sizes(heads, turn.cos.shape, turn.pairs),
          direction,    rows.s[0],    rows.s[1],
          rows.s[2]};
}
HeadUnits head_units(const HeadSizes& s) {
  return HeadUnits(s, s.T % 8 == 0 ? 8 : s.T % 4 == 0 ? 4 : 1);
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
      const TurnedUnit unit_q = turned_unit(q.shape, of_q, 1),
                       unit_k = turned_unit(k.shape, of_k, 1);
      const HeadSizes sizes = head_sizes(x.shape, q.shape, k.shape);
      if (in_units(q.shape, unit_q, unit_k, {q.data, k.data, v.data, x.data}))
        queue_.each(x.shape.count() / 16,
                    HeadUnitsForward<X, Part>{to_q, to_k, to_v, in<X>(x), unit_q, unit_k,
                                              head_units(sizes)});
      else
        queue_.each(x.shape.count(),
                    HeadsForward<X, Part>{to_q, to_k, to_v, in<X>(x), turned(q.shape, of_q, 1),
                                          turned(k.shape, of_k, 1), sizes});
    });
  });
}
void CudaBackend::heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                                 const Turn& of_k) {
  by_storage(dx.storage, [&]<class X>(X) {
    by_storage(storage_of_heads(dq, dk, dv), [&]<class Part>(Part) {
      const Part *const q = in<Part>(dq), *const k = in<Part>(dk), *const v = in<Part>(dv);
      const TurnedUnit unit_q = turned_unit(dq.shape, of_q, -1),
                       unit_k = turned_unit(dk.shape, of_k, -1);
      const HeadSizes sizes = head_sizes(dx.shape, dq.shape, dk.shape);
      if (in_units(dq.shape, unit_q, unit_k, {dq.data, dk.data, dv.data, dx.data}))
        queue_.each(
            dx.shape.count() / 16,
            HeadUnitsBackward<X, Part>{target<X>(dx), q, k, v, unit_q, unit_k, head_units(sizes)});
      else
        queue_.each(dx.shape.count(),
                    HeadsBackward<X, Part>{target<X>(dx), q, k, v, turned(dq.shape, of_q, -1),
                                           turned(dk.shape, of_k, -1), sizes});
    });
  });
}

}  // namespace pesuite::cuda
