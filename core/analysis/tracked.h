// What of a run is followed over commits: its final observations by series, seeds apart.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace pesuite {

struct Observed {
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN where the status is not ok
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  std::string status = "ok";
  std::string ts;  // of the record
};

struct Tracked {
  // Of (suite, encoding, task, model, metric, split, coordinates, the records' series): a changed
  // definition, task version or numerics epoch begins a new one.
  std::string id;  // 16 hexadecimal digits
  std::string suite, encoding, task, model, metric, unit, direction, split;
  std::string series;  // of the records
  Json coords;
  std::map<std::uint64_t, Observed> seeds;

  std::string place() const;  // "nll at 128, sliding(64)"
  std::string name() const;   // "toylag · rope · micro · nll at 128, sliding(64)"
};

// How much of a run: what tells how good it is; also its speed and memory; or every number,
// positions, distances and probes too.
enum class Follow { results, costs, all };

// In the order of the records: evaluations, the last validation loss, failures as metric "cell".
std::vector<Tracked> tracked(const std::vector<Json>& records, Follow = Follow::results);

// The smallest change of a metric that a history speaks of: a quarter of what matters, where that
// is known; else a share of `level`, 1 %, of speed and memory 5 %.
double change_that_counts(const std::string& metric, double level);

}  // namespace pesuite
