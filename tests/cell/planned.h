// A plan.json with as much of a cell as its readers need.
#pragma once

#include <string>

#include "cell/planned.h"

namespace pesuite::testing {

inline Json plan_of_a_cell(const std::string& id) {
  const Json cell = {{"cell", id},         {"training", id},           {"expression", "rope"},
                     {"encoding", "rope"}, {"task", "lags"},           {"model", "nano"},
                     {"seed", 42},         {"config", Json::object()}, {"evals", Json::array()}};
  return {{"schema", plan_schema}, {"cells", {cell}}};
}

}  // namespace pesuite::testing
