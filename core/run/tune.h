// The learning rate of each encoding: one grid for all, tried with seeds that are not reported,
// chosen by the validation loss at the training length alone.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "suite/suite.h"

namespace pesuite {

// Rates that the tasks of a suite try, ascending; none where nothing is tuned.
std::vector<double> tuning_rates(const Suite&);
// The suite that tries one of them: its own name, the tuning seeds, the tasks that try this rate,
// evaluations of one example (their lengths are part of a cell).
Suite tuning_suite(const Suite&, double rate);

struct ChosenRate {
  std::string encoding, task, model;
  double rate = 0;
  std::vector<std::pair<double, double>> losses;  // of each rate: mean final validation loss of the
                                                  // tuning seeds, infinite where one diverged
  bool at_edge = false;                           // of the grid: the best may lie outside
};
// From the records of each rate. Error (cells_failed) where an encoding has no loss at any rate.
std::vector<ChosenRate> choose_rates(const std::vector<std::pair<double, RunData>>& tried);
// Puts them into a suite, for its plan.
void use_rates(Suite&, const std::vector<ChosenRate>&);
// Those of tuning runs that are finished below `out`; false where some are not, and nothing is set.
bool load_rates(const Suite&, const fs::path& out, std::vector<ChosenRate>&);

Json to_json(const Suite&, const std::vector<ChosenRate>&);  // pesuite.tuning/1

}  // namespace pesuite
