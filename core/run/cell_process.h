// A worker as its run sees it: the process that computes a cell, what it says, and why it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "run/work.h"

namespace pesuite {

struct CellProcess {
  std::size_t cell = 0;  // index into the plan
  pid_t pid = -1;
  int device = -1;    // of those dealt out, by its place
  int output = -1;    // the worker's NDJSON
  std::string nonce;  // of its messages
  std::string buffer;
  double time_limit = 0;     // seconds; 0: none
  std::string kind, reason;  // of a failure
  CellProgress at;
  bool timed_out = false, killed = false;
  std::chrono::steady_clock::time_point start = {};

  double spent() const;       // seconds
  std::string where() const;  // it was, for sentences: " in training, after step 5"
};

// Reads what it has said, and calls `heard` with each message that is its own and no failure, which
// it keeps. False when nothing was there to read.
bool read_messages(CellProcess&, const std::function<void(const Json&)>& heard);

struct Ending {
  int status = 0;         // of waitpid
  bool stopping = false;  // the run was asked to stop
  bool sandbox = false;   // it was held in one
  int& preemptions;       // how often the cell stopped with a checkpoint though nobody asked
  std::filesystem::path log;
  const std::vector<std::string>& launch;  // the command that started it; empty: the run itself
};
// Why it failed, in `kind` and `reason`, which stay empty where it did not. False when it was
// stopped, and has to go on another time.
bool has_ended(CellProcess&, const Ending&);

}  // namespace pesuite
