// What the benchmarks share: workloads, models to train, the yardstick.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/work.h"
#include "model/model.h"
#include "model/optimizer.h"

namespace pesuite::bench {

struct Workload {
  ModelConfig model;
  int length, batch;
};

// "B" or "B(width=512)". Error (usage) for an unknown name or size.
Workload workload(const std::string& config);
// Uniform tokens and targets [size, length].
Batch random_batch(int size, int length, int vocabulary);
// A parameter of normal values; `grad`: with memory for its gradient. To be released by
// free_parameter.
Parameter normal_parameter(Backend&, const std::string& name, const Shape&, double deviation,
                           bool grad);
void free_parameter(Backend&, Parameter&);
std::unique_ptr<Backend> open(const Settings&);
// Of a large product, and of numbers that are read and written.
Rates measured_rates(Backend&, Plan);
// Times the subjects in turn with a large product, which comes first in what is returned.
Result finish(std::vector<Subject>, Backend&, Plan);

// A model with an encoding and what it needs to be trained and evaluated.
class Trainee {
 public:
  Trainee(const Catalog&, Backend&, const std::string& encoding, const ModelConfig&,
          int train_length, int max_length);
  void train(const Batch&);  // a step: forward and backward in passes as training makes them, AdamW
  void score(const Batch& b) { model_.score(b, info(b)); }
  Facts facts() const;
  const Model& model() const { return model_; }

 private:
  StepInfo info(const Batch&) const;
  Model model_;
  Optimizer optimizer_;
  std::int64_t step_ = 0;
};

}  // namespace pesuite::bench
