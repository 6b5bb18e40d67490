// What a long verb is doing, on stderr: one line that is drawn again on a terminal; elsewhere a
// line after a second and then every 20 seconds. So nobody waits for a silent program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <string>
#include <thread>

namespace pesuite::cli {

class Steps {
 public:
  explicit Steps(std::string what);  // "reading checkpoint x"
  ~Steps();                          // wipes the line
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  void at(std::string what);          // what goes on from now on
  void say(const std::string& line);  // a line that stays

 private:
  void watch();  // a thread's: work that goes on for long says nothing itself
  void show();
  void wipe();

  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_line_;
  std::mutex mutex_;
  std::condition_variable end_;
  std::string what_;
  bool ended_ = false, drawn_ = false;
  std::latch watching_{1};
  std::thread watcher_;
};

}  // namespace pesuite::cli
