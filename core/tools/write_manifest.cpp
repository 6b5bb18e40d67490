// write_manifest LIBRARY...: what `pesuite plugin manifest` does, for the build of our own plugins,
// which need not wait until the whole program is there.
#include <cstdio>
#include <exception>

#include "plugin/library.h"

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) pesuite::write_manifest(argv[i]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 4;
  }
}
