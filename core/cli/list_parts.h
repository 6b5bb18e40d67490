// list backend, list data: what computes here, and which text can be fetched.
#pragma once

#include "cli/arguments.h"

namespace pesuite::cli {

// Both print a table, or JSON with --json.
int list_backends(const Arguments&);
int list_data(const Arguments&);

}  // namespace pesuite::cli
