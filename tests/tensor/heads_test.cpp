// Heads and their turns: the CPU against the reference.
#include "tests/tensor/head_cases.h"

namespace pesuite::testing {
namespace {

class HeadsOnCpu : public ::testing::TestWithParam<HeadCase> {};

TEST_P(HeadsOnCpu, AgreeWithTheReference) {
  for (const int threads : {1, 2})
    expect_heads_as_the_reference(*open_backend("cpu", {.threads = threads}), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsOnCpu, ::testing::ValuesIn(head_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pesuite::testing
