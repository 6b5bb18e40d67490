// What a run shows, in sentences that follow from its records by the rules of docs/statistics.md:
// a difference is called with its interval and p, a tie with the difference that could have been
// seen.
#pragma once

#include <string>
#include <vector>

#include "analysis/across.h"
#include "analysis/contest.h"
#include "report/tables.h"

namespace pesuite {

// "p = 0.013", "p < 0.01"; below 20 seeds a test is not exact enough for a smaller p.
std::string p_text(double p, std::size_t seeds = 20);

// Of one task, a sentence each, under its main protocol.
std::vector<Text> task_findings(const RunData&, const TaskData&, const std::vector<Contest>&);
// Every pair at every length and protocol; for the page, who beats whom under the main protocol.
TableFile duel_table(const RunData&, const TaskData&, const std::vector<Contest>&);

std::vector<Text> across_findings(const RunData&, const Across&);
TableFile across_table(const RunData&, const Across&);  // no blocks where there is nothing to rank
// What is right on problems whose tasks the suite gives a weight, in range and beyond; no blocks
// where none has one.
TableFile weighted_table(const RunData&);

}  // namespace pesuite
