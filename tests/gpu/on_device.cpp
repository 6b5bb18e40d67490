// The CUDA backend on the first device of this machine.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "backend/factory.h"
#include "base/error.h"
#include "tests/gpu/subject.h"

namespace pesuite::testing {

std::string absent() {
  try {
    const std::string why = why_no_driver();
    return why.empty() ? why_no_device() : why;
  } catch (const Error& e) {
    return e.what();
  }
}
std::unique_ptr<Backend> subject(Precision precision) {
  return open_backend("cuda", {.precision = precision});
}
std::unique_ptr<Backend> subject_backwards() {  // a device has no order to begin with
  return subject(Precision::fp32);
}
long launches() {
  return -1;
}
std::unique_ptr<Backend> subject_with_graphs(Precision precision) {
  return subject(precision);
}
std::unique_ptr<Backend> subject_with(const char* variable, const char* value,
                                      Precision precision) {
  ::setenv(variable, value, 1);
  auto backend = subject(precision);
  ::unsetenv(variable);
  return backend;
}
std::unique_ptr<Backend> subject_without_graphs(Precision precision) {
  return subject_with("PESUITE_CUDA_GRAPHS", "0", precision);
}
std::unique_ptr<Backend> subject_that_splits() {
  return subject_with("PESUITE_CUDA_ATTENTION", "split", Precision::bf16);
}
long graphs_run(Backend&) {
  return -1;
}

}  // namespace pesuite::testing

// A part of the tests, as ctest asks for it, is skipped where there is no device.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr int skipped = 77;
  if (std::getenv("GTEST_TOTAL_SHARDS") != nullptr)
    if (const std::string why = pesuite::testing::absent(); !why.empty()) {
      std::printf("%s:%d: Skipped\n%s\n\n", __FILE__, __LINE__, why.c_str());
      return skipped;
    }
  return RUN_ALL_TESTS();
}
