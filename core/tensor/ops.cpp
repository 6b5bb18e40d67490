#include "tensor/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace pesuite::ops {

namespace {

// The axis as 0 .. rank-1, or -1 with a failure.
int checked_axis(Tape& t, const char* op, const Shape& shape, int axis) {
  const int i = axis < 0 ? axis + shape.rank() : axis;
  if (i >= 0 && i < shape.rank()) return i;
  t.fail(fmt::format("{}: axis {} of a tensor {} does not exist", op, axis, shape.text()));
  return -1;
}

Shape with_last(Shape s, std::int64_t extent) {
  s.at(-1) = extent;
  return s;
}

using How = Tape::Terms::How;

// a b, of shapes that fit together
Tensor product(Tape& t, const Shape& shape, Tensor a, Tensor b, bool transpose_b) {
  const Tensor y = t.make(shape, t.needs_grad(a) || t.needs_grad(b));
  t.backend().matmul(t.out(y), t.view(a), t.view(b), false, transpose_b);
  if (t.needs_grad(y)) {
    t.keep(a), t.keep(b);
    t.record(y, [=](Tape& t) {
      const View dy = t.grad_view(y);
      // y = a b: da = dy b^T, db = a^T dy.  y = a b^T: da = dy b, db = dy^T a.
      if (const Out da = t.grad(a)) t.backend().matmul(da, dy, t.view(b), false, !transpose_b);
      if (const Out db = t.grad(b)) {
        if (transpose_b)
          t.backend().matmul(db, dy, t.view(a), true, false);
        else
          t.backend().matmul(db, t.view(a), dy, true, false);
      }
    });
  }
  return y;
}

// w x + b whose product is not made yet; b may be null. w null: nothing of the kind.
struct Affine {
  Tensor w, x, b;
};
Affine affine_of(Tape& t, Tensor y) {
  const Tape::Terms top = t.terms(y);
  if (top.how == How::product) return {top.a, top.b, {}};
  const Tape::Terms product = t.terms(top.a);
  if (top.how != How::sum || product.how != How::product) return {};
  if (!(t.shape(top.b) == with_last(t.shape(y), 1))) return {};
  return {product.a, product.b, top.b};
}
// Whether w x may be a layer of few units and many columns: [.., M, K] times [.., K, N], the
// leading axes of w those of the result.
bool is_small_layer(const Shape& w, const Shape& x) {
  constexpr std::int64_t units = 128, columns = 1024;
  const std::int64_t many = w.span(0, w.rank() - 2), of_x = x.span(0, x.rank() - 2);
  return w[-2] <= units && w[-1] <= units && x[-1] >= columns && w.rank() >= x.rank() &&
         (of_x == 1 || of_x == many);
}

Tensor two_affine(Tape& t, const Shape& shape, const Affine& second, const Affine& first) {
  const Tensor all[] = {second.w, second.b, first.w, first.b, t.now(first.x)};
  const auto layers = [all = std::to_array(all)](Tape& t) {
    return TwoLayers{t.view(all[0]), t.view(all[1]), t.view(all[2]), t.view(all[3]),
                     t.view(all[4])};
  };
  const Tensor y = t.make(shape, std::any_of(std::begin(all), std::end(all),
                                             [&](Tensor x) { return t.needs_grad(x); }));
  t.backend().two_layers_forward(t.out(y), layers(t));
  if (t.needs_grad(y)) {
    for (const Tensor x : all) t.keep(x);
    t.record(y, [=, all = std::to_array(all)](Tape& t) {
      t.backend().two_layers_backward(
          {t.grad(all[0]), t.grad(all[1]), t.grad(all[2]), t.grad(all[3]), t.grad(all[4])},
          t.grad_view(y), layers(t));
    });
  }
  return y;
}

// The layer's result. A rectified layer that it reads is made with it, and never stored.
Tensor made(Tape& t, const Shape& shape, const Affine& l) {
  if (const Tape::Terms hidden = t.terms(l.x); hidden.how == How::relu)
    if (const Affine before = affine_of(t, hidden.a); before.w)
      return two_affine(t, shape, l, before);
  const Tensor y = product(t, shape, l.w, t.now(l.x), false);
  return l.b ? binary(t, Binary::add, y, l.b) : y;
}

// x added to scores, say, that are not made yet: made on demand, and until then the sum of what was
// added can be read without them.
Tensor add_later(Tape& t, Tensor unmade, Tensor x) {
  const Tape::Terms before = t.terms(unmade);
  Tape::Terms sum = {How::sum, unmade, x};
  if (before.how == How::sum) sum = {How::sum, before.a, binary(t, Binary::add, before.b, x)};
  const Shape shape = t.shape(unmade);
  const Tensor y = t.later(shape, sum, [sum, shape](Tape& t) {
    const Tape::Terms product = t.terms(sum.a);
    if (product.how == How::product && t.shape(sum.b) == with_last(shape, 1))
      return made(t, shape, {product.a, product.b, sum.b});
    return binary(t, Binary::add, t.now(sum.a), sum.b);
  });
  return y;
}

}  // namespace

Tensor unary(Tape& t, Unary op, Tensor x) {
  if (!x) return {};
  if (op == Unary::relu && affine_of(t, x).w)
    return t.later(t.shape(x), {How::relu, x, {}},
                   [x](Tape& t) { return unary(t, Unary::relu, t.now(x)); });
  t.now(x);
  const Tensor y = t.make(t.shape(x), t.needs_grad(x) && op != Unary::floor, t.storage(x));
  t.backend().unary_forward(t.out(y), t.view(x), op);
  if (t.needs_grad(y)) {
    t.keep(x), t.keep(y);
    t.record(y, [=](Tape& t) {
      const View values = t.view(x);
      t.backend().unary_backward(t.grad_over(x), t.grad_view(y), values, t.view(y), op);
    });
  }
  return y;
}

Tensor binary(Tape& t, Binary op, Tensor a, Tensor b) {
  if (!a || !b) return {};
  const auto shape = broadcast(t.shape(a), t.shape(b));
  if (!shape)
    return t.fail(fmt::format("binary: {} and {} do not broadcast against each other",
                              t.shape(a).text(), t.shape(b).text()));
  if (op == Binary::add && t.patient()) {
    if (t.unmade(a) && *shape == t.shape(a)) return add_later(t, a, t.now(b));
    if (t.unmade(b) && *shape == t.shape(b)) return add_later(t, b, t.now(a));
  }
  t.now(a), t.now(b);
  const Tensor y = t.make(*shape, t.needs_grad(a) || t.needs_grad(b));
  t.backend().binary_forward(t.out(y), t.view(a), t.view(b), op);
  if (t.needs_grad(y)) {
    t.keep(a), t.keep(b);
    // gets a sum's gradient unchanged
    const bool to_b = op == Binary::add && t.shape(b) == *shape && t.needs_grad(b),
               to_a = !to_b && (op == Binary::add || op == Binary::sub) && t.shape(a) == *shape;
    t.record(y, [=](Tape& t) {
      const View dy = t.grad_view(y);
      // one contribution after the other: a and b may be the same
      if (!to_a) t.backend().binary_backward(t.grad(a), {}, dy, t.view(a), t.view(b), op);
      if (!to_b) t.backend().binary_backward({}, t.grad(b), dy, t.view(a), t.view(b), op);
      if (to_a) t.pass_grad(y, a);
      if (to_b) t.pass_grad(y, b);
    });
  }
  return y;
}

Tensor affine(Tape& t, Tensor x, double scale, double shift) {
  if (!x) return {};
  const Tensor y = t.make(t.shape(x), t.needs_grad(x));
  t.set_level(y, t.level(x));
  t.backend().affine(t.out(y), t.view(x), scale, shift);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) { t.backend().affine(t.grad(x), t.grad_view(y), scale, 0); });
  return y;
}

Tensor softcapped(Tape& t, Tensor x, double cap) {
  if (cap == 0) return x;
  return affine(t, unary(t, Unary::tanh, affine(t, x, 1 / cap, 0)), cap, 0);
}

Tensor matmul(Tape& t, Tensor a, Tensor b, bool transpose_b) {
  if (!a || !b) return {};
  const Shape sa = t.shape(a), sb = t.shape(b);
  const auto refuse = [&](const char* why) {
    return t.fail(fmt::format("matmul: {} times {}{}: {}", sa.text(), sb.text(),
                              transpose_b ? " transposed" : "", why));
  };
  if (sa.rank() < 2 || sb.rank() < 2) return refuse("both need two axes or more");
  if (sa[-1] != (transpose_b ? sb[-1] : sb[-2])) return refuse("the inner extents differ");
  const std::int64_t m = sa[-2], n = transpose_b ? sb[-2] : sb[-1];
  const auto lead =
      broadcast(Shape::of(sa.rank() - 2, sa.data()), Shape::of(sb.rank() - 2, sb.data()));
  if (!lead) return refuse("the leading axes do not broadcast");
  std::int64_t extents[Shape::max_rank];
  for (int i = 0; i < lead->rank(); ++i) extents[i] = (*lead)[i];
  extents[lead->rank()] = m;
  extents[lead->rank() + 1] = n;
  const Shape shape = Shape::of(lead->rank() + 2, extents);
  t.now(a);
  const bool later = t.patient() && !transpose_b && is_small_layer(sa, sb);
  if (!later || t.terms(b).how != How::relu) t.now(b);
  if (!later) return product(t, shape, a, b, transpose_b);
  return t.later(shape, {How::product, a, b}, [=](Tape& t) { return made(t, shape, {a, b, {}}); });
}

Tensor sum(Tape& t, Tensor x, int axis) {
  if (!x) return {};
  const int i = checked_axis(t, "sum", t.shape(x), axis);
  if (i < 0) return {};
  Shape shape = t.shape(x);
  shape.at(i) = 1;
  const Tensor y = t.make(shape, t.needs_grad(x));
  t.backend().sum(t.out(y), t.view(x), i);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) { t.backend().affine(t.grad(x), t.grad_view(y), 1, 0); });
  return y;
}

Tensor cumsum(Tape& t, Tensor x, int axis, bool reverse) {
  if (!x) return {};
  const int i = checked_axis(t, "cumsum", t.shape(x), axis);
  if (i < 0) return {};
  const Tensor y = t.make(t.shape(x), t.needs_grad(x));
  t.backend().cumsum(t.out(y), t.view(x), i, reverse);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) { t.backend().cumsum(t.grad(x), t.grad_view(y), i, !reverse); });
  return y;
}

Tensor reshape(Tape& t, Tensor x, const Shape& shape) {
  if (!x) return {};
  if (shape.count() != t.shape(x).count())
    return t.fail(fmt::format("reshape: {} has {} numbers, {} has {}", t.shape(x).text(),
                              t.shape(x).count(), shape.text(), shape.count()));
  return t.alias(x, shape);
}

Tensor permute(Tape& t, Tensor x, const int* axes) {
  if (!x) return {};
  const Shape from = t.shape(x);
  struct Axes {
    int forward[Shape::max_rank] = {}, inverse[Shape::max_rank] = {};
  } a;
  Shape shape = from;
  unsigned seen = 0;
  for (int i = 0; i < from.rank(); ++i) {
    const int source = axes[i] < 0 ? axes[i] + from.rank() : axes[i];
    if (source < 0 || source >= from.rank() || (seen >> source & 1) != 0)
      return t.fail(
          fmt::format("permute: axis {} of {} is missing or named twice", axes[i], from.text()));
    seen |= 1u << source;
    a.forward[i] = source;
    a.inverse[source] = i;
    shape.at(i) = from[source];
  }
  const Tensor y = t.make(shape, t.needs_grad(x));
  if (const Tape::Level level = t.level(x); level.from > 0)
    t.set_level(y, {a.inverse[level.axis], level.from});
  t.backend().permute(t.out(y), t.view(x), a.forward);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) { t.backend().permute(t.grad(x), t.grad_view(y), a.inverse); });
  return y;
}

Tensor slice(Tape& t, Tensor x, int axis, std::int64_t start, std::int64_t length) {
  if (!x) return {};
  const int i = checked_axis(t, "slice", t.shape(x), axis);
  if (i < 0) return {};
  Shape shape = t.shape(x);
  if (start < 0 || length < 1 || start + length > shape[i])
    return t.fail(fmt::format("slice: {} .. {} of axis {} of {} does not exist", start,
                              start + length - 1, axis, shape.text()));
  shape.at(i) = length;
  const Tensor y = t.make(shape, t.needs_grad(x));
  t.backend().copy(t.out(y), 0, t.view(x), start, i, length);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) {
      Out dx = t.grad(x);
      if (!dx.add) t.backend().fill(dx, 0);
      dx.add = true;
      t.backend().copy(dx, start, t.grad_view(y), 0, i, length);
    });
  return y;
}

Tensor concat(Tape& t, Tensor a, Tensor b, int axis) {
  if (!a || !b) return {};
  const int i = checked_axis(t, "concat", t.shape(a), axis);
  if (i < 0) return {};
  const Shape sb = t.shape(b);
  Shape shape = t.shape(a);
  const std::int64_t na = shape[i], nb = sb.rank() == shape.rank() ? sb[i] : 0;
  Shape other = sb;
  if (sb.rank() == shape.rank()) other.at(i) = na;
  if (!(other == shape))
    return t.fail(fmt::format("concat: {} and {} differ in more than axis {}", shape.text(),
                              sb.text(), axis));
  shape.at(i) = na + nb;
  const Tensor y = t.make(shape, t.needs_grad(a) || t.needs_grad(b));
  t.backend().copy(t.out(y), 0, t.view(a), 0, i, na);
  t.backend().copy(t.out(y), na, t.view(b), 0, i, nb);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) {
      if (const Out da = t.grad(a)) t.backend().copy(da, 0, t.grad_view(y), 0, i, na);
      if (const Out db = t.grad(b)) t.backend().copy(db, 0, t.grad_view(y), na, i, nb);
    });
  return y;
}

namespace {

// Of what an index [.., J] chooses from x [.., V]; empty if their leading axes disagree.
std::optional<Shape> chosen(const Shape& x, const Shape& index) {
  if (x.rank() == 0 || index.rank() == 0) return std::nullopt;
  return broadcast(with_last(x, index[-1]), index);
}

}  // namespace

Tensor take(Tape& t, Tensor x, Tensor index) {
  if (!x || !index) return {};
  const Shape sx = t.shape(x), si = t.shape(index);
  const auto shape = chosen(sx, si);
  if (!shape)
    return t.fail(fmt::format("take: the leading axes of {} and of the index {} do not broadcast",
                              sx.text(), si.text()));
  const Tensor y = t.make(*shape, t.needs_grad(x));
  t.backend().take_forward(t.out(y), t.view(x), t.view(index));
  if (t.needs_grad(y)) {
    t.keep(index);
    t.record(y,
             [=](Tape& t) { t.backend().take_backward(t.grad(x), t.grad_view(y), t.view(index)); });
  }
  return y;
}

Tensor interpolate(Tape& t, Tensor x, Tensor position) {
  if (!x || !position) return {};
  const Shape sx = t.shape(x), sp = t.shape(position);
  const auto shape = chosen(sx, sp);
  if (!shape)
    return t.fail(
        fmt::format("interpolate: the leading axes of {} and of the position {} do not broadcast",
                    sx.text(), sp.text()));
  const Tensor y = t.make(*shape, t.needs_grad(x) || t.needs_grad(position));
  t.backend().interpolate_forward(t.out(y), t.view(x), t.view(position));
  if (t.needs_grad(y)) {
    t.keep(x), t.keep(position);
    t.record(y, [=](Tape& t) {
      const Out dx = t.grad(x), dposition = t.grad(position);  // x may stand for both
      t.backend().interpolate_backward(dx, dposition, t.grad_view(y), t.view(x), t.view(position));
    });
  }
  return y;
}

Tensor rows(Tape& t, Tensor x, Tensor index) {
  if (!x || !index) return {};
  const Shape sx = t.shape(x), si = t.shape(index);
  if (sx.rank() < 1 || si.rank() != 1)
    return t.fail(fmt::format("rows: wants a table and a vector of indices, not {} and {}",
                              sx.text(), si.text()));
  Shape shape = sx;
  shape.at(0) = si[0];
  const Tensor y = t.make(shape, t.needs_grad(x));
  t.set_level(y, t.level(index));
  t.backend().rows_forward(t.out(y), t.view(x), t.view(index));
  if (t.needs_grad(y)) {
    t.keep(index);
    const bool rising = t.rises(index);
    t.record(y, [=](Tape& t) {
      t.backend().rows_backward(t.grad(x), t.grad_view(y), t.view(index), rising);
    });
  }
  return y;
}

namespace {

// What the tensors of one split_heads() share. All are made in one pass when the first is needed;
// until then rotate() may have q or k turned on the way.
struct Packed {
  struct Tables {
    Tensor cos, sin;  // null: does not turn
    Pairs pairs = Pairs::half;
    Turn view(const Tape& t) const { return {t.view(cos), t.view(sin), pairs}; }
  };
  Tensor x;                    // [B, T, (H + 2G) D]
  std::array<Shape, 3> shape;  // of q, k and v
  std::array<Tables, 3> turn;  // of v: none
  std::array<Tensor, 3> made;  // null before
  Storage storage = Storage::own;

  void make(Tape& t, int first, int last) {
    std::array<Out, 3> y;
    for (int i = 0; i < 3; ++i) {
      if (first <= i && i <= last) made[i] = t.make(shape[i], t.needs_grad(x), storage);
      y[i] = made[i] ? t.out(made[i]) : Out{nullptr, shape[i]};
    }
    t.backend().heads_forward(y[0], y[1], y[2], t.view(x), turn[0].view(t), turn[1].view(t));
    if (!t.needs_grad(x)) return;
    for (const Tables& tables : turn) t.keep(tables.cos), t.keep(tables.sin);
    t.record(made[first], [p = *this](Tape& t) {
      const auto part = [&](int i) {  // without data, but with its shape, where none came
        return View{t.grad_view(p.made[i]).data, p.shape[i], p.storage};
      };
      t.backend().heads_backward(t.grad(p.x), part(0), part(1), part(2), p.turn[0].view(t),
                                 p.turn[1].view(t));
    });
  }
};

// Makes q, k or v (index 0, 1, 2), or what rotate() was asked to make of it.
struct Part {
  Packed* packed;
  int index;
  bool turned;

  bool may_turn() const {
    return !turned && index < 2 && !packed->turn[index].cos && !packed->made[index];
  }
  Tensor operator()(Tape& t) const {
    Packed& all = *packed;
    if (turned != static_cast<bool>(all.turn[index].cos)) {  // wanted beside what it turns into
      Packed plain{all.x, all.shape, {}, {}, Storage::own};
      plain.make(t, index, index);
      return plain.made[index];
    }
    if (!all.made[index]) {
      all.make(t, 0, 2);
      if (!all.turn[0].cos && !all.turn[1].cos) t.drop(all.x);  // nobody can ask for more
    }
    return all.made[index];
  }
};

}  // namespace

Heads split_heads(Tape& t, Tensor x, int heads, int kv_heads) {
  if (!x) return {};
  const Shape s = t.shape(x);
  const std::int64_t D = s[2] / (heads + 2 * kv_heads);
  const Shape query = {s[0], heads, s[1], D}, key = {s[0], kv_heads, s[1], D};
  Packed* const packed = t.share(Packed{x, {query, key, key}, {}, {}, Storage::own});
  const auto part = [&](int i) { return t.later(packed->shape[i], Part{packed, i, false}); };
  return {part(0), part(1), part(2)};
}

void store_heads(Tape& t, const Heads& heads, Storage storage) {
  if (const Part* part = t.pending<Part>(heads.v)) part->packed->storage = storage;
}

Tensor rotate(Tape& t, Tensor x, Tensor cos, Tensor sin, Pairs pairs) {
  if (!x || !cos || !sin) return {};
  const Shape sx = t.shape(x), sc = t.shape(cos);
  const auto refuse = [&](const char* why) {
    return t.fail(fmt::format("rotate: x {}, cos {}, sin {}: {}", sx.text(), sc.text(),
                              t.shape(sin).text(), why));
  };
  if (!(sc == t.shape(sin))) return refuse("cos and sin differ in shape");
  if (sx.rank() < 1 || sc.rank() < 1 || sc.rank() > sx.rank())
    return refuse("cos needs a last axis, and no more axes than x");
  if (2 * sc[-1] > sx[-1]) return refuse("more pairs than the last axis of x holds");
  const auto shape = broadcast(sx, with_last(sc, sx[-1]));
  if (!shape || !(*shape == sx)) return refuse("cos does not broadcast against x");
  // A gradient of tables is made from x as it was before.
  const bool reads_x = t.needs_grad(cos) || t.needs_grad(sin);
  if (const Part* part = t.pending<Part>(x); part != nullptr && part->may_turn() && !reads_x) {
    part->packed->turn[part->index] = {cos, sin, pairs};
    return t.later(sx, Part{part->packed, part->index, true});
  }
  t.now(x);
  const Tensor y = t.make(sx, t.needs_grad(x) || reads_x);
  t.backend().rotate_forward(t.out(y), t.view(x), t.view(cos), t.view(sin), pairs);
  if (t.needs_grad(y)) {
    if (reads_x) t.keep(x);
    t.keep(cos), t.keep(sin);
    t.record(y, [=](Tape& t) {
      const View values = reads_x ? t.view(x) : View{nullptr, t.shape(x)};
      t.backend().rotate_backward(t.grad(x), t.grad(cos), t.grad(sin), t.grad_view(y), values,
                                  t.view(cos), t.view(sin), pairs);
    });
  }
  return y;
}

Tensor embed(Tape& t, Tensor table, const std::int32_t* tokens, const Shape& batch) {
  if (!table) return {};
  const Tensor y = t.make({batch[0], batch[1], t.shape(table)[1]}, t.needs_grad(table));
  t.backend().embed_forward(t.out(y), t.view(table), tokens);
  if (t.needs_grad(y))
    t.record(y,
             [=](Tape& t) { t.backend().embed_backward(t.grad(table), t.grad_view(y), tokens); });
  return y;
}

Tensor norm(Tape& t, Tensor x, Tensor gain, Tensor bias, Norm kind, double eps, Storage storage) {
  if (!x) return {};
  const Shape shape = t.shape(x);
  const bool needs = t.needs_grad(x) || t.needs_grad(gain) || t.needs_grad(bias);
  const Tensor y = t.make(shape, needs, storage);
  const Tensor stats = t.make({shape.span(0, shape.rank() - 1), 2}, false);
  t.backend().norm_forward(t.out(y), t.out(stats), t.view(x), t.view(gain), t.view(bias), kind,
                           eps);
  if (t.needs_grad(y)) {
    t.keep(x), t.keep(gain), t.keep(stats);
    t.record(y, [=](Tape& t) {
      t.backend().norm_backward(t.grad(x), t.grad(gain), t.grad(bias), t.grad_view(y), t.view(x),
                                t.view(gain), t.view(stats), kind);
    });
  }
  return y;
}

Tensor linear(Tape& t, Tensor x, Tensor w, Tensor bias, Tensor residual, Storage storage) {
  if (!x || !w) return {};
  const Shape sx = t.shape(x), sw = t.shape(w);
  if (sw.rank() != 2 || sx[-1] != sw[1])
    return t.fail(
        fmt::format("linear: an input {} does not fit a weight {}", sx.text(), sw.text()));
  const Shape shape = with_last(sx, sw[0]);
  if (residual && !(t.shape(residual) == shape))
    return t.fail(
        fmt::format("linear: the residual {} is not {}", t.shape(residual).text(), shape.text()));
  const Tensor y =
      t.make(shape, t.needs_grad(x) || t.needs_grad(w) || t.needs_grad(residual), storage);
  t.backend().linear_forward(t.out(y), t.view(x), t.view(w), t.view(bias), t.view(residual));
  if (t.needs_grad(y)) {
    t.keep(x), t.keep(w);
    t.record(y, [=](Tape& t) {
      const View dy = t.grad_view(y);
      t.backend().linear_backward(t.grad(x), t.grad(w), t.grad(bias), dy, t.view(x), t.view(w));
      t.pass_grad(y, residual);
    });
  }
  return y;
}

Tensor own(Tape& t, Tensor x) {
  if (!x || t.storage(x) == Storage::own) return x;
  const Tensor y = t.make(t.shape(x), t.needs_grad(x));
  t.backend().affine(t.out(y), t.view(x), 1, 0);
  if (t.needs_grad(y)) t.record(y, [=](Tape& t) { t.pass_grad(y, x); });
  return y;
}

Tensor gate(Tape& t, Tensor x) {
  if (!x) return {};
  const Tensor y = t.make(with_last(t.shape(x), t.shape(x)[-1] / 2), t.needs_grad(x), t.storage(x));
  t.backend().gate_forward(t.out(y), t.view(x));
  if (t.needs_grad(y)) {
    t.keep(x);
    t.record(y, [=](Tape& t) {
      const View values = t.view(x);
      t.backend().gate_backward(t.grad_over(x), t.grad_view(y), values);
    });
  }
  return y;
}

Tensor dropout(Tape& t, Tensor x, const Dropout& d) {
  if (!x || d.p == 0) return x;
  const Tensor y = t.make(t.shape(x), t.needs_grad(x));
  t.backend().dropout(t.out(y), t.view(x), d);
  if (t.needs_grad(y))
    t.record(y, [=](Tape& t) { t.backend().dropout(t.grad(x), t.grad_view(y), d); });
  return y;
}

Tensor softmax(Tape& t, Tensor scores, std::int64_t first) {
  if (!scores) return {};
  const Tensor y = t.make(t.shape(scores), t.needs_grad(scores));
  t.backend().softmax_forward(t.out(y), t.view(scores), first);
  if (t.needs_grad(y)) {
    t.keep(y);
    t.record(y, [=](Tape& t) {
      t.backend().softmax_backward(t.grad(scores), t.grad_view(y), t.view(y));
    });
  }
  return y;
}

}  // namespace pesuite::ops
