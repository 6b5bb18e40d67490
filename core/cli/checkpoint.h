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
// Error (usage) when the cell's model lacks the task's tokens and classes.
void check_alphabet(const Task&, const CellConfig&);

}  // namespace pesuite::cli
