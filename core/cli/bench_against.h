// `bench KIND --against PROGRAM`.
#pragma once

#include "cli/arguments.h"

namespace pesuite::cli {

void add_flags_of_comparison(Arguments&);
// This program and another build of it in turn, window by window.
int bench_against(const Arguments&);

}  // namespace pesuite::cli
