// Attention in one kernel: which way it goes, and what its graph reads and writes. Graphs are in
// bf16, or in fp16 with products in it: what is stored so they read and write where it lies, all
// else is rounded and widened.
#include <algorithm>
#include <span>

#include "backend/cuda/cuda.h"
#include "backend/cuda/distance.h"
#include "backend/cuda/score_gradient.h"
#include "backend/cuda/tiled_attention.h"

namespace pesuite::cuda {

namespace {

template <class T, class Half>
struct Move {  // y [rows, columns] from x [rows, pitch]
  TargetOf<T> y;
  const Half* x;
  Index columns, pitch;
  PESUITE_HD void operator()(Index i) const {
    Index c;
    const Index row = divide(i, columns, c);
    y.put(i, static_cast<float>(x[row * pitch + c]));
  }
};
// An element of the gradient of a bias; a term is one of what cuDNN summed. [.., T, S]
template <class Half>
struct GraphBiasTerm {
  const Half* dbias;
  Parts<1> parts;
  Index T, S;
  bool causal;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index own[1], more[1];
    parts.own.at(o, own);
    parts.repeated.at(term, more);
    const Index at = own[0] + more[0];
    // What stands where a query does not see a key is not documented.
    if (causal && T > 1 && at % S > at / S % T) return 0;
    return static_cast<float>(dbias[at]);
  }
};

Shape four_axes_of(const Shape& s) {
  return {s[-4], s[-3], s[-2], s[-1]};
}

Storage half_of(const AttentionRequest& r) {
  return r.io == Type::fp16 ? Storage::fp16 : Storage::bf16;
}
// Whether a graph reads or writes it in place, in rows of `pitch` numbers.
bool lies_as_in_graph(View x, Storage half, Index pitch) {
  return x && x.storage == half && x.shape[-1] == pitch && starts_at_16_bytes(x.data);
}

// Numbers of the host go along with the launch: an upload would have to wait for earlier ones.
struct FewNumbers {
  static constexpr Index most = 64;
  float* y;
  float x[most];
  PESUITE_HD void operator()(Index i) const { y[i] = x[i]; }
};
void put_numbers(Queue& queue, float* y, std::span<const float> x) {
  for (; !x.empty(); y += FewNumbers::most) {
    FewNumbers few{y, {}};
    const std::span<const float> now = x.first(std::min<std::size_t>(x.size(), FewNumbers::most));
    std::copy(now.begin(), now.end(), few.x);
    queue.each(static_cast<Index>(now.size()), few);
    x = x.subspan(now.size());
  }
}

AddedByKey by_key(const AttentionInput& a, const Lowering& to) {
  if (!to.add_bias) return {};
  return {in(a.bias), four_axes_of(a.bias.shape)};
}

struct Lines {  // a table [rows, N] of slopes
  float* table;
  const float* slopes;
  Index N;
  PESUITE_HD void operator()(Index i) const {
    Index d;
    const Index row = divide(i, N, d);
    table[i] = -slopes[row] * static_cast<float>(d);
  }
};

DistanceShape distance_shape(const AttentionInput& a) {
  return {a.distance.shape[0], a.distance.shape[1], a.q.shape[2], a.k.shape[2], a.first};
}

// What is bound, from an example on. Scratch is the same for all of them.
Bindings from_example(const Bindings& all, const AttentionRequest& r, Index first) {
  Bindings b = all;
  const auto move = [&](Slot s, Index bytes_of_example) {
    if (b[s] != nullptr) b[s] = static_cast<char*>(b[s]) + first * bytes_of_example;
  };
  const Index half = bytes_of(r.io);
  const Index queries = stored_queries(r), keys = stored_keys(r);
  for (const Slot s : {Slot::q, Slot::dq}) move(s, r.H * queries * r.D * half);
  for (const Slot s : {Slot::k, Slot::dk}) move(s, r.G * keys * r.D * half);
  for (const Slot s : {Slot::v, Slot::dv}) move(s, r.G * keys * r.E * half);
  for (const Slot s : {Slot::y, Slot::dy}) move(s, queries * r.H * r.E * half);
  move(Slot::lse, r.H * r.T * bytes_of(Type::fp32));
  for (std::size_t i = 0; i < r.biases.size(); ++i) {
    const BiasForm& f = r.biases[i];
    if (f.shape[0] > 1)
      move(i == 0 ? Slot::bias_a : Slot::bias_b,
           f.shape[1] * f.shape[2] * f.pitch * bytes_of(f.type));
  }
  return b;
}

// What an attention of the last `r.T` queries and the first keys reads and writes of all of them.
Bindings last_queries(const Bindings& all, const AttentionRequest& r, float* lse) {
  Bindings b = all;
  const Index rows = (r.stored - r.T) * bytes_of(r.io);
  const auto move = [&](Slot s, Index numbers) {
    if (b[s] != nullptr) b[s] = static_cast<char*>(b[s]) + rows * numbers;
  };
  for (const Slot s : {Slot::q, Slot::dq}) move(s, r.D);
  for (const Slot s : {Slot::y, Slot::dy}) move(s, r.H * r.E);
  b[Slot::lse] = lse;
  return b;
}

}  // namespace

class CudaBackend::FusedInput {
 public:
  FusedInput(Queue& queue, const AttentionInput& a, const Lowering& to)
      : queue_(queue), half_(half_of(to.request)) {
    const AttentionRequest& r = to.request;
    bindings[Slot::q] = rounded(a.q, r.D);
    bindings[Slot::k] = rounded(a.k, r.D);
    bindings[Slot::v] = rounded(a.v, r.E);
    bindings.scale = static_cast<float>(a.scale);
    if (r.slopes) {
      float* const slopes = take<float>(r.H);
      put_numbers(queue, slopes, to.slopes);
      bindings[Slot::slopes] = slopes;
    }
    Slot next = Slot::bias_a;
    if (to.expand_distance) {
      const BiasForm& form = r.biases.front();
      void* const bias = take<std::uint16_t>(form.shape[1] * r.T * form.pitch);
      expand_distance(queue, bias, form.type, form.pitch, in(a.distance), distance_shape(a));
      bindings[next] = bias;
      next = Slot::bias_b;
    }
    if (to.add_bias && to.route != Route::tiled) {
      const BiasForm& form = r.biases.back();
      if (form.type == r.io)
        bindings[next] = rounded(a.bias, form.pitch);
      else  // a copy too: a part of a tensor need not start at 16 bytes
        bindings[next] = copied(a.bias, form.shape.span(0, 3) * form.pitch);
    }
  }
  FusedInput(const FusedInput&) = delete;
  FusedInput& operator=(const FusedInput&) = delete;
  ~FusedInput() {
    for (void* m : memory_) queue_.release(m);
  }

  // Memory for as long as this lives.
  template <class T>
  T* take(Index count) {
    memory_.push_back(queue_.allocate(static_cast<std::size_t>(count) * sizeof(T)));
    return static_cast<T*>(memory_.back());
  }
  // The table as our kernels read it. Where it is a line, the forward pass was cuDNN's, and the
  // log-sum-exp knows slopes alone.
  AddedByDistance by_distance(const AttentionInput& a) {
    if (!a.distance) return {};
    const Index rows = a.distance.shape[0], N = a.distance.shape[1];
    if (a.slopes.empty()) return {in(a.distance), rows, N};
    float* const slopes = take<float>(rows);
    put_numbers(queue_, slopes, a.slopes);
    float* const table = take<float>(rows * N);
    queue_.each(rows * N, Lines{table, slopes, N});
    return {table, rows, N};
  }
  // In 16 bits, rows of the last axis filled up to `pitch` with zeros: x itself where it lies so.
  void* rounded(View x, Index pitch) {
    if (lies_as_in_graph(x, half_, pitch)) return const_cast<void*>(x.data);
    const Index columns = x.shape[-1], rows = x.shape.count() / columns;
    void* const y = take<std::uint16_t>(rows * pitch);
    round_to(half_, queue_, y, x.data, x.storage, 1, 0, rows, columns, columns, pitch);
    return y;
  }
  // Where a graph is to write `count` numbers in rows of `pitch`, of which o's are a part: o itself
  // where that is all; else deliver() moves them there.
  void* result(Out o, Index count, Index pitch) {
    return !o.add && lies_as_in_graph(o.view(), half_, pitch) ? o.data : take<std::uint16_t>(count);
  }
  void deliver(Out o, const void* result, Index pitch) {
    if (!o || result == o.data) return;
    by_storage(o.storage, [&]<class T>(T) {
      by_half(half_, [&]<class Half>(Half) {
        queue_.each(o.shape.count(), Move<T, Half>{target<T>(o), static_cast<const Half*>(result),
                                                   o.shape[-1], pitch});
      });
    });
  }

  Bindings bindings;

 private:
  float* copied(View x, Index count);

  Queue& queue_;
  Storage half_;
  std::vector<void*> memory_;
};

namespace {
struct CopyAll {
  float* y;
  const float* x;
  PESUITE_HD void operator()(Index i) const { y[i] = x[i]; }
};
}  // namespace

float* CudaBackend::FusedInput::copied(View x, Index count) {
  float* const y = take<float>(count);
  queue_.each(count, CopyAll{y, in(x)});
  return y;
}

Lowering CudaBackend::choose(const AttentionInput& a, bool backward, bool distance_gradient,
                             bool bias_gradient) {
  Lowering to;
  if (runner_ == nullptr) {
    to.reason = why_composed_;
  } else if (a.dropout.p > 0) {
    // cuDNN draws otherwise, and training elsewhere must drop the same.
    to.reason = "dropout drops what it drops on the CPU";
  } else if (a.own_rows() < a.q.shape[2]) {
    to.reason = "it is asked for a part of the queries at a time";
  } else {
    AttentionCase c;
    c.q = a.q.shape, c.k = a.k.shape, c.v = a.v.shape;
    if (a.distance) c.distance = a.distance.shape;
    if (a.bias) c.bias = a.bias.shape;
    c.distance_gradient = distance_gradient, c.bias_gradient = bias_gradient;
    c.slopes = a.slopes;
    c.first = a.first;
    c.training = backward;
    c.deterministic = settings_.in_order;
    constexpr Type by_precision[] = {Type::fp32, Type::bf16, Type::fp16};
    c.type = by_precision[static_cast<int>(settings_.precision)];
    c.level = a.level;
    DeviceFacts facts = runner_->facts();
    to = lower(c, facts);
    // A fused backward pass reads the log-sum-exp of a fused forward pass.
    const auto prepare = [&](const AttentionRequest& r) {
      const std::string why = runner_->prepare(r, Pass::forward);
      if (!why.empty() || !backward) return why;
      return runner_->prepare(part_of(r, to.examples), Pass::backward);
    };
    if (to.window > 0 && !prepare(to.beyond).empty()) {
      facts.splits = false;
      to = lower(c, facts);
    }
    if (to.route == Route::fused || to.route == Route::bias_tensor)
      if (const std::string why = prepare(to.request); !why.empty())
        to.route = Route::composed, to.reason = why;
  }
  const char* const names[] = {"fused", "fused", "bias-tensor", "composed"};
  route_ = std::string(names[static_cast<int>(to.route)]) + (backward ? " backward: " : ": ") +
           to.reason;
  return to;
}

void CudaBackend::attention_forward(Out y, Out lse, const AttentionInput& a) {
  const Lowering to = choose(a, false, false, false);
  if (to.route == Route::composed)
    composed_forward(y, lse, a);
  else
    fused_forward(y, lse, a, to);
}
void CudaBackend::attention_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy,
                                     View y, View lse, const AttentionInput& a) {
  const Lowering to = choose(a, true, static_cast<bool>(ddistance), static_cast<bool>(dbias));
  if (to.route == Route::composed)
    composed_backward(dq, dk, dv, ddistance, dbias, dy, a);
  else
    fused_backward(dq, dk, dv, ddistance, dbias, dy, y, lse, a, to);
}

void CudaBackend::fused_forward(Out y, Out lse, const AttentionInput& a, const Lowering& to) {
  FusedInput input(queue_, a, to);
  void* const result = input.result(y, y.shape.count(), y.shape[-1]);
  input.bindings[Slot::y] = result;
  input.bindings[Slot::lse] = lse.data;
  if (to.route == Route::tiled)
    tiled_forward(queue_, to.request, input.bindings, input.by_distance(a), by_key(a, to),
                  beyond_forward(input, to));
  else
    runner_->run(queue_, to.request, Pass::forward, input.bindings);
  input.deliver(y, result, y.shape[-1]);
}

void CudaBackend::fused_backward(Out dq, Out dk, Out dv, Out ddistance, Out dbias, View dy, View y,
                                 View lse, const AttentionInput& a, const Lowering& to) {
  const AttentionRequest& r = to.request;
  FusedInput input(queue_, a, to);
  Bindings& bound = input.bindings;
  bound[Slot::y] = input.rounded(y, y.shape[-1]);
  bound[Slot::dy] = input.rounded(dy, dy.shape[-1]);
  bound[Slot::lse] = const_cast<void*>(lse.data);
  void* const queries = input.result(dq, r.B * r.H * r.T * r.D, r.D);
  void* const keys = input.result(dk, r.B * r.G * r.S * r.D, r.D);
  void* const values = input.result(dv, r.B * r.G * r.S * r.E, r.E);
  bound[Slot::dq] = queries, bound[Slot::dk] = keys, bound[Slot::dv] = values;
  if (to.route == Route::tiled) {
    const AddedByDistance distance = input.by_distance(a);
    tiled_backward(queue_, r, bound, distance, by_key(a, to), target(ddistance),
                   to.bias_is_idle ? Target{} : target(dbias), to.groups,
                   beyond_backward(input, distance, to));
  } else {
    run_backward(input, r, to.examples, bound);
  }
  input.deliver(dq, queries, r.D);
  input.deliver(dk, keys, r.D);
  input.deliver(dv, values, r.E);
  if (dbias && to.bias_is_idle && !dbias.add) fill(dbias, 0);
  if (to.route != Route::tiled) graph_biases_backward(ddistance, dbias, a, to, bound);
}

// cuDNN's part of a tiled attention, and what the tiles need to know of it.
Beyond CudaBackend::beyond_forward(FusedInput& input, const Lowering& to) {
  if (to.window == 0) return {};
  const AttentionRequest& r = to.beyond;
  const Beyond beyond{to.window, input.take<float>(r.B * r.H * r.T)};
  runner_->run(queue_, r, Pass::forward, last_queries(input.bindings, r, beyond.lse));
  return beyond;
}
Beyond CudaBackend::beyond_backward(FusedInput& input, const AddedByDistance& distance,
                                    const Lowering& to) {
  if (to.window == 0) return {};
  const AttentionRequest& r = to.beyond;
  const Beyond beyond{to.window, input.take<float>(r.B * r.H * r.T)};
  set_lse(queue_, beyond, to.request, static_cast<const float*>(input.bindings[Slot::lse]),
          distance);
  Bindings bound = last_queries(input.bindings, r, beyond.lse);
  run_backward(input, r, to.examples, bound);
  return beyond;
}

// The graph, for as many examples at a time as there is memory for.
void CudaBackend::run_backward(FusedInput& input, const AttentionRequest& r, Index examples,
                               Bindings& bound) {
  bound[Slot::row_sums] = input.take<float>(r.B * r.H * r.T);
  bound[Slot::dq_sums] = input.take<float>(r.B * r.H * r.T * r.D);
  if (r.dbias) bound[Slot::dbias] = input.take<std::uint16_t>(r.dbias->shape.count());
  const AttentionRequest part = part_of(r, examples);
  for (Index first = 0; first < r.B; first += part.B)
    runner_->run(queue_, part, Pass::backward, from_example(bound, r, first));
}

// From what the graph summed, or from the scores made again.
void CudaBackend::graph_biases_backward(Out ddistance, Out dbias, const AttentionInput& a,
                                        const Lowering& to, const Bindings& bound) {
  const AttentionRequest& r = to.request;
  const void* const sums = bound[Slot::dbias];
  if (ddistance && to.sums_scores) {
    sum_scores_by_distance(queue_, target(ddistance), ddistance.shape[0], ddistance.shape[1], r,
                           bound);
  } else if (ddistance) {
    const DistanceShape s = distance_shape(a);
    sum_distance(queue_, target(ddistance), sums, r.dbias->type, r.dbias->shape.span(0, 2) / s.rows,
                 s);
  }
  if (!dbias || to.bias_is_idle) return;
  if (to.sums_scores) {
    sum_scores_to_bias(queue_, target(dbias), four_axes_of(dbias.shape), r, bound);
  } else {
    const Shape& from = r.dbias->shape;
    by_half(half_of(r), [&]<class Half>(Half) {
      const GraphBiasTerm<Half> f{static_cast<const Half*>(sums),
                                  parts<1>(from, four_axes_of(dbias.shape), {from}), from[2],
                                  from[3], r.causal};
      reduce(queue_, target(dbias), dbias.shape.count(), f.parts.repeated.count(), f);
    });
  }
}

}  // namespace pesuite::cuda
