// list run, list baseline: what results there are.
#pragma once

#include <string>

#include "analysis/baseline.h"
#include "cli/arguments.h"

namespace pesuite::cli {

// Both print a table, or JSON with --json; --out and --baselines say where.
int list_runs(const Arguments&);
int list_baselines(const Arguments&);
std::string summary_of(const Baseline&);  // "24 series of suite 'gate', 3 seeds, calibrated"

}  // namespace pesuite::cli
