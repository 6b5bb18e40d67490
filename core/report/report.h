// Tables and figures of a run, made from its records alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> expect = {};        // hypotheses beside those of the suite, not planned
  std::vector<std::string> formats = {"svg"};  // of pictures, see picture_formats()
  bool slides = false;                         // the page as slides.md too
};

struct ReportResult {
  fs::path file;                   // report.md
  std::string screen;              // its answer, claims and main tables, for a terminal
  Json verdicts;                   // on hypotheses, pesuite.hypotheses/1
  std::vector<fs::path> figures;   // pictures; empty where gnuplot is missing
  std::vector<std::string> notes;  // what is missing or damaged
};

// Reads `run`/records.jsonl and writes, beside it: report.md, and its evidence as details.md;
// report.html, both as one page; tables/NAME.{md,tex,csv}; figures/NAME.{svg,gp,tsv};
// hypotheses.json. Error (data) when there are no records, (usage) for a bad hypothesis.
ReportResult write_report(const fs::path& run, const ReportOptions& = {});
bool report_exists(const fs::path& run);

}  // namespace pesuite
