// A part of a plan: what a suite's filters leave, and what one of several processes or machines
// that run it together takes.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace pesuite {

// A name of --only that nothing has is a mistake, not a wish for no cells: Error (usage).
void check_filters(const Suite&);
// Whether include, exclude and --only leave a cell.
bool wanted(const Suite&, const Coordinates&);

// Cells are dealt out by what they train, in the order of the plan.
struct Shard {
  int index = 1, count = 1;  // the index counts from 1
};
// "2/8". Error (usage) with what is wrong.
Shard parse_shard(const std::string& flag, const std::string& text);

// Stage 0 waits for nobody; what waits for stage K is of stage K + 1. `all`: cells, then trunks.
std::vector<int> stages_of(const std::vector<PlannedCell>& all);

// Of each its time and that of the longest chain behind it, in seconds: what to start first.
std::vector<double> urgencies(const std::vector<PlannedCell>& all);

// Which of `all` are of the shard, and of the stage unless that is -1. Without a stage those are
// among them that a chosen one waits for.
std::vector<bool> chosen(const std::vector<PlannedCell>& all, const Shard&, int stage);

}  // namespace pesuite
