// Runs by their names, for verbs that read one.
#pragma once

#include <string>

#include "base/file.h"

namespace pesuite::cli {

// A run's folder: as given, or the latest below OUT/runs whose name contains it. Error (usage)
// where there is none with records.
fs::path find_run(const std::string& name, const fs::path& out);
// The same, and "" where there is none.
fs::path run_named(const std::string& name, const fs::path& out);

}  // namespace pesuite::cli
