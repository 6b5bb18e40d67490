// A backend that times the kernels of another one: where a step spends its time, and how much of it
// is spent outside of kernels.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "bench/timing.h"
#include "bench/work.h"

namespace pesuite::bench {

struct KernelTime {
  std::int64_t calls = 0;
  double seconds = 0;
  Work work;
};

class TimedBackend : public Backend {
 public:
  explicit TimedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  const std::map<std::string, KernelTime>& times() const { return times_; }
  void clear() { times_.clear(); }

  // The bytes are those of the arguments; the arithmetic is told.
#define PESUITE_TIMED(signature, name, op, arguments, flops)                                     \
  signature override {                                                                           \
    time(name, {Bytes(inner_->element_size()) arguments, flops}, [&] { inner_->op arguments; }); \
  }
  std::string_view name() const override {
    return inner_->name();
  }
  std::string description() const override {
    return inner_->description();
  }
  std::size_t element_size() const override {
    return inner_->element_size();
  }
  std::string attention_route() const override {
    return inner_->attention_route();
  }
  Storage activations() const override {
    return inner_->activations();
  }
  std::int64_t scores_at_a_time() const override {
    return inner_->scores_at_a_time();
  }
  bool rounds_to_fp16() const override {
    return inner_->rounds_to_fp16();
  }
  bool takes_bf16_weights() const override {
    return inner_->takes_bf16_weights();
  }
  std::int64_t length_step() const override {
    return inner_->length_step();
  }
  std::int64_t query_step() const override {
    return inner_->query_step();
  }
  bool takes_slopes() const override {
    return inner_->takes_slopes();
  }
  bool takes_starts() const override {
    return inner_->takes_starts();
  }
  void wait() override {
    inner_->wait();
  }
  double elapsed(const std::function<void()>& body) override {
    return inner_->elapsed(body);
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    time("allocate", {}, [&] { memory = inner_->allocate(bytes); });
    return memory;
  }
  void release(void* memory) noexcept override {
    inner_->release(memory);
  }
  PESUITE_TIMED(void upload(Out to, const double* from), "upload", upload, (to, from), 0)
  PESUITE_TIMED(void upload(Out to, const float* from), "upload", upload, (to, from), 0)
  PESUITE_TIMED(void upload_tokens(std::int32_t* to, std::span<const std::int32_t> from), "upload",
                upload_tokens, (to, from), 0)
  PESUITE_TIMED(void download(float* to, View from), "download", download, (to, from), 0)
  PESUITE_TIMED(void download(double* to, View from), "download", download, (to, from), 0)
  PESUITE_TIMED(void download_tokens(std::span<std::int32_t> to, const std::int32_t* from),
                "download", download_tokens, (to, from), 0)
  PESUITE_TIMED(void fill(Out y, double value), "fill", fill, (y, value), 0)
  PESUITE_TIMED(void unary_forward(Out y, View x, Unary op), "unary", unary_forward, (y, x, op), 0)
  PESUITE_TIMED(void unary_backward(Out dx, View dy, View x, View y, Unary op), "unary backward",
                unary_backward, (dx, dy, x, y, op), 0)
  PESUITE_TIMED(void binary_forward(Out y, View a, View b, Binary op), "binary", binary_forward,
                (y, a, b, op), 0)
  PESUITE_TIMED(void binary_backward(Out da, Out db, View dy, View a, View b, Binary op),
                "binary backward", binary_backward, (da, db, dy, a, b, op), 0)
  PESUITE_TIMED(void affine(Out y, View x, double scale, double shift), "affine", affine,
                (y, x, scale, shift), 0)
  PESUITE_TIMED(void dropout(Out y, View x, const Dropout& d), "dropout", dropout, (y, x, d), 0)
  PESUITE_TIMED(void gate_forward(Out y, View x), "gate", gate_forward, (y, x), 0)
  PESUITE_TIMED(void gate_backward(Out dx, View dy, View x), "gate backward", gate_backward,
                (dx, dy, x), 0)
  PESUITE_TIMED(void permute(Out y, View x, const int* axes), "permute", permute, (y, x, axes), 0)
  PESUITE_TIMED(void copy(Out y, std::int64_t y_start, View x, std::int64_t x_start, int axis,
                          std::int64_t length),
                "copy", copy, (y, y_start, x, x_start, axis, length), 0)
  PESUITE_TIMED(void sum(Out y, View x, int axis), "sum", sum, (y, x, axis), 0)
  PESUITE_TIMED(void cumsum(Out y, View x, int axis, bool reverse), "cumsum", cumsum,
                (y, x, axis, reverse), 0)
  PESUITE_TIMED(void take_forward(Out y, View x, View index), "take", take_forward, (y, x, index),
                0)
  PESUITE_TIMED(void take_backward(Out dx, View dy, View index), "take backward", take_backward,
                (dx, dy, index), 0)
  PESUITE_TIMED(void interpolate_forward(Out y, View x, View position), "interpolate",
                interpolate_forward, (y, x, position), 0)
  PESUITE_TIMED(void interpolate_backward(Out dx, Out dposition, View dy, View x, View position),
                "interpolate backward", interpolate_backward, (dx, dposition, dy, x, position), 0)
  PESUITE_TIMED(void rows_forward(Out y, View x, View index), "rows", rows_forward, (y, x, index),
                0)
  PESUITE_TIMED(void rows_backward(Out dx, View dy, View index, bool rising), "rows backward",
                rows_backward, (dx, dy, index, rising), 0)
  PESUITE_TIMED(void rotate_forward(Out y, View x, View cos, View sin, Pairs p), "rotate",
                rotate_forward, (y, x, cos, sin, p), 0)
  PESUITE_TIMED(void rotate_backward(Out dx, Out dcos, Out dsin, View dy, View x, View cos,
                                     View sin, Pairs p),
                "rotate backward", rotate_backward, (dx, dcos, dsin, dy, x, cos, sin, p), 0)
  PESUITE_TIMED(void matmul(Out c, View a, View b, bool ta, bool tb), "matmul", matmul,
                (c, a, b, ta, tb), product_flops(c.shape, ta ? a.shape[-2] : a.shape[-1]))
  PESUITE_TIMED(void two_layers_forward(Out y, const TwoLayers& m), "two layers",
                two_layers_forward, (y, m), two_layer_flops(m))
  PESUITE_TIMED(void two_layers_backward(const TwoLayerGradients& g, View dy, const TwoLayers& m),
                "two layers backward", two_layers_backward, (g, dy, m),
                (g.x ? 3 : 2) * two_layer_flops(m))
  PESUITE_TIMED(void linear_forward(Out y, View x, View w, View bias, View residual), "linear",
                linear_forward, (y, x, w, bias, residual), linear_flops(x, w))
  PESUITE_TIMED(void linear_backward(Out dx, Out dw, Out dbias, View dy, View x, View w),
                "linear backward", linear_backward, (dx, dw, dbias, dy, x, w),
                ((dx ? 1 : 0) + (dw ? 1 : 0)) * linear_flops(x, w))
  PESUITE_TIMED(void embed_forward(Out y, View table, const std::int32_t* tokens), "embed",
                embed_forward, (y, table, tokens), 0)
  PESUITE_TIMED(void embed_backward(Out dtable, View dy, const std::int32_t* tokens),
                "embed backward", embed_backward, (dtable, dy, tokens), 0)
  PESUITE_TIMED(void heads_forward(Out q, Out k, Out v, View x, const Turn& of_q, const Turn& of_k),
                "heads", heads_forward, (q, k, v, x, of_q, of_k), 0)
  PESUITE_TIMED(void heads_backward(Out dx, View dq, View dk, View dv, const Turn& of_q,
                                    const Turn& of_k),
                "heads backward", heads_backward, (dx, dq, dk, dv, of_q, of_k), 0)
  PESUITE_TIMED(void norm_forward(Out y, Out stats, View x, View gain, View bias, Norm n,
                                  double eps),
                "norm", norm_forward, (y, stats, x, gain, bias, n, eps), 0)
  PESUITE_TIMED(void norm_backward(Out dx, Out dgain, Out dbias, View dy, View x, View gain,
                                   View stats, Norm n),
                "norm backward", norm_backward, (dx, dgain, dbias, dy, x, gain, stats, n), 0)
  PESUITE_TIMED(void attention_forward(Out y, Out lse, const AttentionInput& a), "attention",
                attention_forward, (y, lse, a), attention_flops(a, 1, 1))
  PESUITE_TIMED(void attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                                        View y, View lse, const AttentionInput& a),
                "attention backward", attention_backward,
                (dq, dk, dv, ddistance, dbias, dy, y, lse, a), attention_flops(a, 3, 2))
  Shape packed_shape(const Shape& keys) const override {
    return inner_->packed_shape(keys);
  }
  PESUITE_TIMED(void pack_keys(Out packed, View keys), "pack keys", pack_keys, (packed, keys), 0)
  PESUITE_TIMED(void score_rows_forward(Out s, View q, View k, std::int64_t first, double scale),
                "score rows", score_rows_forward, (s, q, k, first, scale),
                product_flops(s.shape, q.shape[-1]))
  PESUITE_TIMED(void score_rows_backward(Out dq, Out dk, View ds, View q, View k,
                                         std::int64_t first, double scale),
                "score rows backward", score_rows_backward, (dq, dk, ds, q, k, first, scale),
                2 * product_flops(ds.shape, q.shape[-1]))
  PESUITE_TIMED(void mix_rows_forward(Out y, View p, View v, std::int64_t first), "mix rows",
                mix_rows_forward, (y, p, v, first), product_flops(p.shape, v.shape[-1]))
  PESUITE_TIMED(void mix_rows_backward(Out dp, Out dv, View dy, View p, View v, std::int64_t first),
                "mix rows backward", mix_rows_backward, (dp, dv, dy, p, v, first),
                2 * product_flops(p.shape, v.shape[-1]))
  PESUITE_TIMED(void softmax_forward(Out y, View scores, std::int64_t first), "softmax",
                softmax_forward, (y, scores, first), 0)
  PESUITE_TIMED(void softmax_backward(Out dscores, View dy, View y), "softmax backward",
                softmax_backward, (dscores, dy, y), 0)
  PESUITE_TIMED(void classify(Out nats, std::int32_t* best, Out dh, Out dw, Out dbias, View h,
                              const Classifier& c, const std::int32_t* targets, double weight),
                "classify", classify, (nats, best, dh, dw, dbias, h, c, targets, weight),
                classify_flops(h, c.w, dh, dw))
  PESUITE_TIMED(void adamw(Out norm, std::span<const Update> updates, const AdamW& o), "adamw",
                adamw, (norm, updates, o), 0)
#undef PESUITE_TIMED

 protected:
  virtual void time(const char* name, const Work& work, const std::function<void()>& call) {
    count(name, work, inner_->elapsed(call));
  }
  void count(const char* name, const Work& work, double seconds) {
    KernelTime& t = times_[name];
    ++t.calls;
    t.seconds += seconds;
    t.work += work;
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::map<std::string, KernelTime> times_;
};

}  // namespace pesuite::bench
