// What cells will cost on this machine, estimated.
#include <algorithm>
#include <chrono>

#include "base/isolate.h"
#include "base/text.h"
#include "plan/plan.h"

namespace pesuite {

namespace {

// What a cell's kernels reach here, from a short product of the shape that training has.
double rate_of_a_product() {
  const auto backend = open_backend("cpu", {});
  constexpr std::int64_t n = 256;
  const Shape square = {n, n};
  void* m[3];
  for (void*& p : m) {
    p = backend->allocate(n * n * sizeof(float));
    backend->fill({p, square}, 0.5);
  }
  double best = 1e30;
  for (int i = 0; i < 12; ++i) {
    const auto start = std::chrono::steady_clock::now();
    backend->matmul({m[2], square}, {m[0], square}, {m[1], square}, false, true);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (void* p : m) backend->release(p);
  constexpr double share_in_training = 0.45;  // of a bare product's rate, measured on small models
  return share_in_training * 2.0 * n * n * n / best;
}

}  // namespace

// In a process of its own: the library of products crashes where it gets no memory for its code.
double measured_rate() {
  constexpr double seconds = 20, slow = 1e9;
  const Isolated r = run_isolated([] { return format_number(rate_of_a_product()); }, seconds);
  double rate = 0;
  return r.end == Isolated::End::returned && parse_count(r.text, rate) && rate > 0 ? rate : slow;
}

void estimate_cost(PlannedCell& c, double rate, bool recompute) {
  const ModelConfig m = model_of(c.config);
  const TrainConfig t = train_of(c.config);
  const std::int64_t first = first_step(c.config), last = last_step(c);
  const bool trains = c.trains && c.config.weights.empty();
  c.train_flops = !trains ? 0 : 3 * forward_flops(m, t.length) * t.tokens_read(first, last);
  for (const CellEval& e : c.evals) {
    double tokens = tokens_read(e.config, e.length);
    if (e.probe) tokens *= passes_of(*e.probe);
    c.eval_flops += tokens * forward_flops(m, e.length);
  }
  // weights, gradient and two moments; activations of a pass
  const double in = m.activation == Activation::swiglu ? 2.0 : 1.0;
  const double layer = 10.0 * m.width + (1 + in) * m.ff_width;
  const double layers = recompute ? m.layers * 1.0 * m.width + layer : m.layers * layer;
  const double activations =
      static_cast<double>(t.pass_size()) * t.length * (layers + 2.0 * m.width);
  c.memory = (c.config.weights.empty() ? 16 : 4) * c.parameters + 4 * 1.3 * activations + 40e6;
  const bool some = c.state == PlannedCell::State::begun || c.state == PlannedCell::State::failed;
  const double part = static_cast<double>(std::max(c.step, first) - first);  // steps that are done
  const double share = some ? part / static_cast<double>(last - first) : 0;
  const bool over = c.state == PlannedCell::State::done || c.state == PlannedCell::State::diverged;
  const double left = over ? 0 : c.train_flops * (1 - share);
  const double evals = c.evals.empty() ? 0
                                       : c.eval_flops * static_cast<double>(c.missing_evals) /
                                             static_cast<double>(c.evals.size());
  c.seconds = (left + evals) / rate;
}

CellLimits limits_of(const Suite& suite, const PlannedCell& c, double rate) {
  // Far beyond what sound cells were seen to take, also on a busy machine: these end what hangs or
  // hoards.
  constexpr double seconds = 1800, times = 50, bytes = 8e9, times_bytes = 16;
  // A driver reserves more than anybody uses, and so do sanitizers.
#ifdef PESUITE_SANITIZED
  const bool reserves = true;
#else
  const bool reserves = c.config.backend == "cuda";
#endif
  return {suite.time_limit.value_or(seconds + times * (c.train_flops + c.eval_flops) / rate),
          suite.memory_limit.value_or(reserves ? 0 : bytes + times_bytes * c.memory)};
}

}  // namespace pesuite
