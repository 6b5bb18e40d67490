// Where the level of a series over commits changed: steps, and slow drift as several steps. By the
// Potts functional with absolute deviations (Storath, Weinmann and Unser 2014; asv uses it too):
// the least sum of |y - level of its segment| plus a price for each step, exactly, so nothing
// depends on the order in which points were found, and one far value is no step.
#pragma once

#include <cstddef>
#include <vector>

namespace pesuite {

struct SeriesPoint {
  double value = 0;  // finite
  std::size_t commits =
      1;  // in a row that computed the very same numbers: they are one observation
};

struct Level {
  std::size_t begin = 0, end = 0;  // points [begin, end)
  double value = 0;                // median
};

// A segment has at least so many commits: one commit alone may be a bad draw.
inline constexpr std::size_t shortest_level = 2;

// The spread of a point around its level, from differences of neighbours, which steps and drift
// hardly touch. 0 where most neighbours are equal.
double spread_of(const std::vector<SeriesPoint>&);

// The segments, in order; one where nothing changed, none for no points. `spread`: of a point; 0
// takes every difference for a change. The price of a step is such that in a series of noise alone
// at most 1 % have one (docs/regressions.md has the rates).
std::vector<Level> levels_of(const std::vector<SeriesPoint>&, double spread);

double median_of(std::vector<double>);  // NaN for none

}  // namespace pesuite
