// What cells will cost on this machine, estimated.
#include <algorithm>

#include "plan/plan.h"

namespace pesuite {

namespace {

// Validations behind the steps first + 1 .. last, each of all tasks of the mixture.
double validations(const TrainConfig& t, std::int64_t first, std::int64_t last, std::size_t tasks) {
  const std::int64_t every = t.eval_every;
  const std::int64_t due = every > 0 ? last / every - first / every : 0;
  const bool at_the_end = last == t.steps && (every == 0 || last % every != 0);
  return static_cast<double>(tasks) * static_cast<double>(due + (at_the_end ? 1 : 0));
}

}  // namespace

void estimate_cost(PlannedCell& c, const Rate& rate, bool recompute) {
  const ModelConfig m = model_of(c.config);
  const TrainConfig t = train_of(c.config);
  const std::int64_t first = first_step(c.config), last = last_step(c);
  const bool trains = c.trains && c.config.weights.empty();
  const double pass_flops = forward_flops(m, t.length);  // a token
  c.train_flops = !trains ? 0 : 3 * pass_flops * t.tokens_read(first, last);
  c.validation_flops = !trains ? 0
                               : validations(t, first, last, 1 + c.config.mix.size()) *
                                     t.validation_examples * t.length * pass_flops;
  for (const CellEval& e : c.evals) {
    const double pass = evaluation_flops(m, e.config, e.length, rate.query_step);
    c.eval_flops += e.probe ? pass * passes_of(*e.probe) : pass;
  }
  // weights, gradient and two moments; activations of a pass, of all layers or, in an evaluation,
  // of one; 6.4: as measured
  const double in = is_gated(m.activation) ? 2.0 : 1.0;
  const double layer = 10.0 * m.width + (1 + in) * m.ff_width;
  const double layers = recompute ? m.layers * 1.0 * m.width + layer : m.layers * layer;
  const double activations =
      static_cast<double>(t.pass_size()) * t.length * (layers + 2.0 * m.width);
  double longest = 0;
  for (const CellEval& e : c.evals) longest = std::max(longest, static_cast<double>(e.length));
  const double evaluated = longest * (12.0 * m.width + (1 + in) * m.ff_width);
  c.memory = (c.config.weights.empty() ? 16 : 4) * c.parameters +
             std::max(4 * 1.3 * activations, 6.4 * evaluated) + 40e6;
  const bool some = c.state == PlannedCell::State::begun || c.state == PlannedCell::State::failed;
  const double part = static_cast<double>(std::max(c.step, first) - first);  // steps that are done
  const double share = some ? part / static_cast<double>(last - first) : 0;
  const bool over = c.state == PlannedCell::State::done || c.state == PlannedCell::State::diverged;
  const double left = over ? 0 : (c.train_flops + c.validation_flops) * (1 - share);
  const double evals = c.evals.empty() ? 0
                                       : c.eval_flops * static_cast<double>(c.missing_evals) /
                                             static_cast<double>(c.evals.size());
  const double steps = over || !trains ? 0 : static_cast<double>(last - first) * (1 - share);
  c.seconds = (left + evals) / rate.flops + steps * m.layers * rate.layer_seconds;
  if (left + evals > 0) c.seconds += rate.start_seconds;
}

int cells_a_device(const Plan& plan) {
  double seconds = 0, memory = 0;
  int cells = 0;
  for (const PlannedCell& c : plan.cells) {
    if (c.state == PlannedCell::State::done || c.state == PlannedCell::State::diverged) continue;
    seconds += c.seconds, memory = std::max(memory, c.memory), ++cells;
  }
  if (cells == 0) return 1;
  // Starts of 1 to 2 s overlap; trainings side by side take turns (docs/gpu.md).
  constexpr double four = 4, two = 12, bytes = 12e9;
  const double mean = seconds / cells;
  const int by_time = mean < four ? 4 : mean < two ? 2 : 1;
  return std::clamp(static_cast<int>(bytes / std::max(memory, 1.0)), 1, by_time);
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
