// The encodings and tasks that are built here.
#pragma once

#include <cstdlib>

#include "plugin/library.h"

namespace pesuite::testing {

inline const Catalog& built_catalog() {
  // Elsewhere where the tests were brought to another machine.
  const char* const moved = std::getenv("PESUITE_TEST_PLUGINS");
  static const Catalog catalog = open_catalog({moved != nullptr ? moved : PESUITE_TEST_PLUGINS});
  return catalog;
}

}  // namespace pesuite::testing
