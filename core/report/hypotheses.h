// Verdicts on hypotheses for readers: sentences, a table, JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/judge.h"
#include "report/tables.h"

namespace pesuite {

// "reproduced at this size, p < 0.01", "undecided (5 seeds for 80 % power)".
std::string verdict_text(const Judged&);
// A line a hypothesis: its verdict, what it says, and what was measured.
std::vector<Text> hypothesis_lines(const std::vector<Judged>&);
Json to_json(const RunData&, const std::vector<Judged>&);  // pesuite.hypotheses/1
TableFile hypotheses_table(const std::vector<Judged>&);

}  // namespace pesuite
