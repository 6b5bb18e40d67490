// The work of one process: training and evaluation of a cell.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backend/group.h"
#include "cell/cell.h"

namespace pesuite {

struct CellProgress {
  std::string phase;  // "train" or "eval 1024"
  std::int64_t step = 0, steps = 0;
  double loss = 0, tokens_per_second = 0;
  double share = 0;  // of the whole cell, by FLOPs
};

struct CellPlace {     // what computes a cell
  std::string device;  // the backend's description
  std::string group;   // that of the processes, where there are several
  int processes = 1;
  std::string determinism;  // level that this process reaches
};

struct CellWatch {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const CellPlace&)> opened;
  std::function<void(const CellProgress&)> progress;
  std::function<void(const std::string&)> log;
};

enum class CellOutcome { done, diverged, stopped };

struct CellWork {
  CellConfig cell;
  std::vector<CellEval> evals;
  std::vector<std::int64_t> branches;  // steps at which other trainings branch off from this one
  std::int64_t until = 0;  // trained no further, for it is wanted for its branches alone; 0: whole
  int reach = 0;           // of the suite's evaluations, see CellEval
  int longest = 0;         // sequence that its task has to make
  int threads = 1;
  bool recompute = false;  // activations, in the backward pass
};

// Trains what is not trained, from its checkpoint or its trunk's where there is one, and evaluates
// what is not evaluated. Results appear in the store file by file, each whole or not at all.
// Several processes share the passes of a training step, and take turns at the evaluations.
CellOutcome run_cell(const CellWork&, const Store&, const std::vector<std::string>& plugin_path,
                     const CellWatch&, Group&);

}  // namespace pesuite
