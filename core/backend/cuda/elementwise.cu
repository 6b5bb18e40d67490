// Element by element.
#include <cmath>

#include "backend/cuda/cuda.h"
#include "pesuite/random.hpp"

namespace pesuite::cuda {

namespace {

constexpr float root_half = 0.70710678118654752f, inverse_root_2pi = 0.39894228040143268f;

PESUITE_HD float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

constexpr float twice_root_2_pi = 1.5957691216057308f, cubic_of_gelu = 0.044715f;
// (1 + tanh u) / 2 = sigmoid(2 u)
PESUITE_HD float twice_inner_of_gelu(float x) {
  return twice_root_2_pi * (x + cubic_of_gelu * x * x * x);
}

PESUITE_HD float apply(Unary op, float x) {
  switch (op) {
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::sin: return std::sin(x);
    case Unary::cos: return std::cos(x);
    case Unary::tanh: return std::tanh(x);
    case Unary::sigmoid: return sigmoid(x);
    case Unary::softplus: return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::abs: return std::fabs(x);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::floor: return std::floor(x);
    case Unary::gelu: return 0.5f * x * (1 + std::erf(x * root_half));
    case Unary::gelu_tanh: return x * sigmoid(twice_inner_of_gelu(x));
  }
  return 0;
}
PESUITE_HD float derivative(Unary op, float x, float y) {
  switch (op) {
    case Unary::exp: return y;
    case Unary::log: return 1 / x;
    case Unary::sin: return std::cos(x);
    case Unary::cos: return -std::sin(x);
    case Unary::tanh: return 1 - y * y;
    case Unary::sigmoid: return y * (1 - y);
    case Unary::softplus: return sigmoid(x);
    case Unary::relu: return x > 0 ? 1 : 0;
    case Unary::abs: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Unary::sqrt: return y > 0 ? 0.5f / y : 0;
    case Unary::floor: return 0;
    case Unary::gelu:
      return 0.5f * (1 + std::erf(x * root_half)) + x * std::exp(-0.5f * x * x) * inverse_root_2pi;
    case Unary::gelu_tanh: {
      const float s = sigmoid(twice_inner_of_gelu(x));
      return s + x * s * (1 - s) * twice_root_2_pi * (1 + 3 * cubic_of_gelu * x * x);
    }
  }
  return 0;
}

PESUITE_HD float apply(Binary op, float a, float b) {
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
PESUITE_HD float derivative_a(Binary op, float a, float b) {
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
PESUITE_HD float derivative_b(Binary op, float a, float b) {
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

template <class T>
struct Fill {
  TargetOf<T> y;
  float value;
  PESUITE_HD void operator()(Index i) const { y.put(i, value); }
};
template <class T>
struct UnaryForward {
  TargetOf<T> y;
  const T* x;
  Unary op;
  PESUITE_HD void operator()(Index i) const { y.put(i, apply(op, static_cast<float>(x[i]))); }
};
template <class T>
struct UnaryBackward {
  TargetOf<T> dx;
  const T *dy, *x, *y;
  Unary op;
  PESUITE_HD void operator()(Index i) const {
    const float d = dy[i];
    dx.put(i, d * derivative(op, x[i], y[i]));
  }
};
struct BinaryForward {
  Target y;
  const float *a, *b;
  Walk<2> walk;
  Binary op;
  PESUITE_HD void operator()(Index i) const {
    Index at[2];
    walk.at(i, at);
    y.put(i, apply(op, a[at[0]], b[at[1]]));
  }
};
// Of one of the two inputs: a term is an element of y that the input's element takes part in.
struct BinaryBackward {
  const float *dy, *a, *b;
  Parts<3> parts;  // of y, a, b
  Binary op;
  bool of_a;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index own[3], more[3];
    parts.own.at(o, own);
    parts.repeated.at(term, more);
    const float x = a[own[1] + more[1]], y = b[own[2] + more[2]];
    return dy[own[0] + more[0]] * (of_a ? derivative_a(op, x, y) : derivative_b(op, x, y));
  }
};
template <class To, class From>
struct Affine {
  TargetOf<To> y;
  const From* x;
  Walk<1> walk;
  float scale, shift;
  PESUITE_HD void operator()(Index i) const {
    Index at[1];
    walk.at(i, at);
    const float from = x[at[0]];
    y.put(i, scale * from + shift);
  }
};
struct Drop {  // four elements, which share a block of random numbers
  Target y;
  const float* x;
  Index count;
  std::uint64_t seed, threshold;
  std::uint32_t purpose;
  float factor;
  PESUITE_HD void operator()(Index four) const {
    const auto random = pes::philox4x32({static_cast<std::uint32_t>(four), purpose, 0u, 0u}, seed);
    for (std::size_t k = 0; k < 4; ++k) {
      const Index i = 4 * four + static_cast<Index>(k);
      if (i < count) y.put(i, random[k] < threshold ? 0 : x[i] * factor);
    }
  }
};
template <class T, int N>
struct GateForward {  // N elements a thread
  TargetOf<T> y;
  const T* x;
  Index F;
  PESUITE_HD void operator()(Index i) const {
    Index column;
    const Index line = divide(i, F / N, column);
    const T* const row = x + line * 2 * F + column * N;
    Some<N> g = some<N>(row);
    const Some<N> u = some<N>(row + F);
    for (int k = 0; k < N; ++k) g.x[k] *= sigmoid(g.x[k]) * u.x[k];
    put(y, i * N, g);
  }
};
template <class T, int N>
struct GateBackward {
  TargetOf<T> dx;
  const T *dy, *x;
  Index F;
  PESUITE_HD void operator()(Index i) const {
    Index column;
    const Index line = divide(i, F / N, column), at = line * 2 * F + column * N;
    const Some<N> d = some<N>(dy + i * N);
    Some<N> g = some<N>(x + at), u = some<N>(x + at + F);
    for (int k = 0; k < N; ++k) {
      const float from = g.x[k], s = sigmoid(from);
      g.x[k] = d.x[k] * u.x[k] * s * (1 + from * (1 - s));
      u.x[k] = d.x[k] * from * s;
    }
    put(dx, at, g);
    put(dx, at + F, u);
  }
};

}  // namespace

void CudaBackend::fill(Out y, double value) {
  y.add = false;
  by_storage(y.storage, [&]<class T>(T) {
    queue_.each(y.shape.count(), Fill<T>{target<T>(y), static_cast<float>(value)});
  });
}

void CudaBackend::unary_forward(Out y, View x, Unary op) {
  by_storage(x.storage, [&]<class T>(T) {
    queue_.each(x.shape.count(), UnaryForward<T>{target<T>(y), in<T>(x), op});
  });
}
void CudaBackend::unary_backward(Out dx, View dy, View x, View y, Unary op) {
  by_storage(x.storage, [&]<class T>(T) {
    queue_.each(x.shape.count(),
                UnaryBackward<T>{target<T>(dx), in<T>(dy), in<T>(x), in<T>(y), op});
  });
}

void CudaBackend::binary_forward(Out y, View a, View b, Binary op) {
  queue_.each(y.shape.count(),
              BinaryForward{target(y), in(a), in(b), walk<2>(y.shape, {a.shape, b.shape}), op});
}
void CudaBackend::binary_backward(Out da, Out db, View dy, View a, View b, Binary op) {
  for (const bool of_a : {true, false}) {
    const Out to = of_a ? da : db;
    if (!to) continue;
    const BinaryBackward f{
        in(dy), in(a),
        in(b),  parts<3>(dy.shape, of_a ? a.shape : b.shape, {dy.shape, a.shape, b.shape}),
        op,     of_a};
    const Walk<3>& terms = f.parts.repeated;
    if (terms.rank > 0 && terms.stride[0][0] == 1)
      reduce_rows(queue_, target(to), to.shape.count(), terms.count(), f);
    else
      reduce(queue_, target(to), to.shape.count(), terms.count(), f);
  }
}

void CudaBackend::affine(Out y, View x, double scale, double shift) {
  by_storage(y.storage, [&]<class To>(To) {
    by_storage(x.storage, [&]<class From>(From) {
      queue_.each(y.shape.count(),
                  Affine<To, From>{target<To>(y), in<From>(x), walk<1>(y.shape, {x.shape}),
                                   static_cast<float>(scale), static_cast<float>(shift)});
    });
  });
}

void CudaBackend::dropout(Out y, View x, const Dropout& d) {
  const Index n = x.shape.count();
  queue_.each((n + 3) / 4, Drop{target(y), in(x), n, d.seed, pes::probability(d.p), d.purpose,
                                static_cast<float>(1 / (1 - d.p))});
}

void CudaBackend::gate_forward(Out y, View x) {
  by_storage(x.storage, [&]<class T>(T) {
    by_eights(y.shape[-1], {y.data, x.data}, [&]<int N>(Width<N>) {
      queue_.each(y.shape.count() / N, GateForward<T, N>{target<T>(y), in<T>(x), y.shape[-1]});
    });
  });
}
void CudaBackend::gate_backward(Out dx, View dy, View x) {
  by_storage(x.storage, [&]<class T>(T) {
    by_eights(dy.shape[-1], {dx.data, dy.data, x.data}, [&]<int N>(Width<N>) {
      queue_.each(dy.shape.count() / N,
                  GateBackward<T, N>{target<T>(dx), in<T>(dy), in<T>(x), dy.shape[-1]});
    });
  });
}

}  // namespace pesuite::cuda
