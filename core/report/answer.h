// The answer of a run: what its first screen says.
#pragma once

#include <string>
#include <vector>

#include "analysis/answer.h"
#include "report/tables.h"

namespace pesuite {

// For each task who keeps what to which length, how much the others lose, and who is best at the
// longest length, also where that one was left out of the ranks.
std::vector<Text> answer_sentences(const RunData&);
// A row an encoding and task, the best verdict first; no rows but the heading where there is none.
Table answer_table(const RunData&);
// Of a task at its training length: regret where the optimum is known.
Ground start_ground(const TaskAnswer&);
std::string start_text(const TaskAnswer&, const LengthAnswer&);  // "0.03 above optimum", "97.5 %"
// "fails from 4x", "undecided (26 seeds for 80 % power)".
std::string verdict_text(const TaskAnswer&, const LengthAnswer&);
// A change with its sign, as the measure itself moves: "+0.76", "-12" points.
std::string change_text(const Ground&, double loss);
Text answer_words();  // what its verdicts mean
// "2 seeds · trained at 64 · sliding(16) · 24 of 24 cells · trained in 7 min".
std::string answer_line(const RunData&);

}  // namespace pesuite
