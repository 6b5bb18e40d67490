// The oracle: every op in double, with the plainest loop that computes it. Nothing here is fast,
// and nothing here may be shared with the kernels that it judges.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/factory.h"
#include "pesuite/random.hpp"

namespace pesuite::reference {

using Index = std::int64_t;

inline const double* in(View v) {
  return static_cast<const double*>(v.data);
}
inline double* out(Out o) {
  return static_cast<double*>(o.data);
}

inline void put(Out o, Index i, double value) {
  double& target = out(o)[i];
  target = o.add ? target + value : value;
}
// For kernels that scatter: afterwards every contribution is added.
inline Out accumulator(Out o) {
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

// Factor, 0 or 1/(1-p), of element (row, column).
inline double kept(const Dropout& d, Index row, Index column) {
  const auto block =
      pes::philox4x32({static_cast<std::uint32_t>(column / 4), d.purpose,
                       static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)},
                      d.seed);
  return block[static_cast<std::size_t>(column % 4)] < pes::probability(d.p) ? 0 : 1 / (1 - d.p);
}

class Reference final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "double precision, plain loops, 1 thread"; }
  std::size_t element_size() const override { return sizeof(double); }
  bool takes_starts() const override { return true; }
  std::int64_t query_step() const override { return 1; }
  Storage activations() const override { return Storage::own; }

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(Out to, const double* from) override;
  void upload(Out to, const float* from) override;
  void upload_tokens(std::int32_t* to, std::span<const std::int32_t> from) override;
  void download(float* to, View from) override;
  void download(double* to, View from) override;
  void download_tokens(std::span<std::int32_t> to, const std::int32_t* from) override;
  void fill(Out y, double value) override;
  void unary_forward(Out y, View x, Unary op) override;
  void unary_backward(Out dx, View dy, View x, View y, Unary op) override;
  void binary_forward(Out y, View a, View b, Binary op) override;
  void binary_backward(Out da, Out db, View dy, View a, View b, Binary op) override;
  void affine(Out y, View x, double scale, double shift) override;
  void dropout(Out y, View x, const Dropout& d) override;
  void gate_forward(Out y, View x) override;
  void gate_backward(Out dx, View dy, View x) override;
  void permute(Out y, View x, const int* axes) override;
  void copy(Out y, Index y_start, View x, Index x_start, int axis, Index length) override;
  void sum(Out y, View x, int axis) override;
  void cumsum(Out y, View x, int axis, bool reverse) override;
  void take_forward(Out y, View x, View index) override;
  void take_backward(Out dx, View dy, View index) override;
  void interpolate_forward(Out y, View x, View position) override;
  void interpolate_backward(Out dx, Out dposition, View dy, View x, View position) override;
  void rows_forward(Out y, View x, View index) override;
  void rows_backward(Out dx, View dy, View index, bool rising) override;
  void rotate_forward(Out y, View x, View cos, View sin, Pairs pairs) override;
  void rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                       Pairs pairs) override;
  void matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) override;
  void two_layers_forward(Out y, const TwoLayers&) override;
  void two_layers_backward(const TwoLayerGradients&, View dy, const TwoLayers&) override;
  void linear_forward(Out y, View x, View w, View bias, View residual) override;
  void linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) override;
  void embed_forward(Out y, View table, const std::int32_t* tokens) override;
  void embed_backward(Out dtable, View dy, const std::int32_t* tokens) override;
  void heads_forward(Out q, Out k, Out v, View x, const Turn&, const Turn&) override;
  void heads_backward(Out dx, View dq, View dk, View dv, const Turn&, const Turn&) override;
  void norm_forward(Out y, Out stats, View x, View gain, View bias, Norm kind, double eps) override;
  void norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                     Norm kind) override;
  void attention_forward(Out y, Out lse, const AttentionInput& a) override;
  void attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View, View lse,
                          const AttentionInput& a) override;
  Shape packed_shape(const Shape& keys) const override;
  void pack_keys(Out packed, View keys) override;
  void score_rows_forward(Out scores, View q, View packed_k, Index first, double scale) override;
  void score_rows_backward(Out dq, Out dk, View dscores, View q, View k, Index first,
                           double scale) override;
  void mix_rows_forward(Out y, View p, View v, Index first) override;
  void mix_rows_backward(Out dp, Out dv, View dy, View p, View packed_v, Index first) override;
  void softmax_forward(Out y, View scores, Index first) override;
  void softmax_backward(Out ds, View dy, View y) override;
  void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h, const Classifier&,
                const std::int32_t* targets, double weight) override;
  void adamw(Out norm, std::span<const Update> updates, const AdamW& o) override;
};

}  // namespace pesuite::reference
