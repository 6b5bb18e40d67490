// cells.tsv of a run: its cells, and how each ended, a line each; so that a look at a run of
// 100,000 cells reads one file. And what is going on in the run, by that and the leases of its
// cells.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cell/lease.h"
#include "plan/plan.h"

namespace pesuite {

inline constexpr const char* cell_log_name = "cells.tsv";

// Both while nobody else writes to the run.
void write_cell_log(const fs::path& run, const std::vector<PlannedCell>&);  // anew, as they are now
void log_cell(const fs::path& run, const std::string& cell, PlannedCell::State,
              const std::string& reason = "");

struct CellStanding {
  std::string id, label, state, since, reason;  // of one that ended: when and, if it failed, why
  bool is_trunk = false;
  double seconds = 0;  // estimated, of the whole of what was left
  std::optional<Holder> holder;
};
struct RunStanding {
  std::vector<CellStanding> cells;
  std::size_t done = 0, diverged = 0, failed = 0, running = 0, left = 0;
  double work_left = 0;     // seconds of one cell after the other
  double seconds_left = 0;  // with as many at a time as now; 0: none runs
};
// Error (data) where the run has no such file.
RunStanding read_standing(const fs::path& run, const Store&);

}  // namespace pesuite
