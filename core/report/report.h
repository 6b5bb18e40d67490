// Tables and figures of a run, made from its records alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

namespace fs = std::filesystem;

struct ReportResult {
  fs::path file;                   // report.md
  std::string headline;            // the answer and the main table, for the terminal
  std::string findings;            // what follows from it, a line each, and verdicts
  Json verdicts;                   // on hypotheses, pesuite.hypotheses/1
  std::vector<fs::path> figures;   // SVG files; empty where gnuplot is missing
  std::vector<std::string> notes;  // what is missing or damaged
};

// Reads `run`/records.jsonl and writes, beside it: report.md; tables/NAME.{md,csv};
// figures/NAME.{svg,gp,tsv}; hypotheses.json. `expect` are hypotheses beside those of the suite,
// marked as not planned. Error (data) when there are no records, (usage) for a bad hypothesis.
ReportResult write_report(const fs::path& run, const std::vector<std::string>& expect = {});
bool report_exists(const fs::path& run);

}  // namespace pesuite
