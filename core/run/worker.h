// What the runner tells a worker process, and the worker.
#pragma once

#include "run/work.h"

namespace pesuite {

struct WorkerOrder {
  CellWork work;
  fs::path store;
  std::vector<std::string> plugin_path;
  bool divergence_fails = false;
  int ordinal = 0;     // of the workers that a run has started
  int patience = 120;  // seconds it has to stop once it is asked, before it ends itself
  std::string nonce;   // that stands in each message, so that nobody else is taken for the worker
  bool sandbox = false;
};
Json to_json(const WorkerOrder&);
WorkerOrder order_from_json(const Json&);

// Why a cell that diverged counts as failed, where the suite says so.
inline constexpr const char* divergence_failed = "training diverged, and on_divergence is 'fail'";

// Does what `file` says: trains and evaluates one cell, reporting on stdout as JSON lines and to
// the log on stderr. Returns the process's exit code. SIGTERM and SIGUSR1 make it write a
// checkpoint and leave with 75; a step that does not end by then ends with its process group.
int run_worker(const fs::path& file);

}  // namespace pesuite
