// Flags of every verb that reads a suite.
#pragma once

#include "cli/arguments.h"
#include "suite/suite.h"

namespace pesuite::cli {

void add_suite_flags(Arguments&);
SuiteChoices suite_choices(const Arguments&);

}  // namespace pesuite::cli
