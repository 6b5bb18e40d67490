// The tables of a report: what people read as Markdown, and every value in full as CSV.
#pragma once

#include <string>
#include <vector>

#include "analysis/numbers.h"
#include "analysis/places.h"
#include "analysis/run_data.h"

namespace pesuite {

using Rows = std::vector<std::vector<std::string>>;  // the first is the heading

struct Block {  // one table for people
  std::string title, caption;
  Rows rows;
  std::size_t text_columns = 1;  // the first columns, written at the left
  std::string figure = {};       // name of the one that shows the same, which stands above
};

struct TableFile {  // tables/NAME.md and tables/NAME.csv
  std::string name;
  std::vector<Block> blocks;
  Rows csv;
};
std::string markdown(const Block&);

// Name for files of a task: "KIND_task", with model and training length where several exist.
std::string file_name(const RunData&, const TaskData&, const std::string& kind,
                      const std::string& what = "");
// "Mean over 3 seeds [lowest, highest seed]." or "One seed (42)."
std::string seed_phrase(const TaskData&);

// Name of an encoding's row, with what became of seeds that left nothing: "rope (1 of 3 diverged)".
std::string row_name(const RunData&, const TaskData&, std::size_t encoding);
// Summary for a cell of that row: what the row's name says already is left out.
Spread in_row(const TaskData&, std::size_t encoding, const std::vector<SeedValue>&);

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
TableFile cost_table(const RunData&);
TableFile failure_table(const RunData&);  // no blocks where nothing failed

std::string csv_number(double x);  // shortest exact text, "inf", "" for NaN
}  // namespace pesuite
