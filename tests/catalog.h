// The encodings and tasks that are built here.
#pragma once

#include "plugin/library.h"

namespace pesuite::testing {

inline const Catalog& built_catalog() {
  static const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  return catalog;
}

}  // namespace pesuite::testing
