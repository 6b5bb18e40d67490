// Verdicts on hypotheses for readers: sentences, a table, JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/judge.h"
#include "report/tables.h"

namespace pesuite {

// For a terminal: a line a hypothesis and one for each piece of its evidence.
std::string hypotheses_text(const std::vector<Judged>&);
std::string sentence(const Judged&);                       // the verdict with its evidence
Json to_json(const RunData&, const std::vector<Judged>&);  // pesuite.hypotheses/1
TableFile hypotheses_table(const std::vector<Judged>&);

}  // namespace pesuite
