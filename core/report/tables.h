// The tables of a report: what people read, and every value in full as CSV.
#pragma once

#include <string>
#include <vector>

#include "analysis/contest.h"
#include "analysis/numbers.h"
#include "analysis/places.h"
#include "analysis/run_data.h"
#include "report/document.h"

namespace pesuite {

struct TableFile {  // tables/NAME.md, tables/NAME.tex and tables/NAME.csv
  std::string name;
  std::vector<Table> blocks;
  Rows csv;
};

// Name for files of a task: "KIND_task", with model and training length where several exist.
std::string file_name(const RunData&, const TaskData&, const std::string& kind,
                      const std::string& what = "");
// "Mean over 3 seeds [lowest, highest seed]." or "One seed (42)."
std::string seed_phrase(const TaskData&);

// Name of an encoding's row, with what became of seeds that left nothing: "rope (1 of 3 diverged)".
std::string row_name(const RunData&, const TaskData&, std::size_t encoding);
// Summary for a cell of that row: what the row's name says already is left out.
Spread in_row(const TaskData&, std::size_t encoding, const std::vector<SeedValue>&);

// What a reader looks at first: perplexity by length under the main protocol, or accuracy by
// setting. No rows where nothing was evaluated.
Table main_table(const RunData&, const TaskData&, const std::vector<Contest>&);
// Loss of each attempt of tuning; the run has them.
Table tuning_table(const RunData&);
// Corpora: perplexity, ratio to the training length, regret, nats and bits per byte by length.
TableFile length_table(const RunData&, const TaskData&, const std::string& protocol);
// Problems: accuracy with chance and interval, loss and their change, by setting.
TableFile problem_table(const RunData&, const TaskData&);
// What changes with length: use of context, effective length, seeds, accuracy along axes.
TableFile generalisation_table(const RunData&, const TaskData&);
// Tokens that must be recalled, by how far back that stands which they hang on; no blocks where
// the task has none.
TableFile recall_table(const RunData&, const TaskData&);
// What probes found; no blocks where nothing was probed.
TableFile probe_table(const RunData&, const TaskData&);
// How alike attention of encodings looks, where maps of it were kept of the same example.
TableFile attention_table(const RunData&, const TaskData&);
// What was answered to single examples; no blocks where that was not kept.
TableFile prediction_table(const RunData&, const TaskData&);
// Of each training: when it learned, what it reached, how steadily; no blocks without a curve.
TableFile learning_table(const RunData&, const TaskData&);
// The first block: parameters and time; the second: speed and memory.
TableFile cost_table(const RunData&);
TableFile failure_table(const RunData&);  // no blocks where nothing failed

std::string csv_number(double x);  // shortest exact text, "inf", "" for NaN
}  // namespace pesuite
