// What is measured, one row a metric: who writes records, states hypotheses, compares or shows
// looks here. A new metric is a row and its computation.
#pragma once

#include <string_view>
#include <vector>

namespace pesuite {

struct Metric {
  enum class Better { lower, higher, neither };
  enum class Written { nats, perplexity, share, number };  // shares as percent

  std::string_view name;  // in records and hypotheses
  std::string_view unit;  // in records
  Better better;
  Written written;
  double matters;            // the smallest effect that does, in its unit; 0: not known
  std::string_view heading;  // "exact match"
  std::string_view says;     // what a share is one of: "Examples with every target right"
  // Of problems: a column of their table beside accuracy; a map by length and axis.
  bool column = false, map = false;
  bool bounded = false;  // lies between 0 and 1, and a model that diverged has 0

  const char* direction() const;  // in records: "lower", "higher", "none"
};

// What a training took, which differs from run to run: times and memory.
bool is_cost(std::string_view metric);

const std::vector<Metric>& metrics();
// Error (usage) where there is none.
const Metric& metric(std::string_view name);

}  // namespace pesuite
