// Results over commits: a database with a row an observation, keyed by series, commit and seed.
// The same runs give the same history in whatever order they are added.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/tracked.h"
#include "history/database.h"
#include "history/git.h"

namespace pesuite {

struct HistoryPoint {
  Commit commit;
  std::map<std::uint64_t, Observed> seeds;
};
struct HistorySeries {
  Tracked what;         // without seeds
  std::string machine;  // of speed and memory, which are followed on each apart; else ""
  std::vector<HistoryPoint> points;  // in the order of commits
};

class History {
 public:
  // Error (data) where it is no history, or one of a later program.
  History(const fs::path& file, Database::Open);

  struct Added {
    std::size_t observations = 0, changed = 0;  // changed: others stood there, with other values
  };
  // Of two that differ, the one that was recorded later stays.
  Added add(const Commit&, const std::vector<Tracked>&, const std::string& machine);
  // Series in the order of their names; commits by their position where git knew all, else by date.
  std::vector<HistorySeries> all();

 private:
  void add_commit(const Commit&);
  Database database_;
};

// The mean over seeds that have a number. Where commits have different seeds, each counts as its
// distance from its own median over commits, so that a lucky seed that joins is no change.
// NaN for points without any.
std::vector<double> values_of(const HistorySeries&);

}  // namespace pesuite
