// Verdicts on hypotheses for readers: sentences, a table, JSON.
#pragma once

#include <string>
#include <vector>

#include "suite/hypothesis.h"
#include "report/tables.h"

namespace pesuite {

// For a terminal: a line a hypothesis and one for each piece of its evidence.
std::string hypotheses_text(const std::vector<Judged>&);
TableFile hypotheses_table(const std::vector<Judged>&);

}  // namespace pesuite
