// What reads bytes that others wrote, each as a target that takes any input: a user's mistake ends
// in Error with a sentence, everything else is a bug. libFuzzer looks for inputs (fuzzer.cpp);
// those that are kept in corpus/ run as tests (corpus_test.cpp).
#pragma once

#include <sys/resource.h>

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "tests/scratch.h"

namespace pesuite::fuzz {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

struct Target {
  const char* name;
  void (*run)(std::string_view input);
};
inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}
struct Registered {
  Registered(const char* name, void (*run)(std::string_view)) { targets().push_back({name, run}); }
};
#define FUZZ_TARGET(name)                                                         \
  static void fuzz_##name(std::string_view);                                      \
  static const ::pesuite::fuzz::Registered registered_##name(#name, fuzz_##name); \
  static void fuzz_##name([[maybe_unused]] std::string_view input)

// For inputs that are files.
inline const testing::Scratch& folder() {
  static const testing::Scratch own;
  return own;
}
inline fs::path file_of(std::string_view input, const char* name) {
  const fs::path file = folder() / name;
  // not write_file_atomic(), which waits for the disk
  std::FILE* out = std::fopen(file.c_str(), "wb");
  PES_CHECK(out != nullptr);
  std::fwrite(input.data(), 1, input.size(), out);
  std::fclose(out);
  return file;
}

// An input's mistakes. An Error without a sentence is none, nor is one that says "internal".
inline void run(const Target& target, std::string_view input) {
  try {
    target.run(input);
  } catch (const Error& e) {
    if (e.code() == Exit::internal || std::string_view(e.what()).empty()) throw;
  }
}

// A stack that is an eighth of the usual one, so that inputs that overflow it stay small; with room
// for what sanitizers put between variables.
inline void limit_stack() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = (sanitized ? rlim_t{4} : rlim_t{1}) << 20;
  ::setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace pesuite::fuzz
