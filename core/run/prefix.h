// The first steps of every training of a suite, to be held against those of before: wrong gradients
// and other data show there, before any training is paid for.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace pesuite {

inline constexpr int prefix_steps = 20;
// Of one training of each task: far enough for what happens every 50th step.
inline constexpr int long_prefix_steps = 60;

// An object for each encoding, task and model, of the suite's first seed: losses and norms of the
// gradient of each step, and what evaluations say then; the first encoding of each model also with
// bf16 products on the CPU. In processes of their own, `jobs` at a time.
Json run_prefix(const Plan&, const std::vector<std::string>& plugin_path, int jobs);

struct PrefixCheck {
  std::size_t compared = 0;             // trainings in both
  bool same_bits = true;                // of all of them
  std::vector<std::string> violations;  // a sentence each, the first number that differs
};
// Of the same machine and build numbers may differ by the last digits alone, on another one by what
// rounding grows to in so few steps.
PrefixCheck check_prefix(const Json& before, const Json& now);

}  // namespace pesuite
