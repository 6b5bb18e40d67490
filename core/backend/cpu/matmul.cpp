// Products of tensors and linear layers.
#include <algorithm>

#include "backend/cpu/bf16.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/products.h"
#include "backend/cpu/thin.h"
#include "base/error.h"

namespace pesuite {

namespace {

Shape leading(const Shape& s) {
  return Shape::of(s.rank() - 2, s.data());
}

}  // namespace

void CpuBackend::matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) {
  const Index M = c.shape[-2], N = c.shape[-1], K = transpose_a ? a.shape[-2] : a.shape[-1];
  const Shape la = leading(a.shape), lb = leading(b.shape), lc = leading(c.shape);
  const Shape lead = *broadcast(*broadcast(la, lb), lc);
  const Index batch = lead.count();
  Products::Call call{.batch = 1,
                      .M = M,
                      .N = N,
                      .K = K,
                      .a = {in(a), transpose_a},
                      .b = {in(b), transpose_b},
                      .c = out(c),
                      .add = c.add};
  const bool full_a = la.count() == batch, full_b = lb.count() == batch,
             full_c = lc.count() == batch;
  if (batch == 1 && !transpose_b &&
      flat_product(out(c), in(a), transpose_a ? 1 : K, transpose_a ? M : 1, in(b), M, N, K, c.add))
    return;
  if (full_c && (full_a || la.count() == 1) && (full_b || lb.count() == 1)) {
    if (lb.count() == 1 && full_a && !transpose_a) {  // one tall product
      call.M = batch * M;
    } else {
      call.batch = batch;
      call.one_a = !full_a;
      call.one_b = !full_b;
    }
    products_->run(call);
    return;
  }
  if (lc.count() == 1 && full_a && full_b && transpose_a && !transpose_b) {
    call.K = batch * K;  // a^T b summed over the batch: one deep product
    products_->run(call);
    return;
  }
  // the general case: one product at a time, summed into where c stands still
  const Strides sa = broadcast_strides(la, lead), sb = broadcast_strides(lb, lead),
                sc = broadcast_strides(lc, lead);
  thread_local std::vector<bool> written;  // kept: steps after the first allocate nothing
  written.assign(static_cast<std::size_t>(lc.count()), c.add);
  for (Index i = 0; i < batch; ++i) {
    Index rest = i, ia = 0, ib = 0, ic = 0;
    for (int axis = lead.rank() - 1; axis >= 0; --axis) {
      const Index at = rest % lead[axis];
      rest /= lead[axis];
      ia += at * sa.s[axis];
      ib += at * sb.s[axis];
      ic += at * sc.s[axis];
    }
    call.a.data = in(a) + ia * M * K;
    call.b.data = in(b) + ib * K * N;
    call.c = out(c) + ic * M * N;
    call.add = written[static_cast<std::size_t>(ic)];
    written[static_cast<std::size_t>(ic)] = true;
    products_->run(call);
  }
}

// y of few rows, by reading the weight once as it lies.
bool CpuBackend::thin_product(Out y, View x, View w, View bias, View residual) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  const bool unlike = bf16_ && w.storage != Storage::bf16;  // the other products would round it
  if (N > thin::most_rows || unlike || !thin::available(bf16_)) return false;
  thin::Product p{N, O, I, nullptr, w.data, w.storage, bf16_, in(bias), in(residual)};
  const Index inputs = N * I, outputs = y.storage == Storage::bf16 ? N * O : 0;
  float* const memory = workspace(0, static_cast<std::size_t>(inputs + outputs + thin::floats(p)));
  as_stored(x.data, x.storage, [&](auto* from) { std::copy_n(from, inputs, memory); });
  p.a = memory;
  float* const c = outputs > 0 ? memory + inputs : static_cast<float*>(y.data);
  float* const packed = memory + inputs + outputs;
  thin::prepare(p, packed);
  parallel(O, 48, [&](Index first, Index last) { thin::columns(p, packed, first, last, c); });
  if (outputs > 0) bf16::round(static_cast<std::uint16_t*>(y.data), c, outputs);
  return true;
}

void CpuBackend::linear_forward(Out y, View x, View w, View bias, View residual) {
  PES_CHECK(!y.add);
  if (thin_product(y, x, w, bias, residual)) return;
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  products_->run({.M = N,
                  .N = O,
                  .K = I,
                  .a = {x.data, false, x.storage},
                  .b = {w.data, true, w.storage},
                  .bias = in(bias),
                  .plus = in(residual),
                  .c = y.data,
                  .storage = y.storage});
}

void CpuBackend::linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) {
  const Index I = w.shape[1], O = w.shape[0], N = x.shape.count() / I;
  if (dx)
    products_->run({.M = N,
                    .N = I,
                    .K = O,
                    .a = {dy.data, false, dy.storage},
                    .b = {in(w), false},
                    .c = dx.data,
                    .storage = dx.storage,
                    .add = dx.add});
  if (dw)
    products_->run({.M = O,
                    .N = I,
                    .K = N,
                    .a = {dy.data, true, dy.storage},
                    .b = {x.data, false, x.storage},
                    .c = out(dw),
                    .add = dw.add});
  if (dbias)
    sum_columns(dbias, N, O, [&](Index first, Index last, float* partial) {
      as_stored(dy.data, dy.storage, [&](auto* from) {
        for (Index n = first; n < last; ++n)
          for (Index o = 0; o < O; ++o) partial[o] += from[n * O + o];
      });
    });
}

}  // namespace pesuite
