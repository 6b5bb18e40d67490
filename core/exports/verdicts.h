// Verdicts of a comparison, read from the JSON that `pesuite compare --json` and gates write, so
// that they can be shown elsewhere.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace pesuite {

struct SeriesVerdict {
  std::string name;     // "ledger · rope · nano · nll at 256"
  std::string verdict;  // identical, improved, equivalent, regressed, inconclusive, new, missing...
  bool gated = true;    // it counts for the exit code
  double difference = 0, low = 0, high = 0, p = 0;  // NaN where it was not computed
  std::size_t seeds = 0, seeds_needed = 0;          // 0: not known
  std::string why, suppressed;
  bool fails() const;  // what makes a gate fail: regressed or missing, gated, not suppressed
};

struct Verdicts {
  std::string before, after, verdict, sentence;
  std::vector<SeriesVerdict> series;
  std::vector<std::string> failures;  // new kinds of failure of cells, a sentence each
  std::vector<std::string> notes;
};

// pesuite.comparison/1. Error (data) for anything else.
Verdicts read_verdicts(const fs::path& file);

}  // namespace pesuite
