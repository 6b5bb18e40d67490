// The ops, one function each: they check shapes, run the backend's kernel and record its backward.
// A null argument or a shape that does not fit gives the null handle; the tape keeps the first
// reason. What each op computes stands in pesuite.h (those that plugins may call) and in
// backend.h (those of the model).
#pragma once

#include "tensor/tape.h"

namespace pesuite::ops {

// ---- open to plugins
Tensor unary(Tape&, Unary, Tensor x);
Tensor binary(Tape&, Binary, Tensor a, Tensor b);
Tensor affine(Tape&, Tensor x, double scale, double shift);
Tensor matmul(Tape&, Tensor a, Tensor b, bool transpose_b);
Tensor sum(Tape&, Tensor x, int axis);
Tensor cumsum(Tape&, Tensor x, int axis, bool reverse);
Tensor reshape(Tape&, Tensor x, const Shape& shape);
Tensor permute(Tape&, Tensor x, const int* axes);
Tensor slice(Tape&, Tensor x, int axis, std::int64_t start, std::int64_t length);
Tensor concat(Tape&, Tensor a, Tensor b, int axis);
Tensor take(Tape&, Tensor x, Tensor index);
Tensor rows(Tape&, Tensor x, Tensor index);
Tensor rotate(Tape&, Tensor x, Tensor cos, Tensor sin, Pairs pairs);
Tensor interpolate(Tape&, Tensor x, Tensor position);

// ---- of the model
Tensor embed(Tape&, Tensor table, const std::int32_t* tokens, const Shape& batch);
// q [B, H, T, D], k and v [B, G, T, D] from x [B, T, (H + 2G) D]. Tape::now() makes them in one
// pass, with the rotate() of q or k that was asked for before. x's values are given back after
// that, or dropped by a caller that asks for nothing more.
struct Heads {
  Tensor q, k, v;
};
Heads split_heads(Tape&, Tensor x, int heads, int kv_heads);
// How to store them once they are made; ignored where they are made already.
void store_heads(Tape&, const Heads&, Storage);
// The storage is that of the result.
Tensor norm(Tape&, Tensor x, Tensor gain, Tensor bias, Norm kind, double eps,
            Storage = Storage::own);
// x [.., I] w^T [O, I] (+ bias [O]) (+ residual [.., O]) -> [.., O]
Tensor linear(Tape&, Tensor x, Tensor w, Tensor bias = {}, Tensor residual = {},
              Storage = Storage::own);
// x in the backend's own storage: itself where it is stored so.
Tensor own(Tape&, Tensor x);
Tensor gate(Tape&, Tensor x);                    // [.., 2F] -> [.., F]
Tensor softcapped(Tape&, Tensor x, double cap);  // cap tanh(x / cap); x where cap is 0
Tensor dropout(Tape&, Tensor x, const Dropout&);
Tensor softmax(Tape&, Tensor scores, std::int64_t first);

}  // namespace pesuite::ops
