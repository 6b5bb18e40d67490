// Running a plan: a process for each cell, several at a time; what is done is skipped, what was cut
// off goes on, what crashes is a record. Others may run the same plan into the same folder, here or
// on other machines: each cell is computed by one of them.
#pragma once

#include <string>
#include <vector>

#include "plan/selection.h"
#include "run/progress.h"

namespace pesuite {

struct RunOptions {
  fs::path out = "results";
  int jobs = 0;  // 0: as many cells as cores
  bool fail_fast = false;
  int retries = 0;     // of cells that crash or run out of memory or time
  std::string rerun;   // "", "failed", "all", or a filter
  bool resume = true;  // false: begun cells start over
  // Words before the program in the command of a cell, e.g. mpirun -n 2, which starts it as several
  // processes; then one cell at a time unless `jobs` says more.
  std::vector<std::string> launch;
  Shard shard;     // of the cells
  int stage = -1;  // of the plan alone, see stages_of(); -1: all
  // Of this machine's GPUs as CUDA numbers them; cells are dealt out, where `jobs` is more several
  // share one. Empty: the first one.
  std::vector<int> devices;
  bool sandbox = false;  // this process is in one, and each worker is to watch its own
  ProgressMode progress = ProgressMode::automatic;
  std::vector<std::string> plugin_path;
  std::vector<std::string> command;  // that asked for the run, for its records
};

struct RunResult {
  fs::path folder;  // of the run
  std::size_t done = 0, diverged = 0, failed = 0, skipped = 0, left = 0;
  std::size_t elsewhere = 0;          // of those done, by other processes meanwhile
  bool last = true;                   // no other process is at this run any more
  bool ran = false;                   // at least one cell was started
  bool recorded = false;              // the records are not as they were
  int stopped_by = 0;                 // signal that ended the run early
  std::vector<std::string> failures;  // a sentence each
  std::vector<std::string> untold;    // a sentence for each tracker that did not hear of all
};

// Cells that can run at once on this machine.
int default_jobs(int threads);
// Cells at a time: what was asked for, else one a core; of devices one on each, or several short
// ones.
int jobs_of(const RunOptions&, int threads, const Plan&);

RunResult run_suite(const Suite&, const Plan&, const RunOptions&);

// Run folder of a suite under `out`: an existing one for the same resolved suite, else a new name.
fs::path run_folder(const Suite&, const fs::path& out);

}  // namespace pesuite
