// Element by element.
#include <numbers>

#include "backend/reference/reference.h"

namespace pesuite::reference {

namespace {

const double inner_of_gelu = std::sqrt(2 / std::numbers::pi);
constexpr double cubic_of_gelu = 0.044715;

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
    case Unary::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(inner_of_gelu * (x + cubic_of_gelu * x * x * x)));
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
    case Unary::gelu_tanh: {
      const double t = std::tanh(inner_of_gelu * (x + cubic_of_gelu * x * x * x));
      return 0.5 * (1 + t) +
             0.5 * x * (1 - t * t) * inner_of_gelu * (1 + 3 * cubic_of_gelu * x * x);
    }
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

}  // namespace

void Reference::unary_forward(Out y, View x, Unary op) {
  for (Index i = 0; i < x.shape.count(); ++i) put(y, i, apply(op, in(x)[i]));
}

void Reference::unary_backward(Out dx, View dy, View x, View y, Unary op) {
  for (Index i = 0; i < x.shape.count(); ++i)
    put(dx, i, in(dy)[i] * derivative(op, in(x)[i], in(y)[i]));
}

void Reference::binary_forward(Out y, View a, View b, Binary op) {
  for_each(y.shape, a.shape, b.shape,
           [&](Index i, Index ia, Index ib) { put(y, i, apply(op, in(a)[ia], in(b)[ib])); });
}

void Reference::binary_backward(Out da, Out db, View dy, View a, View b, Binary op) {
  da = accumulator(da);
  db = accumulator(db);
  for_each(dy.shape, a.shape, b.shape, [&](Index i, Index ia, Index ib) {
    const double x = in(a)[ia], y = in(b)[ib], g = in(dy)[i];
    if (da) put(da, ia, g * derivative_a(op, x, y));
    if (db) put(db, ib, g * derivative_b(op, x, y));
  });
}

void Reference::affine(Out y, View x, double scale, double shift) {
  for_each(y.shape, x.shape, {},
           [&](Index i, Index ix, Index) { put(y, i, scale * in(x)[ix] + shift); });
}

void Reference::dropout(Out y, View x, const Dropout& d) {
  for (Index i = 0; i < x.shape.count(); ++i) put(y, i, in(x)[i] * kept(d, 0, i));
}

void Reference::gate_forward(Out y, View x) {
  const Index F = y.shape[-1];
  for (Index i = 0; i < y.shape.count(); ++i) {
    const double g = in(x)[i / F * 2 * F + i % F], u = in(x)[i / F * 2 * F + F + i % F];
    put(y, i, g / (1 + std::exp(-g)) * u);
  }
}

void Reference::gate_backward(Out dx, View dy, View x) {
  const Index F = dy.shape[-1];
  for (Index i = 0; i < dy.shape.count(); ++i) {
    const Index ig = i / F * 2 * F + i % F, iu = ig + F;
    const double g = in(x)[ig], u = in(x)[iu], s = 1 / (1 + std::exp(-g)), d = in(dy)[i];
    put(dx, ig, d * u * s * (1 + g * (1 - s)));
    put(dx, iu, d * g * s);
  }
}

}  // namespace pesuite::reference
