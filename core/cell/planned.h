// A run's plan.json, for what reads a run without planning its suite again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

inline constexpr const char *plan_file = "plan.json", *plan_schema = "pesuite.plan/1";

// Of a run's folder. Each of the `cells` has the ids `cell` and `training`, the texts `expression`,
// `encoding`, `task` and `model`, a whole number `seed`, an object `config` and a list `evals`.
// Error (data) where it is missing, damaged, or of another schema.
Json read_plan(const std::filesystem::path& run);

// Words of a cell's name, between "·" as reports write it, or "/".
std::vector<std::string> cell_words(std::string name);

}  // namespace pesuite
