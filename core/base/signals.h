// Signals that a part of the program takes for itself while it works.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pesuite {

// The exit code of work that a signal stopped: 130, 143, or 75 where it was only to make room.
inline int exit_code_of(int signal) {
  if (signal == SIGINT) return static_cast<int>(Exit::interrupted);
  if (signal == SIGTERM) return static_cast<int>(Exit::terminated);
  return static_cast<int>(Exit::preempted);
}

// While it lives `handler` hears these signals; calls that wait end with EINTR.
class SignalGuard {
 public:
  SignalGuard(void (*handler)(int), std::initializer_list<int> signals) {
    struct sigaction action {};
    action.sa_handler = handler;
    for (const int signal : signals) {
      old_.emplace_back(signal, action);
      ::sigaction(signal, &action, &old_.back().second);
    }
  }
  ~SignalGuard() {
    for (const auto& [signal, action] : old_) ::sigaction(signal, &action, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> old_;
};

}  // namespace pesuite
