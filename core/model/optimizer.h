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

// What losses are multiplied by before the backward pass, and gradients divided by behind it, so
// that small ones are not lost where they pass through fp16 (Micikevicius et al. 2018,
// arXiv:1710.03740, 3.2). Where one overflows, the update is left out and the factor halved; after
// `patience` updates in a row it is doubled. 1 where nothing is rounded to fp16.
struct LossScale {
  static constexpr double first = 65536, most = 16777216;
  static constexpr int patience = 2000;

  double factor = 1;
  int in_row = 0;             // updates since the factor last changed
  std::int64_t left_out = 0;  // updates, in all

  // After an update: whether it was left out, for a gradient that overflowed and may fit with a
  // smaller factor. With a factor of 1 none is: what is not finite then has diverged.
  bool leave_out(bool gradient_is_finite);
};

class Optimizer {
 public:
  Optimizer(Backend& backend, const OptimizerConfig& config);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update with the gradients that have been collected, which are then forgotten. Returns the
  // global norm of the gradient before clipping; when it is not finite nothing has changed.
  // `step` counts from 0. Gradients are those of the loss times `loss_scale`; the norm is not.
  double update(std::vector<Parameter>&, double lr_factor, std::int64_t step,
                double loss_scale = 1);

 private:
  Backend& backend_;
  OptimizerConfig config_;
  void* norm_;
  std::vector<Update> updates_;
};

}  // namespace pesuite
