// Trackers that hear of a run while it goes on, as the suite's [track] asks. What cells at work say
// of their loss stands in live.jsonl beside the records, and for each tracker a process of its own
// ('pesuite export --follow') hands on both: one that hangs or fails costs the run nothing.
#pragma once

#include <chrono>
#include <map>
#include <set>

#include "cell/cell.h"
#include "plan/plan.h"
#include "run/process.h"
#include "run/work.h"

namespace pesuite {

class Tracking {
 public:
  Tracking(const Suite& suite, std::filesystem::path run) : suite_(suite), run_(std::move(run)) {}
  Tracking(const Tracking&) = delete;
  Tracking& operator=(const Tracking&) = delete;
  ~Tracking();  // ends the processes

  void begin();
  // A line a second of each cell.
  void heard(const PlannedCell&, const CellProgress&);
  std::set<pid_t> processes() const;
  // When the run is over: waits for them as long as the suite says. A sentence for each that
  // could not hand on all of it.
  std::vector<std::string> end();

 private:
  struct Tracker {
    std::string name, export_command;  // that hands on what is missing
    WorkerProcess process;
  };
  std::filesystem::path log(const std::string& tracker) const;

  const Suite& suite_;
  const std::filesystem::path run_;
  std::vector<Tracker> trackers_;
  std::map<std::string, std::chrono::steady_clock::time_point> told_;  // by cell
};

}  // namespace pesuite
