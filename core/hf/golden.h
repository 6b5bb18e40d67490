// What a checkpoint computes against what the published modelling code computes from it.
#pragma once

#include <string>
#include <vector>

#include "hf/checkpoint.h"

namespace pesuite::hf {

struct GoldenRun {
  std::string name;    // of the case and the length
  double logits = 0;   // largest difference, relative to the largest logit
  double nats = 0;     // largest difference of a token's
  bool greedy = true;  // the continuation is the same
  std::string why;     // it is not right, or could not be run; "": it is right
};

// A run for each length of folder/expected.json. Error (data) where that cannot be read.
std::vector<GoldenRun> golden_runs(const Catalog&, const fs::path& folder,
                                   const std::string& backend, Precision);

}  // namespace pesuite::hf
