// Records and verdicts in formats of other programs. Each is a function from values to text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "exports/verdicts.h"

namespace pesuite {

struct ExportedRun {
  std::string name;  // of its folder
  std::vector<Json> records;
  // Of cells at work, in the form of records; not counted where `records` have the cell.
  std::vector<Json> live = {};
  std::map<std::string, Json> configs = {};  // of cells by id, as its plan has them
};

// Every field of every record a column, coordinates as coords.NAME.
std::string records_csv(const std::vector<ExportedRun>&);
// The same as the table `records` of a new database.
void records_sqlite(const std::vector<ExportedRun>&, const fs::path& file);

// JUnit XML: a test a cell, failed where it crashed or ran out of something; and a test a series
// with a verdict, failed where it fails the gate, skipped where it is inconclusive.
std::string junit_xml(const std::vector<ExportedRun>&, const Verdicts*);

// Results as means over seeds with 95 % intervals (t).
std::string bencher_json(const std::vector<ExportedRun>&);  // Bencher metric format
// Of github-action-benchmark, where a file has one direction: "lower" is its customSmallerIsBetter,
// "higher" its customBiggerIsBetter.
std::string action_benchmark_json(const std::vector<ExportedRun>&, const std::string& direction);

// Events in MLPerf's format (mlcommons/logging, rules 6.0), OUT/RUN/SERIES/result_N.txt for the
// N-th seed; how many there are. eval_accuracy is the loss of a validation in nats, eval_length a
// result at a length.
std::size_t write_mlperf(const std::vector<ExportedRun>&, const fs::path& out);

// A comment for a pull request, below the 65,536 characters that GitHub takes. Its first line is a
// mark by which the next one can replace it.
std::string comment_markdown(const Verdicts&);

}  // namespace pesuite
