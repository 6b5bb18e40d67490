// All tests of a report taken together: each family of them holds its level alone.
#pragma once

#include <vector>

#include "analysis/contest.h"
#include "analysis/judge.h"

namespace pesuite {

struct Discoveries {
  std::size_t families = 0, tests = 0;
  std::size_t called = 0, kept = 0;  // of these by Benjamini and Hochberg over all tests
};
// Families: the pairs of a task under a protocol, its losses over length, the hypotheses.
Discoveries discoveries(const RunData&, const std::vector<std::vector<Contest>>& of_tasks,
                        const std::vector<Judged>&);

}  // namespace pesuite
