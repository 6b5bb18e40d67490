// Tables and figures of a run, made from its records alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pesuite {

namespace fs = std::filesystem;

struct ReportResult {
  fs::path file;                   // report.md
  std::string headline;            // the main table, for the terminal
  std::vector<fs::path> figures;   // SVG files; empty where gnuplot is missing
  std::vector<std::string> notes;  // what is missing or damaged
};

// Reads `run`/records.jsonl and writes, beside it: report.md; tables/NAME.{md,csv};
// figures/NAME.{svg,gp,tsv}. Error (data) when there are no records.
ReportResult write_report(const fs::path& run);
bool report_exists(const fs::path& run);

}  // namespace pesuite
