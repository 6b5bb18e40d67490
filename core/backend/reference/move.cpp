// Moving values, and sums.
#include <cstring>

#include "backend/reference/reference.h"

namespace pesuite::reference {

namespace {

Index row_of(View index, Index i, Index rows) {
  return std::clamp<Index>(std::llround(in(index)[i]), 0, rows - 1);
}

// body(i in part, i in x) for each element of part [B, H, T, D], which stands in x [B, T, C] from
// `column` on.
template <class F>
void heads(const Shape& part, const Shape& x, Index column, F body) {
  const Index H = part[1], T = part[2], D = part[3];
  for (Index i = 0; i < part.count(); ++i) {
    const Index d = i % D, t = i / D % T, h = i / D / T % H, b = i / D / T / H;
    body(i, (b * T + t) * x[2] + column + h * D + d);
  }
}
// body(i in y, source in x) for each element of y [.., J], x [.., V], index [.., J].
template <class F>
void take(const Shape& y, const Shape& x, View index, F body) {
  const Index V = x[-1];
  Shape rows = x;
  rows.at(-1) = 1;
  for_each(y, rows, index.shape,
           [&](Index i, Index row, Index at) { body(i, row * V + row_of(index, at, V)); });
}
// body(i in y, n and n + 1 in x, w, i in position) for each element of y [.., J]: the entries of
// x [.., V] between which its position lies, and its way from the first to the second. Behind the
// last entry there is none: it stands for both.
template <class F>
void interpolate(const Shape& y, const Shape& x, View position, F body) {
  const Index V = x[-1];
  Shape rows = x;
  rows.at(-1) = 1;
  for_each(y, rows, position.shape, [&](Index i, Index row, Index at) {
    const double p = std::clamp(in(position)[at], 0.0, static_cast<double>(V - 1));
    const Index n = p > 0 ? static_cast<Index>(p) : 0;  // of NaN: 0
    body(i, row * V + n, row * V + std::min(n + 1, V - 1), p - static_cast<double>(n), at);
  });
}
template <class F>
void rotate(const Shape& x, const Shape& table, Pairs pairs, F body) {
  const Index D = x[-1], n = table[-1];
  Shape lead = x, tables = table;
  lead.at(-1) = n;
  Shape ones = x;
  ones.at(-1) = 1;
  for_each(lead, ones, tables, [&](Index i, Index row, Index t) {
    const Index r = i % n, base = row * D;
    if (pairs == Pairs::half)
      body(base + r, base + r + n, t);
    else
      body(base + 2 * r, base + 2 * r + 1, t);
  });
}
void pass(Out y, View x, Index n) {  // features behind the pairs
  const Index D = x.shape[-1];
  for (Index i = 0; i < x.shape.count(); ++i)
    if (i % D >= 2 * n) put(y, i, in(x)[i]);
}

}  // namespace

void Reference::permute(Out y, View x, const int* axes) {
  Index stride[Shape::max_rank];
  for (int i = 0; i < x.shape.rank(); ++i) stride[i] = x.shape.span(i + 1, x.shape.rank());
  for (Index i = 0; i < y.shape.count(); ++i) {
    Index rest = i, source = 0;
    for (int axis = y.shape.rank() - 1; axis >= 0; --axis) {
      source += rest % y.shape[axis] * stride[axes[axis]];
      rest /= y.shape[axis];
    }
    put(y, i, in(x)[source]);
  }
}

void Reference::copy(Out y, Index y_start, View x, Index x_start, int axis, Index length) {
  const Index outer = x.shape.span(0, axis), inner = x.shape.span(axis + 1, x.shape.rank());
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < length; ++i)
      for (Index c = 0; c < inner; ++c)
        put(y, (o * y.shape[axis] + y_start + i) * inner + c,
            in(x)[(o * x.shape[axis] + x_start + i) * inner + c]);
}

void Reference::sum(Out y, View x, int axis) {
  const Index outer = x.shape.span(0, axis), n = x.shape[axis],
              inner = x.shape.span(axis + 1, x.shape.rank());
  for (Index o = 0; o < outer; ++o)
    for (Index c = 0; c < inner; ++c) {
      double s = 0;
      for (Index i = 0; i < n; ++i) s += in(x)[(o * n + i) * inner + c];
      put(y, o * inner + c, s);
    }
}

void Reference::cumsum(Out y, View x, int axis, bool reverse) {
  const Index outer = x.shape.span(0, axis), n = x.shape[axis],
              inner = x.shape.span(axis + 1, x.shape.rank());
  for (Index o = 0; o < outer; ++o)
    for (Index c = 0; c < inner; ++c) {
      double s = 0;
      for (Index i = 0; i < n; ++i) {
        const Index at = (o * n + (reverse ? n - 1 - i : i)) * inner + c;
        s += in(x)[at];
        put(y, at, s);
      }
    }
}

void Reference::take_forward(Out y, View x, View index) {
  take(y.shape, x.shape, index, [&](Index i, Index source) { put(y, i, in(x)[source]); });
}

void Reference::take_backward(Out dx, View dy, View index) {
  dx = accumulator(dx);
  take(dy.shape, dx.shape, index, [&](Index i, Index source) { put(dx, source, in(dy)[i]); });
}

void Reference::interpolate_forward(Out y, View x, View position) {
  interpolate(y.shape, x.shape, position, [&](Index i, Index low, Index high, double w, Index) {
    put(y, i, in(x)[low] + w * (in(x)[high] - in(x)[low]));
  });
}

void Reference::interpolate_backward(Out dx, Out dposition, View dy, View x, View position) {
  dx = accumulator(dx);
  dposition = accumulator(dposition);
  const auto last = static_cast<double>(x.shape[-1] - 1);
  interpolate(dy.shape, x.shape, position, [&](Index i, Index low, Index high, double w, Index at) {
    const double g = in(dy)[i], p = in(position)[at];
    if (dx) {
      put(dx, low, g * (1 - w));
      put(dx, high, g * w);
    }
    if (dposition && p >= 0 && p <= last) put(dposition, at, g * (in(x)[high] - in(x)[low]));
  });
}

void Reference::rows_forward(Out y, View x, View index) {
  const Index n = x.shape.count() / x.shape[0];
  for (Index i = 0; i < index.shape.count(); ++i)
    for (Index c = 0; c < n; ++c) put(y, i * n + c, in(x)[row_of(index, i, x.shape[0]) * n + c]);
}

void Reference::rows_backward(Out dx, View dy, View index, bool) {
  dx = accumulator(dx);
  const Index n = dx.shape.count() / dx.shape[0];
  for (Index i = 0; i < index.shape.count(); ++i)
    for (Index c = 0; c < n; ++c) put(dx, row_of(index, i, dx.shape[0]) * n + c, in(dy)[i * n + c]);
}

void Reference::rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) {
  rotate(x.shape, cos.shape, pairs, [&](Index a, Index b, Index t) {
    put(y, a, in(x)[a] * in(cos)[t] - in(x)[b] * in(sin)[t]);
    put(y, b, in(x)[b] * in(cos)[t] + in(x)[a] * in(sin)[t]);
  });
  pass(y, x, cos.shape[-1]);
}

void Reference::rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                                Pairs pairs) {
  dcos = accumulator(dcos);
  dsin = accumulator(dsin);
  rotate(x.shape, cos.shape, pairs, [&](Index a, Index b, Index t) {
    const double ga = in(dy)[a], gb = in(dy)[b];
    if (dx) {
      put(dx, a, ga * in(cos)[t] + gb * in(sin)[t]);
      put(dx, b, gb * in(cos)[t] - ga * in(sin)[t]);
    }
    if (dcos) put(dcos, t, ga * in(x)[a] + gb * in(x)[b]);
    if (dsin) put(dsin, t, gb * in(x)[a] - ga * in(x)[b]);
  });
  if (dx) pass(dx, dy, cos.shape[-1]);
}

void Reference::embed_forward(Out y, View table, const std::int32_t* tokens) {
  const Index W = table.shape[1];
  for (Index i = 0; i < y.shape.count(); ++i) put(y, i, in(table)[tokens[i / W] * W + i % W]);
}

void Reference::embed_backward(Out dtable, View dy, const std::int32_t* tokens) {
  dtable = accumulator(dtable);
  const Index W = dtable.shape[1];
  for (Index i = 0; i < dy.shape.count(); ++i) put(dtable, tokens[i / W] * W + i % W, in(dy)[i]);
}

void Reference::heads_forward(Out q, Out k, Out v, View x, const Turn& of_q, const Turn& of_k) {
  Index column = 0;
  const auto part = [&](Out y, const Turn& turn) {
    std::vector<double> plain(static_cast<std::size_t>(y.shape.count()));
    heads(y.shape, x.shape, column,
          [&](Index i, Index of_x) { plain[static_cast<std::size_t>(i)] = in(x)[of_x]; });
    column += y.shape[1] * y.shape[3];
    if (y && turn)
      rotate_forward(y, {plain.data(), y.shape}, turn.cos, turn.sin, turn.pairs);
    else if (y)
      for (Index i = 0; i < y.shape.count(); ++i) put(y, i, plain[static_cast<std::size_t>(i)]);
  };
  part(q, of_q), part(k, of_k), part(v, {});
}

void Reference::heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                               const Turn& of_k) {
  Index column = 0;
  const auto part = [&](View dy, const Turn& turn) {
    std::vector<double> plain(static_cast<std::size_t>(dy.shape.count()));
    if (dy && turn)
      rotate_backward({plain.data(), dy.shape}, {}, {}, dy, {nullptr, dy.shape}, turn.cos, turn.sin,
                      turn.pairs);
    else if (dy)
      std::copy_n(in(dy), plain.size(), plain.data());
    heads(dy.shape, dx.shape, column,
          [&](Index i, Index of_dx) { put(dx, of_dx, plain[static_cast<std::size_t>(i)]); });
    column += dy.shape[1] * dy.shape[3];
  };
  part(dq, of_q), part(dk, of_k), part(dv, {});
}

}  // namespace pesuite::reference
