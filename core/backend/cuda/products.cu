// What surrounds a matrix product: inputs rounded to 16 bits, products of tensors, linear layers.
#include "backend/cuda/cuda.h"

namespace pesuite::cuda {

namespace {

template <class Half, class T>
struct Round {
  Half* y;
  const T* x;
  Index batch, rows, row, columns, pitch;
  PESUITE_HD void operator()(Index i) const {
    Index c, r;
    const Index b = divide(divide(i, pitch, c), rows, r);
    y[i] = c < columns ? static_cast<Half>(static_cast<float>(x[b * batch + r * row + c]))
                       : Half(0.0f);
  }
};
template <class Half, class T>
struct RoundEight {  // the same, eight elements a thread, where rows are whole eights
  Half* y;
  const T* x;
  Index batch, rows, row, eights;
  PESUITE_HD void operator()(Index i) const {
    Index c, r;
    const Index b = divide(divide(i, eights, c), rows, r);
    store(y + 8 * i, some<8>(x + b * batch + r * row + 8 * c));
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

// An operand of rows x columns in bf16 or fp16 whose rows start at 16 bytes, without which the fast
// kernels do not take them: itself where it lies so, else a copy in `memory`.
Operand rounded(Storage half, Queue& queue, const Operand& o, Index batches, Index rows,
                Index columns, std::optional<Halves>& memory) {
  if (o.storage == half && starts_at_16_bytes(o.data) && o.row % 8 == 0 && o.batch % 8 == 0)
    return o;
  const Index matrices = o.batch == 0 ? 1 : batches, pitch = (columns + 7) / 8 * 8;
  memory.emplace(queue, matrices * rows * pitch);
  round_to(half, queue, memory->data(), o.data, o.storage, matrices, o.batch, rows, o.row, columns,
           pitch);
  return {memory->data(), pitch, o.transposed, o.batch == 0 ? 0 : rows * pitch, half};
}

}  // namespace

namespace {
template <class Half, class T>
void round_all(Queue& queue, Half* y, const T* x, Index batches, Index batch, Index rows, Index row,
               Index columns, Index pitch) {
  const bool whole = columns == pitch && row % 8 == 0 && batch % 8 == 0;
  by_eights(whole ? pitch : 1, {x, y}, [&]<int N>(Width<N>) {
    if constexpr (N == 8)
      queue.each(batches * rows * pitch / 8,
                 RoundEight<Half, T>{y, x, batch, rows, row, pitch / 8});
    else
      queue.each(batches * rows * pitch, Round<Half, T>{y, x, batch, rows, row, columns, pitch});
  });
}
}  // namespace

void round_to(Storage half, Queue& queue, void* y, const void* x, Storage storage, Index batches,
              Index batch, Index rows, Index row, Index columns, Index pitch) {
  by_half(half, [&]<class Half>(Half) {
    by_storage(storage, [&]<class T>(T) {
      round_all(queue, static_cast<Half*>(y), static_cast<const T*>(x), batches, batch, rows, row,
                columns, pitch);
    });
  });
}

Operand Products::prepared(Queue& queue, const Operand& o, Index rows, Index columns,
                           std::optional<Halves>& memory) const {
  const Storage half = rounded_by(precision_);
  return half == Storage::own ? o : rounded(half, queue, o, 1, rows, columns, memory);
}

void Products::run(Queue& queue, const Product& p) {
  const Storage half = rounded_by(precision_);
  if (half == Storage::own) {
    for (const Storage s : {p.a.storage, p.b.storage, p.storage}) check_storage(s == Storage::own);
    return multiply(queue, p);
  }
  std::optional<Halves> a, b, bias;
  Product halves = p;
  const auto half_of = [&](const Operand& o, Index rows, Index columns,
                           std::optional<Halves>& memory) {
    return rounded(half, queue, o, p.batches, o.transposed ? columns : rows,
                   o.transposed ? rows : columns, memory);
  };
  halves.a = half_of(p.a, p.M, p.K, a);
  halves.b = half_of(p.b, p.K, p.N, b);
  if (p.bias != nullptr && p.storage != Storage::own) {  // cuBLASLt wants the type of c
    bias.emplace(queue, p.N);
    round_to(p.storage, queue, bias->data(), p.bias, Storage::own, 1, 0, 1, p.N, p.N, p.N);
    halves.bias = bias->data();
  }
  multiply(queue, halves);
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
    const float *const left = in(a) + at[0] * M * K, *const right = in(b) + at[1] * K * N;
    Product p{M, N, K};
    p.a = {left, a.shape[-1], transpose_a, stride[0] * M * K};
    p.b = {right, b.shape[-1], transpose_b, stride[1] * K * N};
    p.write({target(c).data, c.shape, add}, at[2] * M * N, N, stride[2] * M * N);
    if (n > 1 && stride[0] == 1 && stride[1] == 0 && stride[2] == 1 && !transpose_a) {
      p.M = n * M;  // one tall product
    } else if (n > 1 && stride[0] == 1 && stride[1] == 1 && stride[2] == 0 && transpose_a &&
               !transpose_b) {
      p.K = n * K;  // a^T b summed over the batch: one deep product
    } else if (stride[2] != 0 || n == 1) {
      p.batches = n;
    } else {  // summed one after the other
      for (Index i = 0; i < n; ++i) {
        p.a.data = left + i * p.a.batch, p.b.data = right + i * p.b.batch;
        product(p);
        p.added = p.c;
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

Operand CudaBackend::weights(View w) {
  const Index I = w.shape[1], O = w.shape[0];
  const Operand as_it_is{in(w), I};
  const auto at = rounded_.find(w.data);
  if (settings_.precision != Precision::bf16 || I % 8 != 0 || at == rounded_.end()) return as_it_is;
  std::optional<Scratch<Bf16>>& copy = at->second;
  if (!copy) {
    copy.emplace(queue_, O * I);
    round_to(Storage::bf16, queue_, copy->data(), w.data, w.storage, 1, 0, O, I, I, I);
  }
  return {copy->data(), I, false, 0, Storage::bf16};
}

void CudaBackend::linear_forward(Out y, View x, View w, View bias, View residual) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  Product p{N, O, I};
  p.a = operand(x, 0, I);
  p.b = weights(w).exchanged();
  p.bias = in(bias);
  p.write(y, 0, O);
  if (residual) {
    float* const to = target(y).data;
    if (y.add)
      queue_.each(N * O, AddTo{to, in(residual)});
    else
      p.added = in(residual);
  }
  product(p);
}

void CudaBackend::linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  Operand g = operand(dy, 0, O);
  std::optional<Halves> memory;
  if (dx && dw) g = products_.prepared(queue_, g, N, O, memory);
  if (dx) {
    Product p{N, I, O, g, weights(w)};
    p.write(dx, 0, I);
    product(p);
  }
  if (dw) {
    Product p{O, I, N, g.exchanged(), operand(x, 0, I)};
    p.write({target(dw).data, dw.shape, dw.add}, 0, I);
    product(p);
  }
  if (dbias) sum_columns(target(dbias), dy, N, O);
}

}  // namespace pesuite::cuda
