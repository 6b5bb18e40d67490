// One run in several processes, of one machine or of many, over one folder. Who writes the run's
// files holds its lock for that time alone; cells are dealt by leases; who ends last seals the run.
#pragma once

#include <chrono>
#include <map>
#include <set>

#include "base/file.h"
#include "cell/lease.h"
#include "plan/plan.h"

namespace pesuite {

class SharedRun {
 public:
  SharedRun(const fs::path& run, const Store& store);
  ~SharedRun();  // gives back all leases
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;

  // Alone with the run's files, for the time of this object; they nest.
  class Alone {
   public:
    explicit Alone(SharedRun& s) : s_(s) {
      if (s_.depth_++ == 0) s_.lock_.take();
    }
    ~Alone() {
      if (--s_.depth_ == 0) s_.lock_.release();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    SharedRun& s_;
  };

  // A cell, and what it trains. False where another process has one of them; asked often, it looks
  // once a second.
  bool claim(const PlannedCell&);
  void renew(const PlannedCell&, const Holder& now);  // no more often than is of use
  void release(const PlannedCell&);
  // Whether another process has it now.
  bool is_elsewhere(const PlannedCell&);
  // Whether other processes are at the run.
  bool has_others() const { return !runners_.is_free(); }
  // Leaves the run. True where no other process is at it.
  bool leave();

 private:
  static std::set<std::string> nodes(const PlannedCell&);

  FileLock lock_, runners_;
  int depth_ = 0;
  Leases leases_;
  std::map<std::string, PlannedCell> held_;
  std::map<std::string, std::chrono::steady_clock::time_point> looked_, renewed_;
};

}  // namespace pesuite
