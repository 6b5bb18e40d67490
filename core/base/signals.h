// Signals that a part of the program takes for itself while it works.
#pragma once

#include <signal.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pesuite {

// A stack for the handlers of one thread. Some of oneDNN's products let the stack pointer stand in
// a buffer on the heap: a handler that used it would overwrite what lies below.
class SignalStack {
 public:
  SignalStack() {
    stack_t now;
    if (::sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<char[]>(size);
    stack_t own{};
    own.ss_sp = memory_.get(), own.ss_size = size;
    ::sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (memory_) ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t size = std::size_t{64} << 10;  // AVX-512 and AMX alone take 12 KiB
  std::unique_ptr<char[]> memory_;
};
// This thread's, for as long as it lives.
inline void own_signal_stack() {
  static thread_local const SignalStack own;
}

// From now on `handler` hears this signal; calls that wait end with EINTR. What was before.
inline struct sigaction hear(int signal, void (*handler)(int)) {
  own_signal_stack();
  struct sigaction action {
  }, before{};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(signal, &action, &before);
  return before;
}

// The exit code of work that a signal stopped: 130, 143, or 75 where it was only to make room.
inline int exit_code_of(int signal) {
  if (signal == SIGINT) return static_cast<int>(Exit::interrupted);
  if (signal == SIGTERM) return static_cast<int>(Exit::terminated);
  return static_cast<int>(Exit::preempted);
}

// While it lives `handler` hears these signals.
class SignalGuard {
 public:
  SignalGuard(void (*handler)(int), std::initializer_list<int> signals) {
    for (const int signal : signals) old_.emplace_back(signal, hear(signal, handler));
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
