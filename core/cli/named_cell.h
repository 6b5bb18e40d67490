// Checkpoints of a run's cells, by the names that its report gives them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pesuite::cli {

// RUN/ENCODING/TASK/MODEL/SEED, of which names may be missing that no two cells differ in, and
// best or step_N behind them instead of the last checkpoint. RUN is a run's folder or part of the
// name of one below results. Nothing when there is no such run; Error (usage) when the names fit no
// cell or several, or one that was evaluated with another encoding than it trained with; Error
// (data) when the weights are not there.
std::optional<std::filesystem::path> checkpoint_of_cell(const std::string& name);

}  // namespace pesuite::cli
