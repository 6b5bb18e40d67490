// Verdicts on hypotheses for readers: sentences, a table, JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/judge.h"
#include "report/tables.h"

namespace pesuite {

// A line a hypothesis: its verdict, what it says, and what was measured.
std::vector<Text> hypothesis_lines(const std::vector<Judged>&);
Json to_json(const RunData&, const std::vector<Judged>&);  // pesuite.hypotheses/1
TableFile hypotheses_table(const std::vector<Judged>&);

}  // namespace pesuite
