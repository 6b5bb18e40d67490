// A worker's process: its own group, limits and log; what it says comes through a pipe.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pesuite {

struct WorkerCommand {
  std::string program;  // file, or name to look for
  std::vector<std::string> words;
  std::filesystem::path log;  // of its stderr, which is added to
  double memory_limit = 0;    // bytes; 0: none
  int threads = 1;
  bool fixed_instructions = false;  // see cell/determinism.h
};
struct WorkerProcess {
  pid_t pid = 0;
  int output = -1;  // reads what it writes to stdout; does not block
};
WorkerProcess start_worker(const WorkerCommand&);
// While it lives, workers that are started see one device alone: that at `place` of `devices`, of
// those that this process sees, CUDA_VISIBLE_DEVICES counted in. Place -1: as this process.
class GivenDevice {
 public:
  GivenDevice(const std::vector<int>& devices, int place);
  ~GivenDevice();
  GivenDevice(const GivenDevice&) = delete;
  GivenDevice& operator=(const GivenDevice&) = delete;

 private:
  std::optional<std::string> before_;
  bool set_ = false;
};
// At once, with all that it has started and that may hold its files.
void end_group(pid_t leader);

// Makes what leaves its group, and loses its parent, a child of this process.
void adopt_strays();
// Ends all children of this process but these, whatever groups they are in.
void end_strays_but(const std::set<pid_t>& workers);

}  // namespace pesuite
