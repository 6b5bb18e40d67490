// The oracle: every op in double, with the plainest loop that computes it. Nothing here is fast,
// and nothing here may be shared with the kernels that it judges.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numbers>
#include <vector>

#include "backend/factory.h"
#include "base/error.h"
#include "pesuite/random.hpp"

namespace pesuite {

namespace {

using Index = std::int64_t;

const double* in(View v) {
  return static_cast<const double*>(v.data);
}
double* out(Out o) {
  return static_cast<double*>(o.data);
}

void put(Out o, Index i, double value) {
  double& target = out(o)[i];
  target = o.add ? target + value : value;
}
// For kernels that scatter: afterwards every contribution is added.
Out accumulator(Out o) {
  if (o && !o.add) std::fill_n(out(o), o.shape.count(), 0.0);
  o.add = true;
  return o;
}

// Calls body(position in `shape`, offset in x, offset in y) for each element of `shape`.
template <class F>
void for_each(const Shape& shape, const Shape& x, const Shape& y, F body) {
  const Strides sx = broadcast_strides(x, shape), sy = broadcast_strides(y, shape);
  const Index count = shape.count();
  for (Index i = 0; i < count; ++i) {
    Index rest = i, ox = 0, oy = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const Index c = rest % shape[axis];
      rest /= shape[axis];
      ox += c * sx.s[axis];
      oy += c * sy.s[axis];
    }
    body(i, ox, oy);
  }
}

double apply(Unary op, double x) {
  switch (op) {
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::sin: return std::sin(x);
    case Unary::cos: return std::cos(x);
    case Unary::tanh: return std::tanh(x);
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::softplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::abs: return std::fabs(x);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::floor: return std::floor(x);
    case Unary::gelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  }
  return 0;
}
double derivative(Unary op, double x, double y) {
  switch (op) {
    case Unary::exp: return y;
    case Unary::log: return 1 / x;
    case Unary::sin: return std::cos(x);
    case Unary::cos: return -std::sin(x);
    case Unary::tanh: return 1 - y * y;
    case Unary::sigmoid: return y * (1 - y);
    case Unary::softplus: return 1 / (1 + std::exp(-x));
    case Unary::relu: return x > 0 ? 1 : 0;
    case Unary::abs: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Unary::sqrt: return y > 0 ? 0.5 / y : 0;
    case Unary::floor: return 0;
    case Unary::gelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
             x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  }
  return 0;
}

double apply(Binary op, double a, double b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::min: return b < a ? b : a;
    case Binary::max: return b > a ? b : a;
  }
  return 0;
}
double derivative_a(Binary op, double a, double b) {
  switch (op) {
    case Binary::add:
    case Binary::sub: return 1;
    case Binary::mul: return b;
    case Binary::div: return 1 / b;
    case Binary::min: return b < a ? 0 : 1;
    case Binary::max: return b > a ? 0 : 1;
  }
  return 0;
}
double derivative_b(Binary op, double a, double b) {
  switch (op) {
    case Binary::add: return 1;
    case Binary::sub: return -1;
    case Binary::mul: return a;
    case Binary::div: return -a / (b * b);
    case Binary::min: return b < a ? 1 : 0;
    case Binary::max: return b > a ? 1 : 0;
  }
  return 0;
}

// Factor, 0 or 1/(1-p), of element (row, column).
double kept(const Dropout& d, Index row, Index column) {
  const auto block =
      pes::philox4x32({static_cast<std::uint32_t>(column / 4), d.purpose,
                       static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)},
                      d.seed);
  return block[static_cast<std::size_t>(column % 4)] < pes::probability(d.p) ? 0 : 1 / (1 - d.p);
}

Index row_of(View index, Index i, Index rows) {
  return std::clamp<Index>(std::llround(in(index)[i]), 0, rows - 1);
}

class Reference final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "double precision, plain loops, 1 thread"; }
  std::size_t element_size() const override { return sizeof(double); }

  void* allocate(std::size_t bytes) override {
    void* p = std::malloc(std::max<std::size_t>(bytes, 1));
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  void upload(Out to, const double* from) override { std::copy_n(from, to.shape.count(), out(to)); }
  void upload(Out to, const float* from) override { std::copy_n(from, to.shape.count(), out(to)); }
  void upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) override {
    std::copy(from.begin(), from.end(), to);
  }
  void download(float* to, View from) override {
    for (Index i = 0; i < from.shape.count(); ++i) to[i] = static_cast<float>(in(from)[i]);
  }
  void download(double* to, View from) override { std::copy_n(in(from), from.shape.count(), to); }
  void download_tokens(std::span<std::int32_t> to, const std::int32_t* from) override {
    std::copy_n(from, to.size(), to.begin());
  }
  void fill(Out y, double value) override { std::fill_n(out(y), y.shape.count(), value); }

  void unary_forward(Out y, View x, Unary op) override {
    for (Index i = 0; i < x.shape.count(); ++i) put(y, i, apply(op, in(x)[i]));
  }
  void unary_backward(Out dx, View dy, View x, View y, Unary op) override {
    for (Index i = 0; i < x.shape.count(); ++i)
      put(dx, i, in(dy)[i] * derivative(op, in(x)[i], in(y)[i]));
  }
  void binary_forward(Out y, View a, View b, Binary op) override {
    for_each(y.shape, a.shape, b.shape,
             [&](Index i, Index ia, Index ib) { put(y, i, apply(op, in(a)[ia], in(b)[ib])); });
  }
  void binary_backward(Out da, Out db, View dy, View a, View b, Binary op) override {
    da = accumulator(da);
    db = accumulator(db);
    for_each(dy.shape, a.shape, b.shape, [&](Index i, Index ia, Index ib) {
      const double x = in(a)[ia], y = in(b)[ib], g = in(dy)[i];
      if (da) put(da, ia, g * derivative_a(op, x, y));
      if (db) put(db, ib, g * derivative_b(op, x, y));
    });
  }
  void affine(Out y, View x, double scale, double shift) override {
    for_each(y.shape, x.shape, {},
             [&](Index i, Index ix, Index) { put(y, i, scale * in(x)[ix] + shift); });
  }
  void dropout(Out y, View x, const Dropout& d) override {
    for (Index i = 0; i < x.shape.count(); ++i) put(y, i, in(x)[i] * kept(d, 0, i));
  }
  void gate_forward(Out y, View x) override {
    const Index F = y.shape[-1];
    for (Index i = 0; i < y.shape.count(); ++i) {
      const double g = in(x)[i / F * 2 * F + i % F], u = in(x)[i / F * 2 * F + F + i % F];
      put(y, i, g / (1 + std::exp(-g)) * u);
    }
  }
  void gate_backward(Out dx, View dy, View x) override {
    const Index F = dy.shape[-1];
    for (Index i = 0; i < dy.shape.count(); ++i) {
      const Index ig = i / F * 2 * F + i % F, iu = ig + F;
      const double g = in(x)[ig], u = in(x)[iu], s = 1 / (1 + std::exp(-g)), d = in(dy)[i];
      put(dx, ig, d * u * s * (1 + g * (1 - s)));
      put(dx, iu, d * g * s);
    }
  }

  void permute(Out y, View x, const int* axes) override {
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
  void copy(Out y, Index y_start, View x, Index x_start, int axis, Index length) override {
    const Index outer = x.shape.span(0, axis), inner = x.shape.span(axis + 1, x.shape.rank());
    for (Index o = 0; o < outer; ++o)
      for (Index i = 0; i < length; ++i)
        for (Index c = 0; c < inner; ++c)
          put(y, (o * y.shape[axis] + y_start + i) * inner + c,
              in(x)[(o * x.shape[axis] + x_start + i) * inner + c]);
  }
  void sum(Out y, View x, int axis) override {
    const Index outer = x.shape.span(0, axis), n = x.shape[axis],
                inner = x.shape.span(axis + 1, x.shape.rank());
    for (Index o = 0; o < outer; ++o)
      for (Index c = 0; c < inner; ++c) {
        double s = 0;
        for (Index i = 0; i < n; ++i) s += in(x)[(o * n + i) * inner + c];
        put(y, o * inner + c, s);
      }
  }
  void cumsum(Out y, View x, int axis, bool reverse) override {
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
  void take_forward(Out y, View x, View index) override {
    take(y.shape, x.shape, index, [&](Index i, Index source) { put(y, i, in(x)[source]); });
  }
  void take_backward(Out dx, View dy, View index) override {
    dx = accumulator(dx);
    take(dy.shape, dx.shape, index, [&](Index i, Index source) { put(dx, source, in(dy)[i]); });
  }
  void rows_forward(Out y, View x, View index) override {
    const Index n = x.shape.count() / x.shape[0];
    for (Index i = 0; i < index.shape.count(); ++i)
      for (Index c = 0; c < n; ++c) put(y, i * n + c, in(x)[row_of(index, i, x.shape[0]) * n + c]);
  }
  void rows_backward(Out dx, View dy, View index) override {
    dx = accumulator(dx);
    const Index n = dx.shape.count() / dx.shape[0];
    for (Index i = 0; i < index.shape.count(); ++i)
      for (Index c = 0; c < n; ++c)
        put(dx, row_of(index, i, dx.shape[0]) * n + c, in(dy)[i * n + c]);
  }
  void rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) override {
    rotate(x.shape, cos.shape, pairs, [&](Index a, Index b, Index t) {
      put(y, a, in(x)[a] * in(cos)[t] - in(x)[b] * in(sin)[t]);
      put(y, b, in(x)[b] * in(cos)[t] + in(x)[a] * in(sin)[t]);
    });
    pass(y, x, cos.shape[-1]);
  }
  void rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                       Pairs pairs) override {
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

  void matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) override {
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
  void linear_forward(Out y, View x, View w, View bias, View residual) override {
    const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
    for (Index n = 0; n < N; ++n)
      for (Index o = 0; o < O; ++o) {
        double s = (bias ? in(bias)[o] : 0) + (residual ? in(residual)[n * O + o] : 0);
        for (Index i = 0; i < I; ++i) s += in(x)[n * I + i] * in(w)[o * I + i];
        put(y, n * O + o, s);
      }
  }
  void linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) override {
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

  void embed_forward(Out y, View table, const std::int32_t* tokens) override {
    const Index W = table.shape[1];
    for (Index i = 0; i < y.shape.count(); ++i) put(y, i, in(table)[tokens[i / W] * W + i % W]);
  }
  void embed_backward(Out dtable, View dy, const std::int32_t* tokens) override {
    dtable = accumulator(dtable);
    const Index W = dtable.shape[1];
    for (Index i = 0; i < dy.shape.count(); ++i) put(dtable, tokens[i / W] * W + i % W, in(dy)[i]);
  }
  void heads_forward(Out q, Out k, Out v, View x) override {
    heads(x.shape, q.shape, k.shape, [&](Index i, int part, Index at) {
      put(part == 0 ? q : part == 1 ? k : v, at, in(x)[i]);
    });
  }
  void heads_backward(Out dx, View dq, View dk, View dv) override {
    heads(dx.shape, dq.shape, dk.shape, [&](Index i, int part, Index at) {
      const View d = part == 0 ? dq : part == 1 ? dk : dv;
      put(dx, i, d ? in(d)[at] : 0);
    });
  }
  void norm_forward(Out y, Out stats, View x, View gain, View bias, Norm kind,
                    double eps) override {
    const Index W = x.shape[-1], N = x.shape.count() / W;
    for (Index n = 0; n < N; ++n) {
      const double* r = in(x) + n * W;
      double mean = 0, variance = 0;
      if (kind == Norm::layer)
        for (Index i = 0; i < W; ++i) mean += r[i] / static_cast<double>(W);
      for (Index i = 0; i < W; ++i)
        variance += (r[i] - mean) * (r[i] - mean) / static_cast<double>(W);
      const double rstd = 1 / std::sqrt(variance + eps);
      out(stats)[2 * n] = mean;
      out(stats)[2 * n + 1] = rstd;
      for (Index i = 0; i < W; ++i)
        put(y, n * W + i,
            (r[i] - mean) * rstd * (gain ? in(gain)[i] : 1) + (bias ? in(bias)[i] : 0));
    }
  }
  void norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                     Norm kind) override {
    const Index W = x.shape[-1], N = x.shape.count() / W;
    dgain = accumulator(dgain);
    dbias = accumulator(dbias);
    for (Index n = 0; n < N; ++n) {
      const double mean = in(stats)[2 * n], rstd = in(stats)[2 * n + 1];
      double a = 0, b = 0;  // means of g and of g z, z the normalized input
      for (Index i = 0; i < W; ++i) {
        const double z = (in(x)[n * W + i] - mean) * rstd, d = in(dy)[n * W + i];
        const double g = d * (gain ? in(gain)[i] : 1);
        a += kind == Norm::layer ? g / static_cast<double>(W) : 0;
        b += g * z / static_cast<double>(W);
        if (dgain) put(dgain, i, d * z);
        if (dbias) put(dbias, i, d);
      }
      if (!dx) continue;
      for (Index i = 0; i < W; ++i) {
        const double z = (in(x)[n * W + i] - mean) * rstd;
        const double g = in(dy)[n * W + i] * (gain ? in(gain)[i] : 1);
        put(dx, n * W + i, rstd * (g - a - z * b));
      }
    }
  }

  void attention_forward(Out y, Out lse, const AttentionInput& a) override {
    const Sizes z(a);
    for (Index b = 0; b < z.B; ++b)
      for (Index h = 0; h < z.H; ++h)
        for (Index i = 0; i < z.T; ++i) {
          const std::vector<double> s = score_row(z, a, b, h, i);
          const double top = *std::max_element(s.begin(), s.end());
          double total = 0;
          for (const double x : s) total += std::exp(x - top);
          const double l = top + std::log(total);
          out(lse)[(b * z.H + h) * z.T + i] = l;
          for (Index e = 0; e < z.E; ++e) {
            double sum = 0;
            for (std::size_t j = 0; j < s.size(); ++j)
              sum += std::exp(s[j] - l) * mask(z, a, b, h, i, static_cast<Index>(j)) *
                     in(a.v)[((b * z.G + h / z.group) * z.S + static_cast<Index>(j)) * z.E + e];
            put(y, (b * z.T + i) * z.H * z.E + h * z.E + e, sum);
          }
        }
  }
  void attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View, View lse,
                          const AttentionInput& a) override {
    const Sizes z(a);
    dq = accumulator(dq);
    dk = accumulator(dk);
    dv = accumulator(dv);
    ddistance = accumulator(ddistance);
    dbias = accumulator(dbias);
    const Strides sb = broadcast_strides(a.bias.shape, {z.B, z.H, z.T, z.S});
    for (Index b = 0; b < z.B; ++b)
      for (Index h = 0; h < z.H; ++h)
        for (Index i = 0; i < z.T; ++i) {
          const std::vector<double> s = score_row(z, a, b, h, i);
          const double l = in(lse)[(b * z.H + h) * z.T + i];
          const double* g = in(dy) + (b * z.T + i) * z.H * z.E + h * z.E;
          std::vector<double> p(s.size()), dp(s.size());
          double delta = 0;
          for (std::size_t j = 0; j < s.size(); ++j) {
            const Index jj = static_cast<Index>(j);
            const Index kv = (b * z.G + h / z.group) * z.S + jj;
            const double keep = mask(z, a, b, h, i, jj);
            p[j] = std::exp(s[j] - l);
            for (Index e = 0; e < z.E; ++e) {
              dp[j] += keep * g[e] * in(a.v)[kv * z.E + e];
              if (dv) put(dv, kv * z.E + e, keep * p[j] * g[e]);
            }
            delta += p[j] * dp[j];
          }
          for (std::size_t j = 0; j < s.size(); ++j) {
            const Index jj = static_cast<Index>(j);
            const double ds = p[j] * (dp[j] - delta);
            const Index q = ((b * z.H + h) * z.T + i) * z.D,
                        k = ((b * z.G + h / z.group) * z.S + jj) * z.D;
            for (Index d = 0; d < z.D; ++d) {
              if (dq) put(dq, q + d, a.scale * ds * in(a.k)[k + d]);
              if (dk) put(dk, k + d, a.scale * ds * in(a.q)[q + d]);
            }
            if (ddistance)
              put(ddistance,
                  (a.distance.shape[0] > 1 ? h * a.distance.shape[1] : 0) + a.first + i - jj, ds);
            if (dbias) put(dbias, b * sb.s[0] + h * sb.s[1] + i * sb.s[2] + jj * sb.s[3], ds);
          }
        }
  }
  void softmax_forward(Out y, View scores, Index first) override {
    const Index S = scores.shape[-1], T = scores.shape[-2];
    for (Index r = 0; r < scores.shape.count() / S; ++r) {
      const Index visible = std::min(S, first + r % T + 1);
      const double* s = in(scores) + r * S;
      const double top = *std::max_element(s, s + visible);
      double total = 0;
      for (Index j = 0; j < visible; ++j) total += std::exp(s[j] - top);
      for (Index j = 0; j < S; ++j)
        put(y, r * S + j, j < visible ? std::exp(s[j] - top) / total : 0);
    }
  }
  void softmax_backward(Out ds, View dy, View y) override {
    const Index S = y.shape[-1];
    for (Index r = 0; r < y.shape.count() / S; ++r) {
      double delta = 0;
      for (Index j = 0; j < S; ++j) delta += in(y)[r * S + j] * in(dy)[r * S + j];
      for (Index j = 0; j < S; ++j)
        put(ds, r * S + j, in(y)[r * S + j] * (in(dy)[r * S + j] - delta));
    }
  }
  void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h, View w, View bias,
                const std::int32_t* targets, double weight) override {
    const Index W = w.shape[1], V = w.shape[0], N = h.shape.count() / W;
    dh = accumulator(dh);
    dw = accumulator(dw);
    dbias = accumulator(dbias);
    std::vector<double> z(static_cast<std::size_t>(V));
    for (Index n = 0; n < N; ++n) {
      for (Index c = 0; c < V; ++c) {
        double s = bias ? in(bias)[c] : 0;
        for (Index i = 0; i < W; ++i) s += in(h)[n * W + i] * in(w)[c * W + i];
        z[static_cast<std::size_t>(c)] = s;
      }
      const auto top = std::max_element(z.begin(), z.end());
      double total = 0;
      for (const double s : z) total += std::exp(s - *top);
      const double lse = *top + std::log(total);
      best[n] = static_cast<std::int32_t>(top - z.begin());
      put(nats, n, lse - z[static_cast<std::size_t>(targets[n])]);
      for (Index c = 0; c < V; ++c) {
        const double g =
            weight * (std::exp(z[static_cast<std::size_t>(c)] - lse) - (c == targets[n] ? 1 : 0));
        for (Index i = 0; i < W; ++i) {
          if (dh) put(dh, n * W + i, g * in(w)[c * W + i]);
          if (dw) put(dw, c * W + i, g * in(h)[n * W + i]);
        }
        if (dbias) put(dbias, c, g);
      }
    }
  }

  void adamw(Out norm, std::span<const Update> updates, const AdamW& o) override {
    double squares = 0;
    for (const Update& u : updates)
      for (Index i = 0; i < u.grad.shape.count(); ++i) squares += in(u.grad)[i] * in(u.grad)[i];
    const double total = std::sqrt(squares);
    out(norm)[0] = total;
    if (!std::isfinite(total)) return;
    const double factor = o.clip > 0 && total > o.clip ? o.clip / total : 1;
    const double c1 = 1 - std::pow(o.beta1, static_cast<double>(o.step)),
                 c2 = 1 - std::pow(o.beta2, static_cast<double>(o.step));
    for (const Update& u : updates)
      for (Index i = 0; i < u.grad.shape.count(); ++i) {
        const double g = in(u.grad)[i] * factor;
        double &m = out(u.m)[i], &v = out(u.v)[i], &x = out(u.value)[i];
        m = o.beta1 * m + (1 - o.beta1) * g;
        v = o.beta2 * v + (1 - o.beta2) * g * g;
        x -= o.lr * (m / c1 / (std::sqrt(v / c2) + o.eps) + u.weight_decay * x);
      }
  }

 private:
  struct Sizes {
    Index B, H, T, D, G, S, E, group;
    explicit Sizes(const AttentionInput& a)
        : B(a.q.shape[0]),
          H(a.q.shape[1]),
          T(a.q.shape[2]),
          D(a.q.shape[3]),
          G(a.k.shape[1]),
          S(a.k.shape[2]),
          E(a.v.shape[3]),
          group(H / G) {}
  };
  // Scores of query i against the keys it sees.
  static std::vector<double> score_row(const Sizes& z, const AttentionInput& a, Index b, Index h,
                                       Index i) {
    const Strides sb = broadcast_strides(a.bias.shape, {z.B, z.H, z.T, z.S});
    std::vector<double> s(static_cast<std::size_t>(std::min(z.S, a.first + i + 1)));
    for (std::size_t j = 0; j < s.size(); ++j) {
      const Index jj = static_cast<Index>(j);
      const double* q = in(a.q) + ((b * z.H + h) * z.T + i) * z.D;
      const double* k = in(a.k) + ((b * z.G + h / z.group) * z.S + jj) * z.D;
      for (Index d = 0; d < z.D; ++d) s[j] += q[d] * k[d];
      s[j] *= a.scale;
      if (a.distance)
        s[j] += in(
            a.distance)[(a.distance.shape[0] > 1 ? h * a.distance.shape[1] : 0) + a.first + i - jj];
      if (a.bias) s[j] += in(a.bias)[b * sb.s[0] + h * sb.s[1] + i * sb.s[2] + jj * sb.s[3]];
    }
    return s;
  }
  static double mask(const Sizes& z, const AttentionInput& a, Index b, Index h, Index i, Index j) {
    return a.dropout.p == 0 ? 1 : kept(a.dropout, (b * z.H + h) * z.T + i, j);
  }

  // body(i in x, 0 for q, 1 for k, 2 for v, place in it) for each element of x [B, T, C].
  template <class F>
  static void heads(const Shape& x, const Shape& q, const Shape& k, F body) {
    const Index T = x[1], C = x[2], D = q[3], H = q[1], G = k[1];
    for (Index i = 0; i < x.count(); ++i) {
      const Index b = i / C / T, t = i / C % T, d = i % C % D;
      Index h = i % C / D;
      int part = 0;
      Index heads = H;
      if (h >= H) {
        part = h < H + G ? 1 : 2;
        h -= part == 1 ? H : H + G;
        heads = G;
      }
      body(i, part, ((b * heads + h) * T + t) * D + d);
    }
  }
  // body(i in y, source in x) for each element of y [.., J], x [.., V], index [.., J].
  template <class F>
  static void take(const Shape& y, const Shape& x, View index, F body) {
    const Index V = x[-1];
    Shape rows = x;
    rows.at(-1) = 1;
    for_each(y, rows, index.shape,
             [&](Index i, Index row, Index at) { body(i, row * V + row_of(index, at, V)); });
  }
  template <class F>
  static void rotate(const Shape& x, const Shape& table, Pairs pairs, F body) {
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
  static void pass(Out y, View x, Index n) {  // features behind the pairs
    const Index D = x.shape[-1];
    for (Index i = 0; i < x.shape.count(); ++i)
      if (i % D >= 2 * n) put(y, i, in(x)[i]);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<Reference>();
}

}  // namespace pesuite
