// Runs by their names, for verbs that read one.
#pragma once

#include <string>

#include "base/file.h"

namespace pesuite::cli {

// A run's folder: as given, or the latest below OUT/runs whose name contains it. Error (usage)
// where there is none that has `file`: its records, unless another is asked for.
fs::path find_run(const std::string& name, const fs::path& out,
                  const std::string& file = "records.jsonl");
// The same, and "" where there is none.
fs::path run_named(const std::string& name, const fs::path& out,
                   const std::string& file = "records.jsonl");

}  // namespace pesuite::cli
