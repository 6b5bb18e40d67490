// The machine, the build and the settings that a run happened under.
#pragma once

#include "base/json.h"
#include "plugin/library.h"

namespace pesuite {

Json environment(const Catalog&);
std::string build_summary();  // "pesuite 0.1.0 (commit abc1234, g++ 12.2.0, Release)"

}  // namespace pesuite
