// Which trainings cells share. Cells that differ in evaluation alone have one training; one that
// switches its encoding branches off from the training before the switch, its trunk, which saves a
// checkpoint there. So equal beginnings are trained once.
#pragma once

#include "plan/plan.h"

namespace pesuite {

// The switches of an expression in steps. Error (usage) where one does not lie inside the training
// or behind the one before it.
std::vector<SwitchConfig> resolve_switches(const EncodingExpression&, const TrainSettings&,
                                           const TrainConfig& start, const ModelConfig&);

// Makes a cell the branch of its task: from the trunk of all budgets it goes on with a learning rate
// that falls over the last part of its own budget (warm-up, stable, decay: Hu et al. 2024). Error
// (usage) where it would begin before the warm-up ends.
void branch_for_budget(CellConfig&, const SuiteTask&);

QkNorm qk_norm_named(const std::string&);  // as a switch names it

// Says of each cell whether it does its training itself and what it goes on from, and adds the
// trunks that no cell trains.
void share_trainings(Plan&);

// Finds out what is done of cells and trunks, in one list as `after` counts them, and at which
// steps those that have not begun still need a checkpoint.
void refresh_all(std::vector<PlannedCell>&, const Store&);

// What it goes on from is there.
bool is_ready(const PlannedCell&, const std::vector<PlannedCell>& all, const Store&);

struct SharedSteps {
  std::int64_t taken = 0, alone = 0;  // of the whole plan, and if each cell trained for itself
};
SharedSteps shared_steps(const Plan&);
std::string trainings_table(const Plan&);  // "" where nothing is shared
Json trainings_json(const Plan&);

}  // namespace pesuite
