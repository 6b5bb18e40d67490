#include "base/isolate.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace pesuite {

std::string signal_name(int signal) {
  const char* short_name = ::sigabbrev_np(signal);
  const char* description = ::strsignal(signal);
  return fmt::format("SIG{} ({})", short_name ? short_name : std::to_string(signal),
                     description ? description : "unknown");
}

namespace {

// The child: writes "R..." or "E<code> ..." and leaves without running destructors.
[[noreturn]] void run_child(int fd, const std::function<std::string()>& body) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::string out;
  try {
    out = "R" + body();
  } catch (const Error& e) {
    out = fmt::format("E{} {}", static_cast<int>(e.code()), e.what());
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

}  // namespace

Isolated run_isolated(const std::function<std::string()>& body, double seconds) {
  int ends[2];
  if (::pipe(ends) != 0) fail(Exit::internal, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) fail(Exit::internal, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    run_child(ends[1], body);
  }
  ::close(ends[1]);
  Isolated result;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (char buffer[4096];;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd p{ends[0], POLLIN, 0};
    const int ready = ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      ::kill(child, SIGKILL);
      result.end = Isolated::End::timed_out;
      break;
    }
    const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    result.text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (result.end == Isolated::End::timed_out) {
    result.text = fmt::format("did not come back within {} s", seconds);
  } else if (WIFSIGNALED(status)) {
    result.end = Isolated::End::crashed;
    result.code = WTERMSIG(status);
    result.text = "crashed with " + signal_name(result.code);
  } else if (result.text.empty() || WEXITSTATUS(status) != 0) {
    result.end = Isolated::End::crashed;
    result.text = "left its process without an answer";
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

double peak_memory() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) * 1024;
}

}  // namespace pesuite
