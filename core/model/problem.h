// Evaluation of a problem: whether examples are answered right, at the points of its axes.
#pragma once

#include <functional>
#include <vector>

#include "model/evaluate.h"

namespace pesuite {

// Requests of all combinations of the grid's values; axes that are not in it stay NaN.
std::vector<Task::Request> axis_grid(const EvalConfig&, const Task&, int length,
                                     std::uint64_t seed);

// Where a problem is evaluated, and whether training has it.
struct Condition {
  Json coords;
  bool trained;
};
Condition condition_of(const Task&, const EvalConfig&, const Task::Request&);

// `first` is the first of the examples.
void evaluate_problem(const Scorer&, const Task&, const EvalConfig&, const Task::Request& first,
                      std::int64_t steps, const std::function<void(double)>& progress,
                      std::vector<Observation>& out);

}  // namespace pesuite
