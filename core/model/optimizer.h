// AdamW over a model's parameters, and the learning rate over a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tape.h"

namespace pesuite {

struct OptimizerConfig {
  double lr = 3e-4, beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;  // of matrices; norms, biases and encodings are spared unless they ask
  double clip = 1;            // largest global norm of the gradient; 0: no clipping
};

enum class ScheduleKind { constant, linear, cosine, inverse_sqrt, wsd };

// Warm-up rises linearly to lr in `warmup` steps. Then lr stays (constant), falls to
// floor * lr in the last step along a line or half a cosine, falls like 1/sqrt(step), or stays and
// falls along a line in the last `decay` steps (warmup-stable-decay, Hu et al. 2024).
struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  std::int64_t warmup = 0, decay = 0;  // steps
  double floor = 0;                    // share of lr that is left at the end
};
// Factor of the learning rate in step 0 .. steps-1.
double schedule_factor(const Schedule&, std::int64_t step, std::int64_t steps);
std::string_view schedule_name(ScheduleKind);
std::vector<std::string> schedule_names();     // in the order of the kinds
ScheduleKind schedule_kind(std::string_view);  // Error (usage) when it is none of them

class Optimizer {
 public:
  Optimizer(Backend& backend, const OptimizerConfig& config);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update with the gradients that have been collected, which are then forgotten. Returns the
  // global norm of the gradient before clipping; when it is not finite nothing has changed.
  // `step` counts from 0.
  double update(std::vector<Parameter>&, double lr_factor, std::int64_t step);

 private:
  Backend& backend_;
  OptimizerConfig config_;
  void* norm_;
  std::vector<Update> updates_;
};

}  // namespace pesuite
