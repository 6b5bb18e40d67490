// What verbs with a baseline have in common.
#pragma once

#include "analysis/baseline.h"
#include "analysis/gate_calibration.h"

namespace pesuite::cli {

// Writes what calibration found, and the first steps of trainings, into the baseline's file.
void keep_calibration(const fs::path& file, Baseline&, const GateCalibration&,
                      const std::string& kind, const Json& prefix);
// The first steps that this program takes of a run's trainings; null where another program has
// recorded the run, or its suite cannot be planned any more, which `notes` say.
Json prefix_of_run(const fs::path& run, const std::vector<std::string>& plugin_path,
                   std::vector<std::string>& notes);

}  // namespace pesuite::cli
