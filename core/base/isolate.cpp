#include "base/isolate.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/error.h"

namespace pesuite {

std::string signal_name(int signal) {
  const char* short_name = ::sigabbrev_np(signal);
  const char* description = ::strsignal(signal);
  return fmt::format("SIG{} ({})", short_name ? short_name : std::to_string(signal),
                     description ? description : "unknown");
}

namespace {

// The child: writes "R...", "E<code> ..." or "M", for want of memory, and leaves without running
// destructors.
[[noreturn]] void run_child(int fd, const std::function<std::string()>& body) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::string out;
  try {
    out = "R" + body();
  } catch (const Error& e) {
    out = fmt::format("E{} {}", static_cast<int>(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    out = "M";
  } catch (const std::length_error&) {  // of who asks for more than any machine has
    out = "M";
  } catch (const std::exception& e) {
    out = fmt::format("E{} {}", static_cast<int>(Exit::internal), e.what());
  }
  std::string_view rest = out;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n <= 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  ::_exit(0);
}

// Reads what the child writes until it has ended, whatever children of its own hold the pipe, which
// end with it. False where that takes longer.
bool hear(pid_t child, int fd, double seconds, std::string& text, int& status) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  for (bool open = true;;) {
    constexpr int silent = 20, over = 1;  // ms
    pollfd p{fd, POLLIN, 0};
    ::poll(&p, open ? 1 : 0, open ? silent : over);
    siginfo_t end{};  // not reaped before its group has gone: its number stays its own
    const bool ended =
        ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        end.si_pid == child;
    if (ended) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    char buffer[65536];
    ssize_t n = 0;
    do {
      n = open ? ::read(fd, buffer, sizeof buffer) : 0;
      if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
      if (n == 0) open = false;
    } while (n > 0 && ended);
    if (ended) return true;
    if (std::chrono::steady_clock::now() < deadline) continue;
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return false;
  }
}

Isolated isolate_once(const std::function<std::string()>& body, double seconds) {
  int ends[2];
  if (::pipe(ends) != 0) fail(Exit::internal, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) fail(Exit::internal, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    run_child(ends[1], body);
  }
  ::setpgid(child, child);  // whoever is first
  ::close(ends[1]);
  Isolated result;
  int status = 0;
  const bool in_time = hear(child, ends[0], seconds, result.text, status);
  ::close(ends[0]);
  if (!in_time) {
    result.end = Isolated::End::timed_out;
    result.text = fmt::format("did not come back within {} s", seconds);
  } else if (WIFSIGNALED(status)) {
    result.end = Isolated::End::crashed;
    result.code = WTERMSIG(status);
    result.text = "crashed with " + signal_name(result.code);
  } else if (result.text.empty() || WEXITSTATUS(status) != 0) {
    result.end = Isolated::End::crashed;
    result.text = "left its process without an answer";
  } else if (result.text[0] == 'M') {
    result.end = Isolated::End::crashed;
    result.text = "asked for more memory than there is";
  } else if (result.text[0] == 'E') {
    result.end = Isolated::End::threw;
    const std::size_t space = result.text.find(' ');
    result.code = std::atoi(result.text.c_str() + 1);
    result.text.erase(0, space + 1);
  } else {
    result.text.erase(0, 1);
  }
  return result;
}

}  // namespace

Isolated run_isolated(const std::function<std::string()>& body, double seconds) {
  Isolated result = isolate_once(body, seconds);
  if (result.end == Isolated::End::crashed && result.code == SIGKILL)
    result = isolate_once(body, seconds);
  return result;
}

double peak_memory() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) * 1024;
}

}  // namespace pesuite
