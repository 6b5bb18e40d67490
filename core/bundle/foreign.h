// Results of other programs as records, so that reports, comparisons and hypotheses can be made of
// them. A row of a table is what one training, or one evaluation of it, gave.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pesuite {

namespace fs = std::filesystem;

struct ForeignOptions {
  // What stands in which column: encoding, seed, task, model, train_len, eval_len, protocol, step,
  // tokens, n; a metric, or metric and value; train_loss, val_loss of curves. "acc" = "test_*" are
  // accuracies at the lengths that stand in place of the star. What is left out is found by its
  // usual names.
  std::vector<std::pair<std::string, std::string>> columns;
  std::map<std::string, std::string> constants;            // what is the same in every row
  std::vector<std::pair<std::string, std::string>> where;  // columns and what rows have in them
  std::string suite;                                       // name in the records
};

struct ForeignResults {
  std::vector<Json> records;
  std::vector<std::string> notes;  // what was left out, and how numbers were understood
};

// Error (data, usage) with the line for what is missing, no number, or given twice.
ForeignResults foreign_results(const fs::path& table, const ForeignOptions&);

}  // namespace pesuite
