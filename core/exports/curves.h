// Reference convergence: how loss falls with steps, by which a later program is measured. MLPerf
// calls them reference convergence points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace pesuite {

struct Curve {
  std::string suite, encoding, task, model, split, series;
  std::vector<std::int64_t> steps;  // at which every seed has a number
  std::vector<std::uint64_t> seeds;
  std::vector<std::vector<double>> values;  // of each seed, nats at each step
  std::string name() const;                 // "toylag · rope · micro, val"
};

// Training and validation losses; seeds that diverged are left out.
std::vector<Curve> curves_of(const std::vector<Json>& records);
Json to_json(const std::vector<Curve>&);          // pesuite.curves/1
std::vector<Curve> read_curves(const fs::path&);  // Error (data) where it is none

struct CurveVerdict {
  enum class Kind { identical, equivalent, slower, faster, inconclusive, missing, other } kind;
  std::string name, sentence;
};
// Each curve of the reference against that of the same name, by the paired test on the mean loss
// over the second half of the steps, with `margin` nats. `other`: of another definition.
std::vector<CurveVerdict> compare_curves(const std::vector<Curve>& reference,
                                         const std::vector<Curve>& now, double margin);

}  // namespace pesuite
