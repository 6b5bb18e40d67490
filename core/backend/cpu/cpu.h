// The CPU backend: fp32, matrix products by oneDNN, everything else by kernels of our own that
// Highway compiles for SSE2, AVX2 and AVX-512 and picks at run time.
//
// The methods of CpuBackend stand in one file an op family. Threads share the work in chunks whose
// borders do not depend on their number, so that sums come out the same with any number.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/row_steps.h"
#include "backend/cpu/stored.h"
#include "backend/factory.h"
#include "base/error.h"

namespace pesuite {

using Index = std::int64_t;

inline const float* in(View v) {
  PES_CHECK(v.storage == Storage::own);
  return static_cast<const float*>(v.data);
}
inline float* out(Out o) {
  PES_CHECK(o.storage == Storage::own);
  return static_cast<float*>(o.data);
}

class Products;  // oneDNN's matrix products, products.h

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendOptions&);
  ~CpuBackend() override;

  std::string_view name() const override { return "cpu"; }
  std::string description() const override;
  std::size_t element_size() const override { return sizeof(float); }
  bool takes_starts() const override { return true; }
  std::int64_t query_step() const override { return cpu_query_step; }
  bool takes_bf16_weights() const override { return true; }
  Storage activations() const override { return bf16_ ? Storage::bf16 : Storage::own; }

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
  void dropout(Out y, View x, const Dropout&) override;
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
  void rotate_forward(Out y, View x, View cos, View sin, Pairs) override;
  void rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos, View sin,
                       Pairs) override;

  void matmul(Out c, View a, View b, bool transpose_a, bool transpose_b) override;
  void two_layers_forward(Out y, const TwoLayers&) override;
  void two_layers_backward(const TwoLayerGradients&, View dy, const TwoLayers&) override;
  void linear_forward(Out y, View x, View w, View bias, View residual) override;
  void linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w) override;

  void embed_forward(Out y, View table, const std::int32_t* tokens) override;
  void embed_backward(Out dtable, View dy, const std::int32_t* tokens) override;
  void heads_forward(Out q, Out k, Out v, View x, const Turn&, const Turn&) override;
  void heads_backward(Out dx, View dq, View dk, View dv, const Turn&, const Turn&) override;
  void norm_forward(Out y, Out stats, View x, View gain, View bias, Norm, double eps) override;
  void norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain, View stats,
                     Norm) override;
  void attention_forward(Out y, Out lse, const AttentionInput&) override;
  void attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View y,
                          View lse, const AttentionInput&) override;
  Shape packed_shape(const Shape& keys) const override;
  void pack_keys(Out packed, View keys) override;
  void score_rows_forward(Out scores, View q, View packed_k, Index first, double scale) override;
  void score_rows_backward(Out dq, Out dk, View dscores, View q, View k, Index first,
                           double scale) override;
  void mix_rows_forward(Out y, View p, View v, Index first) override;
  void mix_rows_backward(Out dp, Out dv, View dy, View p, View packed_v, Index first) override;
  void softmax_forward(Out y, View scores, Index first) override;
  void softmax_backward(Out dscores, View dy, View y) override;
  void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h, const Classifier&,
                const std::int32_t* targets, double weight) override;
  void adamw(Out norm, std::span<const Update>, const AdamW&) override;

 private:
  // body(first, last) over chunks of 0 .. n-1 whose borders are multiples of `grain`.
  template <class F>
  void parallel(Index n, Index grain, F body) {
    const Index chunks = (n + grain - 1) / grain;
    if (threads_ == 1 || chunks < 2) {
      body(Index{0}, n);
      return;
    }
#pragma omp parallel num_threads(threads_)
    {
      const Index t = omp_get_thread_num(), of = omp_get_num_threads();
      const Index first = chunks * t / of * grain,
                  last = std::min(n, chunks * (t + 1) / of * grain);
      if (first < last) body(first, last);
    }
  }
  // body(i, memory) for 0 .. n-1, on all threads, each with `floats` of working memory.
  template <class F>
  void each_group(Index n, std::size_t floats, F body) {
    parallel(n, 1, [&](Index first, Index last) {
      float* const memory = workspace(omp_get_thread_num(), floats);
      for (Index i = first; i < last; ++i) body(i, memory);
    });
  }
  bool attention_of_few(Out y, Out lse, const AttentionInput&);  // false: there are many
  void attention_forward_bf16(Out y, Out lse, const AttentionInput&);
  void attention_backward_bf16(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View y,
                               View lse, const AttentionInput&);
  // y (+)= x turned, both of `shape` [B, H, T, D]; direction 1, or -1 to turn back. rotate.cpp
  void turn_rows(Out y, RowSteps of_y, View x, RowSteps of_x, const Shape& shape, const Turn&,
                 float direction);
  void cumsum_rows(Out y, View x, Index n, bool reverse);  // of n elements, side by side
  // The rows of a take, last_axis.cpp.
  template <class Rows, class F>
  void each_part(const Rows& rows, F part);
  // c [M, N] (+)= a [M, K] b [K, N] where a is small and N long; false: not such a product.
  bool flat_product(float* c, const float* a, Index a_row, Index a_column, const float* b, Index M,
                    Index N, Index K, bool add);
  bool thin_product(Out y, View x, View w, View bias, View residual);  // false: it is none
  // The runs of a broadcast op, elementwise.cpp.
  template <class F>
  void each_run(const Shape& full, const Shape& a, const Shape& b, F body);
  // Adds up the columns of what body(row) yields: y [W] (+)= sum over rows of partial sums, in an
  // order that does not depend on the number of threads. body(first, last, partial [W]) adds the
  // rows first .. last-1 to a partial that starts at 0.
  template <class F>
  void sum_columns(Out y, Index rows, Index width, F body) {
    constexpr Index grain = 256;
    const Index chunks = (rows + grain - 1) / grain;
    std::vector<float>& partial = partials_;
    partial.assign(static_cast<std::size_t>(chunks * width), 0.0f);
    parallel(chunks, 1, [&](Index first, Index last) {
      for (Index c = first; c < last; ++c)
        body(c * grain, std::min(rows, (c + 1) * grain), partial.data() + c * width);
    });
    if (!y.add) std::fill_n(out(y), width, 0.0f);
    for (Index c = 0; c < chunks; ++c)
      for (Index i = 0; i < width; ++i)
        out(y)[i] += partial[static_cast<std::size_t>(c * width + i)];
  }
  static const char* kernels();  // the instruction set that ours are chosen for
  // Working memory of thread `t`, kept between calls.
  float* workspace(int thread, std::size_t floats);

  int threads_;
  bool bf16_ = false;  // attention multiplies in bf16
  std::unique_ptr<Products> products_;
  std::vector<float> partials_;
  std::vector<std::vector<float>> workspaces_;
};

}  // namespace pesuite
