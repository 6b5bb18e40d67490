// Records into a RunData: each where it belongs, one after the other.
#pragma once

#include <filesystem>
#include <set>

#include "analysis/run_data.h"

namespace pesuite {

struct SortedRecords {
  std::size_t bad = 0;            // that lack what every record has
  std::set<std::int64_t> limits;  // what evaluations were cut to
};
// The records of a run's file. Encodings that `run` names already keep their order.
SortedRecords sort_records(const fs::path& records, RunData& run);

}  // namespace pesuite
