#include "model/optimizer.h"

#include <algorithm>

namespace pesuite {

Optimizer::Optimizer(Backend& backend, const OptimizerConfig& config)
    : backend_(backend), config_(config), norm_(backend.allocate(backend.element_size())) {}
Optimizer::~Optimizer() {
  backend_.release(norm_);
}

bool LossScale::leave_out(bool gradient_is_finite) {
  if (factor == 1) return false;
  if (!gradient_is_finite) {
    factor /= 2, in_row = 0, ++left_out;
    return true;
  }
  if (++in_row == patience) factor = std::min(2 * factor, most), in_row = 0;
  return false;
}

double Optimizer::update(std::vector<Parameter>& parameters, double lr_factor, std::int64_t step,
                         double loss_scale) {
  updates_.clear();
  for (Parameter& p : parameters) {
    if (!p.has_grad) continue;
    updates_.push_back({{p.value, p.shape},
                        {p.m, p.shape},
                        {p.v, p.shape},
                        {p.grad, p.shape},
                        p.decay ? config_.weight_decay : 0});
    p.has_grad = false;
  }
  AdamW settings;
  settings.lr = config_.lr * lr_factor;
  settings.beta1 = config_.beta1;
  settings.beta2 = config_.beta2;
  settings.eps = config_.eps;
  settings.clip = config_.clip;
  settings.step = step + 1;
  settings.loss_scale = loss_scale;
  backend_.adamw({norm_, {1}}, updates_, settings);
  double norm = 0;
  backend_.download(&norm, View{norm_, {1}});
  return norm;
}

}  // namespace pesuite
