// Microbenchmarks of single kernels on the shapes of a training step at configuration B
// (docs/performance.md): build/bin/ops_bench --benchmark_filter=norm
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "pesuite/random.hpp"

namespace pesuite {
namespace {

// A tensor of normal values that lives as long as its benchmark.
class Values {
 public:
  Values(Backend& backend, const Shape& shape) : backend_(backend), shape_(shape) {
    const auto n = static_cast<std::size_t>(shape.count());
    data_ = backend.allocate(n * backend.element_size());
    pes::Random random(1, pes::purpose("ops_bench"), n);
    std::vector<float> values(n);
    for (float& x : values) x = static_cast<float>(random.normal());
    backend.upload(out(), values.data());
  }
  ~Values() { backend_.release(data_); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  View view() const { return {data_, shape_}; }
  Out out(bool add = false) { return {data_, shape_, add}; }

 private:
  Backend& backend_;
  Shape shape_;
  void* data_;
};

constexpr std::int64_t rows = 2048, width = 256, ff = 704, batch = 8, heads = 4, length = 256,
                       head_dim = 64;

void bytes(benchmark::State& state, std::int64_t floats) {
  state.SetBytesProcessed(state.iterations() * floats * 4);
}

void norm(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  Values x(*backend, {rows, width}), y(*backend, {rows, width}), gain(*backend, {width}),
      stats(*backend, {rows, 2});
  for (auto _ : state)
    backend->norm_forward(y.out(), stats.out(), x.view(), gain.view(), {}, Norm::rms, 1e-5);
  bytes(state, 2 * rows * width);
}
BENCHMARK(norm);

void norm_backward(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  Values x(*backend, {rows, width}), dy(*backend, {rows, width}), dx(*backend, {rows, width}),
      gain(*backend, {width}), dgain(*backend, {width}), stats(*backend, {rows, 2});
  for (auto _ : state)
    backend->norm_backward(dx.out(true), dgain.out(), {}, dy.view(), x.view(), gain.view(),
                           stats.view(), Norm::rms);
  bytes(state, 4 * rows * width);
}
BENCHMARK(norm_backward);

void gate(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  Values x(*backend, {rows, 2 * ff}), y(*backend, {rows, ff});
  for (auto _ : state) backend->gate_forward(y.out(), x.view());
  bytes(state, 3 * rows * ff);
}
BENCHMARK(gate);

void gate_backward(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  Values x(*backend, {rows, 2 * ff}), dx(*backend, {rows, 2 * ff}), dy(*backend, {rows, ff});
  for (auto _ : state) backend->gate_backward(dx.out(), dy.view(), x.view());
  bytes(state, 5 * rows * ff);
}
BENCHMARK(gate_backward);

void rotate(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  Values x(*backend, {batch, heads, length, head_dim}),
      y(*backend, {batch, heads, length, head_dim}), cos(*backend, {length, head_dim / 2}),
      sin(*backend, {length, head_dim / 2});
  for (auto _ : state)
    backend->rotate_forward(y.out(), x.view(), cos.view(), sin.view(), Pairs::half);
  bytes(state, 2 * rows * width);
}
BENCHMARK(rotate);

void linear(benchmark::State& state) {
  const Precision precision = state.range(0) != 0 ? Precision::bf16 : Precision::fp32;
  const auto backend = open_backend("cpu", {.threads = 1, .precision = precision});
  Values x(*backend, {rows, width}), w(*backend, {3 * width, width}),
      y(*backend, {rows, 3 * width});
  for (auto _ : state) backend->linear_forward(y.out(), x.view(), w.view(), {}, {});
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * rows * width * 3 * width * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(linear)->ArgName("bf16")->Arg(0)->Arg(1);

void attention(benchmark::State& state) {
  const auto backend = open_backend("cpu", {});
  const std::int64_t T = state.range(0);
  Values q(*backend, {1, heads, T, head_dim}), k(*backend, {1, heads, T, head_dim}),
      v(*backend, {1, heads, T, head_dim}), y(*backend, {1, T, heads * head_dim}),
      lse(*backend, {1, heads, T});
  AttentionInput a;
  a.q = q.view(), a.k = k.view(), a.v = v.view(), a.scale = 0.125;
  for (auto _ : state) backend->attention_forward(y.out(), lse.out(), a);
  state.counters["FLOP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(heads * head_dim * T * (T + 1) * state.iterations()),
      benchmark::Counter::kIsRate);
}
BENCHMARK(attention)->ArgName("length")->Arg(64)->Arg(256)->Arg(1024);

}  // namespace
}  // namespace pesuite

BENCHMARK_MAIN();
