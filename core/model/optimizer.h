// AdamW over a model's parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/schedule.h"
#include "tensor/tape.h"

namespace pesuite {

struct OptimizerConfig {
  double lr = 3e-4, beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;  // of matrices; norms, biases and encodings are spared unless they ask
  double clip = 1;            // largest global norm of the gradient; 0: no clipping
};

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
