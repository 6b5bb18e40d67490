// What surrounds a matrix product: inputs rounded to bf16, products of tensors, linear layers.
#include <cuda_bf16.h>

#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

struct Round {
  __nv_bfloat16* y;
  const float* x;
  Index batch, rows, row, columns, pitch;
  PESUITE_HD void operator()(Index i) const {
    Index c, r;
    const Index b = divide(divide(i, pitch, c), rows, r);
    y[i] = __nv_bfloat16(c < columns ? x[b * batch + r * row + c] : 0.0f);
  }
};
struct AddTo {
  float* y;
  const float* x;
  PESUITE_HD void operator()(Index i) const { y[i] += x[i]; }
};

Shape leading_axes(const Shape& s) {
  return Shape::of(s.rank() - 2, s.data());
}

}  // namespace

void round_to_bf16(Queue& queue, void* y, const float* x, Index batches, Index batch, Index rows,
                   Index row, Index columns, Index pitch) {
  queue.each(batches * rows * pitch,
             Round{static_cast<__nv_bfloat16*>(y), x, batch, rows, row, columns, pitch});
}

void Products::run(Queue& queue, const Product& p) {
  if (precision_ == Precision::fp32) return multiply(queue, p, p.a.data, p.b.data);
  Product rounded = p;
  // Rows start at 16 bytes, without which the fast kernels do not take them.
  const auto lay_out = [&](Operand& o, Index rows, Index columns) {
    const Index matrices = o.batch == 0 ? 1 : p.batches;
    o.row = (columns + 7) / 8 * 8;
    o.batch = o.batch == 0 ? 0 : rows * o.row;
    return matrices * rows * o.row;
  };
  const Index a_rows = p.a.transposed ? p.K : p.M, a_columns = p.a.transposed ? p.M : p.K;
  const Index b_rows = p.b.transposed ? p.N : p.K, b_columns = p.b.transposed ? p.K : p.N;
  const Scratch<__nv_bfloat16> a(queue, lay_out(rounded.a, a_rows, a_columns));
  const Scratch<__nv_bfloat16> b(queue, lay_out(rounded.b, b_rows, b_columns));
  round_to_bf16(queue, a.data(), p.a.data, p.a.batch == 0 ? 1 : p.batches, p.a.batch, a_rows,
                p.a.row, a_columns, rounded.a.row);
  round_to_bf16(queue, b.data(), p.b.data, p.b.batch == 0 ? 1 : p.batches, p.b.batch, b_rows,
                p.b.row, b_columns, rounded.b.row);
  multiply(queue, rounded, a.data(), b.data());
}

void CudaBackend::matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) {
  const Index M = c.shape[-2], N = c.shape[-1], K = transpose_a ? a.shape[-2] : a.shape[-1];
  const Shape la = leading_axes(a.shape), lb = leading_axes(b.shape), lc = leading_axes(c.shape);
  const Shape lead = *broadcast(*broadcast(la, lb), lc);
  const Walk<3> w = walk<3>(lead, {la, lb, lc});  // in matrices; of rank 2 at most
  const Index* const stride = w.stride[0];
  const Index n = w.rank > 0 ? w.extent[0] : 1;
  // The inner axis of the walk, from offsets `at` on.
  const auto inner = [&](const Index(&at)[3], bool add) {
    float* const to = target(c).data + at[2] * M * N;
    Product p{M, N, K};
    p.a = {in(a) + at[0] * M * K, a.shape[-1], transpose_a, stride[0] * M * K};
    p.b = {in(b) + at[1] * K * N, b.shape[-1], transpose_b, stride[1] * K * N};
    p.c = to, p.c_row = N, p.c_batch = stride[2] * M * N;
    p.added = add ? to : nullptr;
    if (n > 1 && stride[0] == 1 && stride[1] == 0 && stride[2] == 1 && !transpose_a) {
      p.M = n * M;  // one tall product
    } else if (n > 1 && stride[0] == 1 && stride[1] == 1 && stride[2] == 0 && transpose_a &&
               !transpose_b) {
      p.K = n * K;  // a^T b summed over the batch: one deep product
    } else if (stride[2] != 0 || n == 1) {
      p.batches = n;
    } else {  // summed one after the other
      for (Index i = 0; i < n; ++i) {
        product(p);
        p.a.data += p.a.batch, p.b.data += p.b.batch;
        p.added = to;
      }
      return;
    }
    product(p);
  };
  if (w.rank < 2) return inner({0, 0, 0}, c.add);
  const Index* const outer = w.stride[1];
  for (Index i = 0; i < w.extent[1]; ++i)
    inner({i * outer[0], i * outer[1], i * outer[2]}, c.add || (i > 0 && outer[2] == 0));
}

namespace {
Shape with_rows(Shape s, Index rows) {
  s.at(-2) = rows;
  return s;
}
Shape with_columns(Shape s, Index columns) {
  s.at(-1) = columns;
  return s;
}
}  // namespace

void CudaBackend::hidden_layer(Out h, const TwoLayers& m) {
  matmul(h, m.w1, m.x, false, false);
  if (m.b1) binary_forward(h, h.view(), m.b1, Binary::add);
  unary_forward(h, h.view(), Unary::relu);
}
void CudaBackend::two_layers_forward(Out y, const TwoLayers& m) {
  const Shape hidden = with_rows(y.shape, m.w1.shape[-2]);
  const Scratch<float> memory(queue_, hidden.count());
  const Out h{memory.data(), hidden};
  hidden_layer(h, m);
  matmul(y, m.w2, h.view(), false, false);
  if (m.b2) affine({y.data, y.shape, true}, m.b2, 1, 0);
}
void CudaBackend::two_layers_backward(const TwoLayerGradients& g, View dy, const TwoLayers& m) {
  const Shape hidden = with_rows(dy.shape, m.w1.shape[-2]);
  const int columns = hidden.rank() - 1;
  const Scratch<float> memory(queue_, hidden.count()), more(queue_, hidden.count());
  const Out h{memory.data(), hidden}, dh{more.data(), hidden};
  hidden_layer(h, m);
  if (g.w2) matmul(g.w2, dy, h.view(), false, true);
  if (g.b2) sum({g.b2.data, with_columns(dy.shape, 1), g.b2.add}, dy, columns);
  matmul(dh, m.w2, dy, true, false);
  unary_backward(dh, dh.view(), h.view(), h.view(), Unary::relu);
  if (g.w1) matmul(g.w1, dh.view(), m.x, false, true);
  if (g.b1) sum({g.b1.data, with_columns(hidden, 1), g.b1.add}, dh.view(), columns);
  if (g.x) matmul(g.x, m.w1, dh.view(), true, false);
}

void CudaBackend::linear_forward(Out y, View x, View w, View bias, View residual) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  Product p{N, O, I};
  p.a = {in(x), I};
  p.b = {in(w), I, true};
  p.c = target(y).data, p.c_row = O;
  p.bias = in(bias);
  p.added = y.add ? p.c : in(residual);
  if (y.add && residual) queue_.each(N * O, AddTo{p.c, in(residual)});
  product(p);
}

void CudaBackend::linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  if (dx) {
    Product p{N, I, O, {in(dy), O}, {in(w), I}, target(dx).data, I};
    p.added = dx.add ? p.c : nullptr;
    product(p);
  }
  if (dw) {
    Product p{O, I, N, {in(dy), O, true}, {in(x), I}, target(dw).data, I};
    p.added = dw.add ? p.c : nullptr;
    product(p);
  }
  if (dbias) sum_columns(target(dbias), in(dy), N, O);
}

}  // namespace pesuite::cuda
