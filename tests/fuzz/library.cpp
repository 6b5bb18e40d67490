// What is read of a library's file before it is loaded.
#include "base/elf.h"
#include "plugin/manifest.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(library) {
  const fs::path file = fuzz::file_of(input, "x.plugin.so");
  build_of(file);
  exported_symbols(file);
}

}  // namespace pesuite
