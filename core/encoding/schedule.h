// The learning rate over a run, which an encoding's switch may change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

enum class ScheduleKind { constant, linear, cosine, inverse_sqrt, wsd };

// Warm-up rises linearly to lr in `warmup` steps. Then lr stays (constant), falls to
// floor * lr in the last step along a line or half a cosine, falls like 1/sqrt(step), or stays and
// falls along a line in the last `decay` steps (warmup-stable-decay, Hu et al. 2024).
struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  std::int64_t warmup = 0, decay = 0;  // steps
  double floor = 0;                    // share of lr that is left at the end
};
// Factor of the learning rate in step 0 .. steps-1.
double schedule_factor(const Schedule&, std::int64_t step, std::int64_t steps);
std::string_view schedule_name(ScheduleKind);
std::vector<std::string> schedule_names();     // in the order of the kinds
ScheduleKind schedule_kind(std::string_view);  // Error (usage) when it is none of them

}  // namespace pesuite
