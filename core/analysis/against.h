// The program's own speed and memory against another build of it, from windows that ran in turn.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

// Seconds of each window by benchmark, and bytes at most of each process, of one program.
struct Windows {
  std::map<std::string, std::vector<double>> seconds;
  std::vector<double> memory;
  // Adds what `pesuite bench --json` printed. Error (data) where that is not its format.
  void add(const Json& printed, const std::string& program);
};

enum class Speed { faster, alike, slower, undecided };
const char* speed_name(Speed);

// A benchmark in both builds; seconds are medians. ratio: new / old of the medians, with a 95 %
// bootstrap interval over pairs of windows (NaN below 6 of them); p: Mann and Whitney's, after
// Holm.
struct AgainstOld {
  std::string name;
  double now = 0, old = 0;
  double ratio = 0, low = 0, high = 0, p = 0;
  Speed verdict = Speed::undecided;
};
// Of the benchmarks that both have, sorted by name. `slower`: p < 0.05, and the whole interval lies
// above 1 + margin; `alike`: it lies within a margin of 1; else undecided.
std::vector<AgainstOld> against_old(const Windows& now, const Windows& old, double margin);

}  // namespace pesuite
