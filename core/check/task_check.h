// The self-test that every task must pass, ours and third parties': what a task promises in its
// descriptor is tried on examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/task.h"

namespace pesuite {

struct Finding {
  std::string check;
  bool passed = true;
  std::string detail;    // a sentence
  bool skipped = false;  // passed because it does not apply; detail says why
};

struct CheckOptions {
  // Of the examples, in tokens; most is tried at the first. None may exceed the task's max_length.
  std::vector<std::int32_t> lengths = {64, 96};
  std::int32_t examples = 16384;  // at most, at each length
  std::int64_t tokens = 1 << 20;  // at most, at each length
  std::uint64_t seed = 1;
};

// In this order: well_formed, deterministic, windows, oracle, axes, optimum, chance,
// shortcut_majority, shortcut_last_token, shortcut_position, shortcut_length, shortcut_bag,
// shortcut_window, permuted_labels, collisions. When no example can be made, well_formed alone,
// failed. The task's errors are findings, never thrown. Uses two threads.
std::vector<Finding> check_task(const Task&, const CheckOptions& = {});

}  // namespace pesuite
