// Checkpoints as users name them, and what their models can read.
#pragma once

#include <filesystem>
#include <string>

#include "cell/cell.h"

namespace pesuite::cli {

// A file, or the name of one without its ending, or a run's folder. Error (data) when it is none.
std::filesystem::path find_checkpoint(const std::string& name);

// The number of the task, of those a cell was trained on, that an expression names; 0: its own, or
// a new one in its alphabet.
std::size_t part_of(const CellConfig&, const Catalog&, const std::string& task);
// A task that a cell's model is evaluated on. The configuration gets no more examples than a text
// has, and no protocol where the task is a problem. Error (usage) where the model lacks the
// task's tokens and classes, or the task cannot be evaluated so. `own_axes`: of the configuration's
// axes those stay that the task has; else one that it lacks is an error.
Task evaluated_task(const Catalog&, const CellConfig&, const std::string& text, EvalConfig&,
                    bool own_axes = false);

}  // namespace pesuite::cli
