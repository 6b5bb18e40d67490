// The CUDA backend. Numbers are stored in fp32; with products in bf16, activations beside them in
// bf16; products in fp16 read copies that are made for them. cuBLASLt makes products, cuDNN
// attention where it accepts it, our own kernels everything else. Nothing waits for the device but
// downloads.
//
// The methods of CudaBackend stand in one file an op family, kernels beside the methods that launch
// them. Tests build these files for the host as well (queue.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/fused.h"
#include "backend/cuda/products.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/reduce.h"
#include "backend/cuda/tiled_attention.h"
#include "backend/cuda/walk.h"

namespace pesuite::cuda {

struct CudaSettings {
  int device = 0;
  Precision precision = Precision::fp32;
  std::string description;
  std::size_t graph_launches = 0;  // that are started together at most (launches.h)
  bool in_order = true;  // gradients of fused attention are summed in one order, run after run
  // Numbers in a block of scores, of composed attention and of the classifier; a rewriter, which
  // keeps many of them, makes a part of it at a time.
  Index block = Index{1} << 26;
};

constexpr Index blocks_of_a_rewriter = 8;

struct AdamRow {  // of a parameter, in the table that the optimiser's kernels read
  float *value, *m, *v;
  const float* grad;
  Bf16* rounded;  // null, or a copy of the value that is kept up to date
  Index count;
  Index first;  // of its blocks, which follow each other
  float weight_decay;
  bool operator==(const AdamRow&) const = default;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaSettings&);
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;
  ~CudaBackend() override { queue_.drop_launches(); }
  // Attention in one kernel goes to `runner`. Without one all of it is composed.
  void use(std::unique_ptr<GraphRunner> runner) { runner_ = std::move(runner); }
  void compose(std::string why) { why_composed_ = std::move(why); }
  Queue& queue() { return queue_; }

  std::string_view name() const override { return "cuda"; }
  std::string description() const override { return settings_.description; }
  std::size_t element_size() const override { return sizeof(float); }
  Storage activations() const override {
    return settings_.precision == Precision::bf16 ? Storage::bf16 : Storage::own;
  }
  bool rounds_to_fp16() const override { return settings_.precision == Precision::fp16; }
  std::string attention_route() const override { return route_; }
  Index scores_at_a_time() const override {
    return std::max<Index>(settings_.block / blocks_of_a_rewriter, 1);
  }
  bool takes_slopes() const override { return runner_ != nullptr; }
  // cuDNN's attention is compiled for each length, in a second.
  std::int64_t length_step() const override { return runner_ != nullptr ? 64 : 1; }
  void wait() override { queue_.wait(); }
  double elapsed(const std::function<void()>& body) override { return queue_.elapsed(body); }

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
  Shape packed_shape(const Shape& keys) const override { return keys; }
  void pack_keys(Out packed, View keys) override;
  void score_rows_forward(Out scores, View q, View k, Index first, double scale) override;
  void score_rows_backward(Out dq, Out dk, View dscores, View q, View k, Index first,
                           double scale) override;
  void mix_rows_forward(Out y, View p, View v, Index first) override;
  void mix_rows_backward(Out dp, Out dv, View dy, View p, View v, Index first) override;
  void softmax_forward(Out y, View scores, Index first) override;
  void softmax_backward(Out dscores, View dy, View y) override;
  void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h, const Classifier&,
                const std::int32_t* targets, double weight) override;
  void adamw(Out norm, std::span<const Update>, const AdamW&) override;

 private:
  // What a fused attention reads, in the types of its request, and which slot each part is for.
  class FusedInput;

  void hidden_layer(Out h, const TwoLayers&);  // [F, N]
  void product(const Product& p) { products_.run(queue_, p); }
  // w [O, I] for products: where they are in bf16 and w is a parameter, the copy that adamw keeps.
  Operand weights(View w);
  // y [width] = sums of the columns of x [rows, width].
  void sum_columns(Target y, View x, Index rows, Index width);
  // The one place that chooses between one kernel and composed attention. Sets route_.
  Lowering choose(const AttentionInput&, bool backward, bool distance_gradient, bool bias_gradient);
  void fused_forward(Out y, Out lse, const AttentionInput&, const Lowering&);
  void fused_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View y, View lse,
                      const AttentionInput&, const Lowering&);
  Beyond beyond_forward(FusedInput&, const Lowering&);
  Beyond beyond_backward(FusedInput&, const AddedByDistance&, const Lowering&);
  void run_backward(FusedInput&, const AttentionRequest&, Index examples, Bindings&);
  void graph_biases_backward(Out ddistance, Out dbias, const AttentionInput&, const Lowering&,
                             const Bindings&);
  void composed_forward(Out y, Out lse, const AttentionInput&);
  void composed_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                         const AttentionInput&);

  CudaSettings settings_;
  Queue queue_;
  Products products_;
  std::unique_ptr<GraphRunner> runner_;
  std::string why_composed_ = "nothing here runs attention graphs";
  std::string route_;
  std::vector<AdamRow> adam_rows_;
  std::optional<Scratch<AdamRow>> adam_table_;  // the same on the device
  // Of the parameters that adamw has seen, those that products read: rounded once a step.
  std::map<const void*, std::optional<Scratch<Bf16>>> rounded_;
};

}  // namespace pesuite::cuda
