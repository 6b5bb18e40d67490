// What a suite will run, and what of it is done already. Making a plan runs nothing; plugins are
// asked about their options and sizes in child processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cell/record.h"
#include "plan/rate.h"
#include "plugin/library.h"
#include "suite/suite.h"

namespace pesuite {

struct PlannedCell {
  std::string encoding, task, model;  // ids in the suite
  std::string family;                 // of the task, by its card
  std::uint64_t seed = 0;
  CellConfig config;
  std::vector<CellEval> evals;
  int reach = 0;              // of all its evaluations, see CellEval
  int longest = 0;            // sequence of its training and evaluations, tokens
  std::string encoding_text;  // the expression as it was written
  std::string expression;     // the same with all options
  std::string id, series;
  std::string training;  // id of what it trains, see training_of()

  // Of its training, see trainings.h.
  bool is_trunk = false;               // no cell of the suite: others branch off from it
  std::int64_t until = 0;              // a trunk: its last step
  bool trains = true;                  // itself; false: another cell has the same training
  std::ptrdiff_t after = -1;           // cell, or trunk behind the cells, that has to train before
  std::vector<std::int64_t> branches;  // steps at which others wait for its checkpoint

  double parameters = 0, encoding_parameters = 0;
  double train_flops = 0, validation_flops = 0, eval_flops = 0;
  double flops() const { return train_flops + validation_flops + eval_flops; }
  double memory = 0;   // bytes, estimated
  double seconds = 0;  // of what is left, estimated

  enum class State { planned, begun, done, diverged, failed } state = State::planned;
  std::int64_t step = 0;  // of the checkpoint, where begun
  std::size_t missing_evals = 0;
  std::string reason;  // of a failure

  Coordinates coordinates() const;
  std::string label() const;  // "rope·ledger·nano·s42"
};
// Its records' context; the cell is on loan.
CellContext context_of(const Suite&, const PlannedCell&);
std::string_view state_name(PlannedCell::State);
std::int64_t last_step(const PlannedCell&);  // that it trains to

struct Plan {
  std::vector<PlannedCell> cells;
  std::vector<PlannedCell> trunks;    // trainings that only others go on from
  std::vector<std::string> notes;     // what the user should know, a sentence each
  std::vector<std::string> problems;  // of the plugin search path
  double rate = 0;                    // FLOP/s assumed for a cell
};

// Error (usage, plugin, data) with all problems at once when the suite cannot run.
// `problems` are those already found in the suite's file.
Plan make_plan(const Suite&, const std::vector<std::string>& plugin_path, const Store&,
               Problems problems = {});

// Finds out again what is done.
void refresh(PlannedCell&, const Store&);

// FLOPs, memory and what is left of its time.
void estimate_cost(PlannedCell&, const Rate&, bool recompute);
// Cells that are worth running on one device at a time, by their estimates.
int cells_a_device(const Plan&);

// What a cell may take, the suite's word before what its estimated cost suggests; 0: no limit.
struct CellLimits {
  double seconds = 0, bytes = 0;
};
CellLimits limits_of(const Suite&, const PlannedCell&, double rate);

std::string plan_table(const Plan&, const Suite&, int jobs);
Json to_json(const Plan&, const Suite&);
// BibTeX of the encodings and tasks used, each entry once.
std::string bibliography(const Plan&, const Catalog&);

}  // namespace pesuite
