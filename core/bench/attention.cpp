// One attention alone, by slot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bench/common.h"
#include "tensor/attention.h"

namespace pesuite::bench {

namespace {

// One attention from parameters, so that the backward pass has gradients to make.
class LoneAttention {
 public:
  LoneAttention(Backend& backend, std::string slot, int length)
      : backend_(backend), tape_(backend), slot_(std::move(slot)), length_(length) {
    const std::int64_t T = length;
    for (const char* name : {"q", "k", "v"}) add(name, {1, heads, T, head_dim}, 1);
    add("dy", {1, T, heads * head_dim}, 1);
    if (slot_ == "distance") add("distance", {heads, T}, 0.1);
    if (slot_ == "buckets") {
      add("rows", {level + 1, heads}, 0.1);
      for (std::int64_t d = 0; d < T; ++d)
        buckets_.push_back(static_cast<float>(std::min(d, level)));
    }
    if (slot_ == "bias") add("bias", {1, heads, T, T}, 0.1);
    if (slot_ == "rotary") {
      add("cos", {T, head_dim / 2}, 1);
      add("sin", {T, head_dim / 2}, 1);
    }
  }
  ~LoneAttention() {
    for (Parameter& p : parameters_) free_parameter(backend_, p);
  }
  LoneAttention(const LoneAttention&) = delete;
  LoneAttention& operator=(const LoneAttention&) = delete;

  void run(bool backward) {
    tape_.reset();
    tape_.set_recording(backward);
    std::vector<Tensor> x;
    for (Parameter& p : parameters_) {
      p.has_grad = false;
      void* const grad = p.grad;
      if (p.name == "cos" || p.name == "sin" || p.name == "bias" || p.name == "dy")
        p.grad = nullptr;  // tables of the encoding, fixed
      x.push_back(tape_.leaf(p));
      p.grad = grad;
    }
    Attention a;
    a.q = x[0], a.k = x[1], a.v = x[2];
    a.scale = 1 / std::sqrt(static_cast<double>(head_dim));
    if (slot_ == "rotary") {
      a.q = ops::rotate(tape_, a.q, x[4], x[5], Pairs::half);
      a.k = ops::rotate(tape_, a.k, x[4], x[5], Pairs::half);
    }
    if (slot_ == "distance") a.distance = x[4];
    if (slot_ == "buckets") {  // a row of what trains for each distance, and one for all others
      const int turned[] = {1, 0};
      const Tensor index = tape_.constant({length_}, buckets_.data());
      a.distance = ops::permute(tape_, ops::rows(tape_, x[4], index), turned);
    }
    if (slot_ == "bias") a.bias = x[4];
    if (slot_ == "rewrite")
      a.rewrite = {this, [](const void*, Tape& t, Tensor scores, Tensor, Tensor, Tensor,
                            std::int64_t) { return ops::affine(t, t.now(scores), 1, 0); }};
    const Tensor y = attend(tape_, a);
    if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
    if (!backward) return;
    backend_.affine(tape_.grad(y), tape_.view(x[3]), 1, 0);
    tape_.backward();
  }
  double flops(bool backward) const {
    const double T = length_;
    return 4.0 * heads * head_dim * T * (T + 1) / 2 * (backward ? 3.5 : 1);
  }
  double memory() const { return static_cast<double>(tape_.memory()); }

 private:
  static constexpr std::int64_t heads = 8, head_dim = 64, level = 128;
  void add(const char* name, const Shape& shape, double deviation) {
    parameters_.push_back(normal_parameter(backend_, name, shape, deviation, true));
  }

  Backend& backend_;
  Tape tape_;
  std::string slot_;
  int length_;
  std::vector<Parameter> parameters_;
  std::vector<float> buckets_;  // by distance
};

}  // namespace

std::vector<std::string> attention_slots() {
  return {"none", "rotary", "distance", "buckets", "bias", "rewrite"};
}

Result bench_attention(const Settings& s) {
  const auto backend = open(s);
  std::vector<std::unique_ptr<LoneAttention>> all;
  std::vector<Subject> subjects;
  for (const int length : s.lengths)
    for (const std::string& slot : s.slots) {
      if (slot == "bias" && length > 8192) continue;  // the bias alone would take over 2 GiB
      all.push_back(std::make_unique<LoneAttention>(*backend, slot, length));
      LoneAttention& a = *all.back();
      for (const bool backward : {false, true})
        subjects.push_back({fmt::format("attention/{}/{}/{}", slot, length,
                                        backward ? "forward+backward" : "forward"),
                            [&a, backward] { a.run(backward); }, a.flops(backward),
                            static_cast<double>(length),
                            [&a] {
                              return Facts{{"bytes beyond inputs", a.memory()}};
                            }});
    }
  return finish(std::move(subjects), *backend, s.plan);
}

}  // namespace pesuite::bench
