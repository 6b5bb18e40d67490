// What stands beside the records of a run and says what was asked for.
#pragma once

#include "run/run.h"

namespace pesuite {

// The plan of the whole suite, whatever part of it runs.
Plan plan_of_all(const Suite&, const Plan&, const RunOptions&, const Store&);

// suite.resolved.toml, plan.json and cells.tsv, while nobody else writes to the run.
void write_run_context(const Suite&, const Plan& whole, const fs::path& run, const Store&);

// Before a run goes on, while nobody else is at it. What writers that were killed have left goes
// away; names of the run's files that are not what was written, which `notes` hears of. It is no
// longer sealed then.
std::vector<std::string> tidy_run(const fs::path& run, std::vector<std::string>& notes);
// What was left in folders of cells where nobody works now: workers sweep their own.
void sweep_finished_cells(const std::vector<PlannedCell>&, const Store&);

// Takes away what there is of a cell; of one that failed that it did, since its checkpoint is still
// good.
void start_over(const PlannedCell&, const Store&);

}  // namespace pesuite
