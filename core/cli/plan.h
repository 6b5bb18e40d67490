// What verbs share that plan a suite.
#pragma once

#include "cli/arguments.h"
#include "plan/formats.h"
#include "run/run.h"

namespace pesuite::cli {

// The suite's own flags, --out and --jobs.
void add_choices(Arguments&);

// Error (usage) where a model that was trained elsewhere would read another tokenizer's tokens.
void check_tokens(const Suite&);

// Tables or JSON of what a suite will run; first what tunes it, where that is not done. `rate`:
// FLOP/s of another machine, or "".
void print_plan(Suite&, const RunOptions&, const Problems&, bool json, const std::string& rate);

// The plan of a suite that is tuned, or needs no tuning. Error (usage) of one that is to be tuned
// first.
Plan plan_to_deal(Suite&, const RunOptions&, Problems, const std::string& rate);
// How the program is started for the same suite by another engine: as given here, with full paths.
PlanCommand command_of(const Arguments&, const Suite&, const RunOptions&);

}  // namespace pesuite::cli
