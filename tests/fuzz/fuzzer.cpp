// libFuzzer's side: pesuite_fuzz TARGET [libFuzzer's arguments], see docs/reliability.md.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/fuzz/fuzz.h"

namespace {

using namespace pesuite::fuzz;

const Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  const auto& all = targets();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Target& t) {
    return *count > 1 && std::string_view((*words)[1]) == t.name;
  });
  if (it == all.end()) {
    std::fputs("pesuite_fuzz TARGET [FOLDER...] [-help=1]; targets:", stderr);
    for (const Target& t : all) std::fprintf(stderr, " %s", t.name);
    std::fputc('\n', stderr);
    std::exit(2);
  }
  chosen = &*it;
  std::copy(*words + 2, *words + *count, *words + 1);
  --*count;
  limit_stack();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    run(*chosen, input);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "\nthis is no sentence for a user: %s\n", e.what());
    std::abort();
  }
  return 0;
}
