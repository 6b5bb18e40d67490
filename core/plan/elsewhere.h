// Models of a suite that were trained elsewhere: a folder with weights takes the place of a
// training.
#pragma once

#include <string>
#include <vector>

#include "plan/facts.h"

namespace pesuite {

// The suite's models; those trained elsewhere with what their folders say. What is wrong with a
// folder is a problem of the suite.
std::vector<SuiteModel> described_models(const Suite&, Problems&);

struct Misfit {
  std::string where, why;  // a line of the suite; "": nothing is wrong
};
// Whether such a model can be evaluated with this encoding on this task: it does not train, and the
// task has to speak in its tokens.
Misfit misfit(const SuiteModel&, const SuiteEncoding&, const SuiteTask&, const TaskFacts&);

}  // namespace pesuite
