// A user's mistake is thrown as Error, with a sentence: what failed, where, why, what to do. A bug
// is PES_CHECK. Both are caught at two edges: main and the worker's cell.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace pesuite {

// Exit codes of the program (docs/suites.md). When several apply, the first of 9, 2, 4, 5, 6, 8, 3,
// 1, 7 counts.
enum class Exit {
  done = 0,
  regression = 1,
  usage = 2,         // unknown flag, bad suite or configuration
  cells_failed = 3,  // crash, out of memory, time-out; the other cells finished
  plugin = 4,        // not found, refused, check failed
  data = 5,          // missing, corrupt, or digest differs
  device = 6,        // requested device or backend not available
  inconclusive = 7,
  determinism = 8,
  internal = 9,  // a bug
  preempted = 75,
  interrupted = 130,
  terminated = 143,
};

class Error : public std::runtime_error {
 public:
  Error(Exit code, std::string message) : std::runtime_error(std::move(message)), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

// A plugin refuses what it cannot do, such as a length beyond its table.
class Refusal : public Error {
 public:
  explicit Refusal(std::string message) : Error(Exit::plugin, std::move(message)) {}
};

template <class... Args>
[[noreturn]] void fail(Exit code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void bug(const char* condition, const char* file, int line) {
  throw Bug(fmt::format("{}:{}: {} does not hold", file, line, condition));
}

}  // namespace pesuite

#define PES_CHECK(condition) ((condition) ? void() : ::pesuite::bug(#condition, __FILE__, __LINE__))
