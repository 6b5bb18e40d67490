// What the libraries on a verb's search path offer, and ids of suites as names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "plugin/library.h"
#include "suite/suite.h"

namespace pesuite::cli {

// Opens the libraries; what was refused is told on stderr.
Catalog catalog_of(const Arguments&);

// An id that shipped suites give to an encoding, a task or a model.
struct SuiteId {
  std::string kind, id, means;      // "task", "lags", "toylag(document=512)"
  std::vector<std::string> suites;  // that say so
};
// All ids that are not the name of what they mean, sorted by kind and id.
std::vector<SuiteId> suite_ids();
std::vector<SuiteId> suite_ids(const Suite&);

}  // namespace pesuite::cli
