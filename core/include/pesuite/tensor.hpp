// tensor.hpp -- tensors with operators. Included by pesuite.hpp.
#ifndef PESUITE_TENSOR_HPP_
#define PESUITE_TENSOR_HPP_

#include <pesuite/pesuite.h>

#include <cstdint>
#include <initializer_list>

namespace pes {

// A handle with the context it lives in. Shapes and rules of each op: pes_ops in pesuite.h.
struct Tensor {
  const pes_step* step = nullptr;
  pes_tensor id{};

  Tensor with(pes_tensor other) const { return {step, other}; }
  int rank() const {
    std::int64_t s[PES_MAX_RANK];
    return step->ops->shape(step->ctx, id, s);
  }
  std::int64_t extent(int axis) const {
    std::int64_t s[PES_MAX_RANK] = {};
    const int rank = step->ops->shape(step->ctx, id, s);
    const int i = axis < 0 ? axis + rank : axis;
    return i >= 0 && i < rank ? s[i] : 0;
  }
};

inline Tensor unary(pes_unary op, Tensor x) {
  return x.with(x.step->ops->unary(x.step->ctx, op, x.id));
}
inline Tensor exp(Tensor x) {
  return unary(PES_EXP, x);
}
inline Tensor log(Tensor x) {
  return unary(PES_LOG, x);
}
inline Tensor sin(Tensor x) {
  return unary(PES_SIN, x);
}
inline Tensor cos(Tensor x) {
  return unary(PES_COS, x);
}
inline Tensor tanh(Tensor x) {
  return unary(PES_TANH, x);
}
inline Tensor sigmoid(Tensor x) {
  return unary(PES_SIGMOID, x);
}
inline Tensor softplus(Tensor x) {
  return unary(PES_SOFTPLUS, x);
}
inline Tensor relu(Tensor x) {
  return unary(PES_RELU, x);
}
inline Tensor abs(Tensor x) {
  return unary(PES_ABS, x);
}
inline Tensor sqrt(Tensor x) {
  return unary(PES_SQRT, x);
}
inline Tensor floor(Tensor x) {
  return unary(PES_FLOOR, x);
}

inline Tensor binary(pes_binary op, Tensor a, Tensor b) {
  return a.with(a.step->ops->binary(a.step->ctx, op, a.id, b.id));
}
inline Tensor operator+(Tensor a, Tensor b) {
  return binary(PES_ADD, a, b);
}
inline Tensor operator-(Tensor a, Tensor b) {
  return binary(PES_SUB, a, b);
}
inline Tensor operator*(Tensor a, Tensor b) {
  return binary(PES_MUL, a, b);
}
inline Tensor operator/(Tensor a, Tensor b) {
  return binary(PES_DIV, a, b);
}
inline Tensor min(Tensor a, Tensor b) {
  return binary(PES_MIN, a, b);
}
inline Tensor max(Tensor a, Tensor b) {
  return binary(PES_MAX, a, b);
}

inline Tensor affine(Tensor x, double scale, double shift) {
  return x.with(x.step->ops->affine(x.step->ctx, x.id, scale, shift));
}
inline Tensor operator*(Tensor x, double s) {
  return affine(x, s, 0);
}
inline Tensor operator*(double s, Tensor x) {
  return affine(x, s, 0);
}
inline Tensor operator/(Tensor x, double s) {
  return affine(x, 1 / s, 0);
}
inline Tensor operator+(Tensor x, double s) {
  return affine(x, 1, s);
}
inline Tensor operator+(double s, Tensor x) {
  return affine(x, 1, s);
}
inline Tensor operator-(Tensor x, double s) {
  return affine(x, 1, -s);
}
inline Tensor operator-(double s, Tensor x) {
  return affine(x, -1, s);
}
inline Tensor operator-(Tensor x) {
  return affine(x, -1, 0);
}

inline Tensor matmul(Tensor a, Tensor b, bool transpose_b = false) {
  return a.with(a.step->ops->matmul(a.step->ctx, a.id, b.id, transpose_b));
}
inline Tensor sum(Tensor x, int axis) {
  return x.with(x.step->ops->sum(x.step->ctx, x.id, axis));
}
inline Tensor cumsum(Tensor x, int axis, bool reverse = false) {
  return x.with(x.step->ops->cumsum(x.step->ctx, x.id, axis, reverse));
}
inline Tensor reshape(Tensor x, std::initializer_list<std::int64_t> shape) {
  return x.with(
      x.step->ops->reshape(x.step->ctx, x.id, static_cast<int>(shape.size()), shape.begin()));
}
inline Tensor permute(Tensor x, std::initializer_list<int> axes) {
  return x.with(x.step->ops->permute(x.step->ctx, x.id, axes.begin()));
}
inline Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t length) {
  return x.with(x.step->ops->slice(x.step->ctx, x.id, axis, start, length));
}
inline Tensor concat(Tensor a, Tensor b, int axis) {
  return a.with(a.step->ops->concat(a.step->ctx, a.id, b.id, axis));
}
inline Tensor take(Tensor x, Tensor index) {
  return x.with(x.step->ops->take(x.step->ctx, x.id, index.id));
}
inline Tensor rows(Tensor x, Tensor index) {
  return x.with(x.step->ops->rows(x.step->ctx, x.id, index.id));
}
inline Tensor rotate(Tensor x, Tensor cos, Tensor sin, pes_pairs pairs = PES_PAIRS_HALF) {
  return x.with(x.step->ops->rotate(x.step->ctx, x.id, cos.id, sin.id, pairs));
}
inline Tensor interpolate(Tensor x, Tensor position) {
  const pes_ops* const ops = x.step->ops;
  if (!PES_HAS(ops, interpolate)) {
    ops->fail(x.step->ctx, "interpolate: this pesuite is older than plugin ABI 1.2, which has it");
    return x.with({});
  }
  return x.with(ops->interpolate(x.step->ctx, x.id, position.id));
}

}  // namespace pes

#endif  // PESUITE_TENSOR_HPP_
