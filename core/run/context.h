// What stands beside the records of a run and says what was asked for.
#pragma once

#include "run/run.h"

namespace pesuite {

// The plan of the whole suite, whatever part of it runs.
Plan plan_of_all(const Suite&, const Plan&, const RunOptions&, const Store&);

// suite.resolved.toml, plan.json and cells.tsv, while nobody else writes to the run.
void write_run_context(const Suite&, const Plan& whole, const fs::path& run, const Store&);

}  // namespace pesuite
