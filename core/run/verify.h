// Are a plan's numbers the same bit by bit when they are computed again?
#pragma once

#include <string>
#include <vector>

#include "run/run.h"

namespace pesuite {

struct Verified {
  RunResult again;  // the second run, in a folder of its own
  std::size_t equal = 0;
  std::vector<std::string> different;  // a sentence for each cell that came out otherwise
};

// Trains and evaluates the cells of a finished run once more, below OUT/verify, and compares
// losses, all other records and weights with those of the run's store. What is equal is removed
// again.
Verified verify_determinism(const Suite&, const RunOptions& of_the_run);

}  // namespace pesuite
