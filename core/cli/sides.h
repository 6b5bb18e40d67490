// What comparisons are made of, as it is named on the command line: a run or a baseline.
#pragma once

#include <optional>

#include "analysis/changes.h"
#include "cli/arguments.h"

namespace pesuite::cli {

struct Side {
  Measurement measured;
  std::optional<Baseline> baseline;
};
// A folder with records.jsonl, a baseline's file or name, or part of a run's name. Error (usage)
// where it is none of them, (data) where it is damaged.
Side find_side(const std::string& name, const Arguments&, const std::vector<std::string>& metrics);

// Flags: --out, --baselines.
void add_side_flags(Arguments&);
fs::path baselines_folder(const Arguments&);
// Flags: --require-conclusive, --json, --markdown FILE, --all.
void add_verdict_flags(Arguments&);
// The exit code that a gate has.
int verdict_code(const Changes&, bool require_conclusive);
// Prints what changed as it is asked for, and gives that code.
int show_changes(const Changes&, const Arguments&);

}  // namespace pesuite::cli
