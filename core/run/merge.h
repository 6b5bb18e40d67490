// Stores of several machines made one, and what of a store nobody needs any more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cell/cell.h"

namespace pesuite {

struct MergeResult {
  std::size_t cells = 0, files = 0, runs = 0;  // that were not here
  std::size_t equal = 0;                       // files that were here, with the same numbers
  std::vector<std::string> different;          // a sentence each, with both numbers
};
// Takes what folder `from` of results has and folder `to` has not: cells, file by file, and runs.
// Where both have a result their numbers are compared; that of `to` stays. Damaged files and leases
// are left where they are. Error (data) where `from` holds no results.
MergeResult merge_results(const fs::path& from, const fs::path& to);

struct Garbage {
  std::vector<fs::path> nodes;
  std::uintmax_t bytes = 0;
  std::size_t kept = 0;
};
// Cells of the store that no run below `out` has in its plan, nor one of the baselines, and that
// nobody computes now.
Garbage find_garbage(const fs::path& out, const std::vector<fs::path>& baselines);

}  // namespace pesuite
