// What a series did: levels, changes that count, failures.
#pragma once

#include "analysis/change_points.h"
#include "history/history.h"

namespace pesuite {

struct Change {
  enum class Way { worse, better, neither };  // neither: the metric has no good direction
  Way way = Way::neither;
  bool drift = false;                 // several steps, each too small to count
  std::size_t before = 0, after = 0;  // points: the last of the old level, the first of the new
  double from = 0, to = 0;            // levels
  bool lasts = false;                 // worse, and no later level came back to `from`
  double size() const { return to - from; }
};

struct Failing {  // points in a row where a seed had no number
  std::size_t first = 0, last = 0;
  std::string status;
  bool began = false;  // behind a point where all had one
};

struct Trend {
  std::vector<double> values;  // of each point
  std::vector<Level> levels;   // in points; points without a value lie in the level before them
  double spread = 0;           // of a value around its level; 0: not known
  double counts = 0;           // the smallest change that is listed
  std::vector<Change> changes;
  std::vector<Failing> failing;

  bool open() const;  // something that was once better is worse by now
  Change::Way course(const std::string& direction) const;  // from the first level to the last
};

// `counts`: 0 takes that of the metric, see change_that_counts(). Commits in a row with the same
// bits are one observation: no number of unchanged commits makes a draw more certain.
Trend trend_of(const HistorySeries&, double counts = 0);

// "a1b2..c3d4": the last commit known to be as before and the first that is not.
std::string range_of(const HistorySeries&, std::size_t before, std::size_t after);

}  // namespace pesuite
