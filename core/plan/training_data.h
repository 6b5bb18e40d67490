// What a training reads beside its task at one length: a mixture of tasks, at many lengths.
#pragma once

#include <set>

#include "plan/facts.h"

namespace pesuite {

// How many symbols the tasks of a training have together. `later_lengths`: of what the encodings of
// the suite switch to. Error (usage) where a task lacks examples of a length that training draws,
// or takes nothing before them.
int alphabet_of(const Catalog&, const CellConfig&, const SuiteTask&, const Lengths&,
                const std::set<int>& later_lengths);

}  // namespace pesuite
