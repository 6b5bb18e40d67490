// The answer of a run: what its first screen says.
#pragma once

#include <string>
#include <vector>

#include "report/tables.h"

namespace pesuite {

// For each task who keeps what to which length, how much the others lose, and who is best at the
// longest length, also where that one was left out of the ranks. Markdown without emphasis.
std::vector<std::string> answer_sentences(const RunData&);
// A row an encoding and task, the best verdict first; no rows but the heading where there is none.
Block answer_table(const RunData&);
// "2 seeds · trained at 64 · sliding(16) · 24 of 24 cells · trained in 7 min".
std::string answer_line(const RunData&);

}  // namespace pesuite
