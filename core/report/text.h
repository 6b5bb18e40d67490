// Sentences of a report: what ran, what was learned, what a reader must know beside the numbers.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "report/document.h"

namespace pesuite {

Text join_and(const std::vector<Text>&);  // "a, b and c"

// "6 encodings, 4 tasks, ... 24 cells: 22 done, 1 diverged, 1 failed".
std::string cells_sentence(const RunData&);
// Program, machine and determinism in one line.
std::string context_sentence(const RunData&);
// What one seed or several can say about differences.
std::string seeds_sentence(const RunData&);
std::string imported_sentence();  // of numbers of other programs
// Encodings that were trained on at a longer length: "a and b at 2048 too"; "" for none.
std::string further_phrase(const RunData&, const TaskData&);
// How a task was set up and trained.
Text task_sentence(const RunData&, const TaskData&);
// Encodings that did not learn the task where they were trained; "" where all did.
Text trained_sentence(const RunData&, const TaskData&);
// Shares of parameters that training never reached; "" where there are none.
std::string untrained_sentence(const RunData&, const TaskData&);
// What the protocol of an evaluation does, as the end of a sentence.
std::string explain_protocol(const std::string& protocol);

}  // namespace pesuite
