#include "cli/steps.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "run/progress.h"

namespace pesuite::cli {

namespace {
constexpr std::chrono::seconds a_moment{1}, a_while{20};
}

Steps::Steps(std::string what)
    : terminal_(use_color(stderr)), next_line_(start_ + a_moment), what_(std::move(what)) {
  if (terminal_) show();
  // Whoever asks a library forks, and a thread that is only half there may hold a lock that the
  // child then waits for: from here on the watcher sleeps.
  watcher_ = std::thread([this] { watch(); });
  watching_.wait();
  const std::lock_guard lock(mutex_);
}

Steps::~Steps() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_all();
  watcher_.join();
  wipe();
}

void Steps::at(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  if (terminal_) show();
}

void Steps::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  wipe();
  fmt::print(stderr, "{}\n", line);
  next_line_ = Clock::now() + a_while;
}

void Steps::watch() {
  std::unique_lock lock(mutex_);
  watching_.count_down();
  while (!end_.wait_for(lock, a_moment, [this] { return ended_; })) {
    if (!terminal_ && Clock::now() < next_line_) continue;
    show();
    next_line_ = Clock::now() + a_while;
  }
}

void Steps::show() {
  const std::string elapsed =
      format_seconds(std::chrono::duration<double>(Clock::now() - start_).count());
  fmt::print(stderr, "{}{}  {}{}", terminal_ ? "\r\x1b[K" : "", what_, elapsed,
             terminal_ ? "" : "\n");
  std::fflush(stderr);
  drawn_ = terminal_;
}

void Steps::wipe() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace pesuite::cli
