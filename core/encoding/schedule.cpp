#include "encoding/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

std::string_view schedule_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant: return "constant";
    case ScheduleKind::linear: return "linear";
    case ScheduleKind::cosine: return "cosine";
    case ScheduleKind::inverse_sqrt: return "inverse_sqrt";
    case ScheduleKind::wsd: return "wsd";
  }
  return "";
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> out;
  for (const ScheduleKind k : {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
                               ScheduleKind::inverse_sqrt, ScheduleKind::wsd})
    out.emplace_back(schedule_name(k));
  return out;
}
ScheduleKind schedule_kind(std::string_view name) {
  const std::vector<std::string> names = schedule_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(Exit::usage, "there is no schedule '{}'{}", name, did_you_mean(name, names));
  return static_cast<ScheduleKind>(found - names.begin());
}

double schedule_factor(const Schedule& s, std::int64_t step, std::int64_t steps) {
  if (step < s.warmup) return static_cast<double>(step + 1) / static_cast<double>(s.warmup);
  // share of the way from the end of the warm-up to the last step, 0 .. 1
  const double way = static_cast<double>(step - s.warmup) /
                     static_cast<double>(std::max<std::int64_t>(1, steps - 1 - s.warmup));
  const auto falling = [&](double x) { return s.floor + (1 - s.floor) * x; };
  switch (s.kind) {
    case ScheduleKind::constant: return 1;
    case ScheduleKind::linear: return falling(1 - way);
    case ScheduleKind::cosine: return falling(0.5 * (1 + std::cos(std::numbers::pi * way)));
    case ScheduleKind::inverse_sqrt:
      return std::sqrt(static_cast<double>(std::max<std::int64_t>(1, s.warmup)) /
                       static_cast<double>(step + 1));
    case ScheduleKind::wsd: {
      const std::int64_t left = steps - step;  // this step included
      return left > s.decay ? 1
                            : falling(static_cast<double>(left) / static_cast<double>(s.decay + 1));
    }
  }
  return 1;
}

}  // namespace pesuite
