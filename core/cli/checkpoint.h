// Checkpoints as users name them.
#pragma once

#include <filesystem>
#include <string>

namespace pesuite::cli {

// A file, or the name of one without its ending, or a run's folder. Error (data) when it is none.
std::filesystem::path find_checkpoint(const std::string& name);

}  // namespace pesuite::cli
