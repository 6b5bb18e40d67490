// What a check of a plugin found, and how checks say it.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace pesuite::checks {

enum class Outcome { passed, failed, crashed, timed_out, skipped };
inline std::string_view outcome_name(Outcome o) {
  constexpr std::string_view names[] = {"passed", "failed", "crashed", "timed out", "skipped"};
  return names[static_cast<int>(o)];
}
inline bool is_bad(Outcome o) {
  return o != Outcome::passed && o != Outcome::skipped;
}

struct Finding {
  std::string subject;  // "library NAME", "encoding NAME" or "task NAME"
  std::string check;
  Outcome outcome = Outcome::passed;
  std::string detail;  // a sentence: what was measured, what is wrong, or why it was skipped
  double seconds = 0;
};

// Thrown by a check: the plugin is at fault.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown by a check: it does not apply, for this reason.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown by an instance: the plugin declined in a sentence, as it may.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw Fault(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void skip(fmt::format_string<Args...> format, Args&&... args) {
  throw Skip(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) fault(format, std::forward<Args>(args)...);
}

}  // namespace pesuite::checks
