// Suites that the app runs, one after the other, each by the program itself. What they compute
// belongs to the store: a job that is cut off goes on where it stopped when the app starts again.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"

namespace pesuite::app {

namespace fs = std::filesystem;

struct Job {
  std::string id;      // 1, 2, ...
  std::string name;    // of its suite
  std::string state;   // queued, running, done, failed, cancelled
  std::string device;  // --device; "": the suite's
  std::string run;     // folder below OUT/runs, once it is known
  std::string why;     // it failed
  Json form;           // that it was made of
};
Json to_json(const Job&);

class Jobs {
 public:
  // Jobs of OUT/app are gone on with. `program`: pesuite; `flags`: behind each run's own.
  Jobs(fs::path program, fs::path out, std::vector<std::string> flags);
  ~Jobs();  // stops the one that runs, which keeps a checkpoint
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  Job add(const std::string& suite, const std::string& name, const std::string& device, Json form);
  std::vector<Job> all() const;
  std::optional<Job> find(const std::string& id) const;
  bool cancel(const std::string& id);  // false: it is not there, or has ended
  // What its run has said so far, from a byte on: lines of JSON, whole ones alone.
  std::string said(const std::string& id, std::size_t from) const;
  fs::path suite_of(const std::string& id) const { return folder_ / (id + ".toml"); }

 private:
  void work();
  void run(Job);
  void keep(const Job&);  // with the lock
  Job* at(const std::string& id);

  fs::path program_, out_, folder_;
  std::vector<std::string> flags_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;
  std::string cancelled_;  // the running one, by its id
  bool ends_ = false;
  std::thread worker_;
};

// Runs the program and gives its exit code; what it says, at most 64 KiB, is added to `said`.
int run_program(const std::vector<std::string>& words, std::string& said, double seconds);

}  // namespace pesuite::app
