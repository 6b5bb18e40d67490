// What a step does to each part of a model, and whether its loss stands out: asked for by
// 'train.health', at the steps that are logged.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace pesuite {

// Downloads gradients and weights around one update.
class PartsWatch {
 public:
  explicit PartsWatch(Model& model);
  void before_update(double loss_scale);  // that gradients are too large by

  struct Part {
    std::string name;     // embedding, layer 0 .., norm, head, encoding
    double gradient = 0;  // L2 norm, before clipping
    double update = 0;    // ||w' - w|| / ||w||; 0 where w is 0
  };
  std::vector<Part> after_update();

 private:
  std::vector<double> values(void* data, const Parameter&) const;
  Model& model_;
  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;  // by parameter
  std::vector<std::vector<double>> before_;
};

// How many robust standard deviations a loss lies above the median of those before it: (loss -
// median) / (1.4826 MAD), at most 1e6; 0 before there are `spike_window / 4` of them.
inline constexpr std::size_t spike_window = 64;
double spike_score(const std::vector<double>& before, double loss);

// FLOP/s of a product of 1024 x 1024 x 1024 on this backend, the best of a few: what the share that
// training reaches is of.
double product_rate(Backend&);

// Mean entropy of the distributions that logits [rows, classes] stand for, nats.
double entropy_of(const std::vector<double>& logits, std::size_t classes);

}  // namespace pesuite
