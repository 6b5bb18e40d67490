#include "run/cell_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/isolate.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr std::size_t longest_message = 1 << 20;  // bytes

// A worker that stops with a checkpoint goes on where it was, but not for ever.
constexpr int most_preemptions = 10;

void hear(CellProcess& p, const Json& j, const std::function<void(const Json&)>& heard) {
  if (j.at("nonce") != p.nonce) return;  // not the worker's
  const std::string event = j.at("event");
  if (event == "failed") {
    static const std::set<std::string> kinds = {"error", "oom", "crash", "diverged"};
    const std::string kind = j.at("kind");
    p.reason = j.at("reason");
    p.kind = kinds.contains(kind) ? kind : "crash";
  } else if (event == "opened") {
    heard(j);
  } else if (event == "progress") {
    p.at = {j.at("phase"), j.at("step"),         j.at("steps"),
            j.at("loss"),  j.at("tokens_per_s"), j.at("share")};
    heard(j);
  }
}

}  // namespace

double CellProcess::spent() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string CellProcess::where() const {
  if (at.phase.empty()) return " before its first step";
  return at.phase == "train" ? fmt::format(" in training, after step {}", at.step)
                             : fmt::format(" in evaluation ({})", at.phase);
}

bool read_messages(CellProcess& p, const std::function<void(const Json&)>& heard) {
  char buffer[8192];
  const ssize_t n = ::read(p.output, buffer, sizeof buffer);
  if (n <= 0) return false;
  p.buffer.append(buffer, static_cast<std::size_t>(n));
  for (std::size_t end; (end = p.buffer.find('\n')) != std::string::npos;) {
    const Json j = Json::parse(p.buffer.substr(0, end), nullptr, false);
    p.buffer.erase(0, end + 1);
    try {
      hear(p, j, heard);
    } catch (const Json::exception&) {  // a launcher that prints
    }
  }
  if (p.buffer.size() > longest_message) p.buffer.clear();
  return true;
}

bool has_ended(CellProcess& p, const Ending& how) {
  const int status = how.status, code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool preempted = code == static_cast<int>(Exit::preempted), launched = !how.launch.empty();
  const auto fail = [&](std::string_view kind, std::string reason) {
    p.kind = kind, p.reason = std::move(reason);
    return true;
  };
  if (p.timed_out && code != 0)
    return fail(
        "timeout",
        fmt::format("took longer than the limit of {} s; 'time_limit_s' of [defaults] sets another",
                    format_number(std::round(p.time_limit))));
  if (preempted && !how.stopping && ++how.preemptions > most_preemptions)
    return fail("crash", fmt::format("stopped {} times{} though nobody asked; its log is {}",
                                     how.preemptions, p.where(), how.log.string()));
  if (preempted) return false;
  // SIGKILL: it was asked to stop, and lost patience with itself
  const bool by_us = p.killed || signal == SIGTERM || signal == SIGKILL;
  if (how.stopping && (by_us || (launched && p.kind.empty() && code != 0))) return false;
  if (how.sandbox && signal == SIGSYS)  // blocked, so that the worker could not say what it was
    return fail("error",
                fmt::format("a library tried to start a program{}, or made another system call "
                            "that --sandbox forbids",
                            p.where()));
  // nobody of ours sends SIGKILL here: it is how the kernel ends what is out of memory
  if (signal == SIGKILL)
    return fail("oom",
                fmt::format("was killed, probably for want of memory, by {}{}; its log is {}",
                            signal_name(signal), p.where(), how.log.string()));
  if (signal != 0)
    return fail("crash", fmt::format("crashed with {}{}; its log is {}", signal_name(signal),
                                     p.where(), how.log.string()));
  if (code == 127 && launched && p.at.phase.empty())
    return fail("error", fmt::format("'{}' did not start it; is it installed, and in the path?",
                                     join(how.launch, " ")));
  if (code != 0 && p.kind.empty())
    return fail("crash", fmt::format("left with exit code {}{}; its log is {}", code, p.where(),
                                     how.log.string()));
  return true;
}

}  // namespace pesuite
