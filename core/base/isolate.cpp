#include "base/isolate.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
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

// No core files, and what is printed there is no word of the program.
void quieten() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere >= 0 ? nowhere : STDERR_FILENO, STDOUT_FILENO);
}

// The child: writes "R...", "E<code> ..." or "M", for want of memory, and leaves without running
// destructors.
[[noreturn]] void run_child(int fd, const std::function<std::string()>& body) {
  quieten();
  std::string out;
  try {
    out = "R" + body();
  } catch (const Error& e) {
    out = std::string_view(e.what()).ends_with("out of memory")  // said by a plugin
              ? "M"
              : fmt::format("E{} {}", static_cast<int>(e.code()), e.what());
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

using Clock = std::chrono::steady_clock;

// A child lives for a short time and makes and drops much: what goes back to the system is mapped
// and cleared anew each time, which took two thirds of a check of gradients.
void keep_freed_memory() {
#ifdef M_TRIM_THRESHOLD  // glibc
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // its largest
#endif
}

// A body that runs in a process of its own.
class Child {
 public:
  Child(const std::function<std::string()>& body, double seconds)
      : seconds_(seconds), deadline_(Clock::now() + std::chrono::duration<double>(seconds)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      fail(Exit::internal, "cannot make a pipe: {}", std::strerror(errno));
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) fail(Exit::internal, "cannot start a process: {}", std::strerror(errno));
    if (child_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::close(ends[0]);
      keep_freed_memory();
      run_child(ends[1], body);
    }
    ::setpgid(child_, child_);  // whoever is first
    ::close(ends[1]);
    fd_ = ends[0];
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Child() {
    if (!ended_) kill();
    ::close(fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pollfd waited_for() const { return {open_ ? fd_ : -1, POLLIN, 0}; }
  bool silent() const { return !open_; }

  // Reads what there is. True once it has ended, whatever children of its own hold the pipe, which
  // end with it, or has had its time.
  bool hear() {
    siginfo_t end{};  // not reaped before its group has gone: its number stays its own
    ended_ = ::waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             end.si_pid == child_;
    if (ended_) {
      ::kill(-child_, SIGKILL);
      ::waitpid(child_, &status_, 0);
    }
    char buffer[65536];
    ssize_t n = 0;
    do {
      n = open_ ? ::read(fd_, buffer, sizeof buffer) : 0;
      if (n > 0) text_.append(buffer, static_cast<std::size_t>(n));
      if (n == 0) open_ = false;
    } while (n > 0 && ended_);
    if (ended_) return true;
    if (Clock::now() < deadline_) return false;
    kill();
    timed_out_ = true;
    return true;
  }

  Isolated result() const {
    using End = Isolated::End;
    if (timed_out_)
      return {End::timed_out, fmt::format("did not come back within {} s", seconds_), 0};
    if (WIFSIGNALED(status_)) {
      const int signal = WTERMSIG(status_);
      return {End::crashed, "crashed with " + signal_name(signal), signal};
    }
    if (text_.empty() || WEXITSTATUS(status_) != 0)
      return {End::crashed, "left its process without an answer", 0};
    if (text_[0] == 'M') return {End::crashed, "asked for more memory than there is", 0};
    if (text_[0] == 'E')
      return {End::threw, text_.substr(text_.find(' ') + 1), std::atoi(text_.c_str() + 1)};
    return {End::returned, text_.substr(1), 0};
  }

 private:
  void kill() {
    ::kill(-child_, SIGKILL);
    while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
  }

  const double seconds_;
  const std::chrono::time_point<Clock, std::chrono::duration<double>> deadline_;
  pid_t child_ = -1;
  int fd_ = -1, status_ = 0;
  bool open_ = true, ended_ = false, timed_out_ = false;
  std::string text_;
};

}  // namespace

std::vector<Isolated> run_isolated(const std::vector<std::function<std::string()>>& bodies,
                                   double seconds, int at_once) {
  constexpr int patience = 20, over = 1;  // ms
  struct Running {
    std::size_t which;
    bool again;
    std::unique_ptr<Child> child;
  };
  std::vector<Isolated> results(bodies.size());
  std::vector<Running> running;
  const auto start = [&](std::size_t i, bool again) {
    running.push_back({i, again, std::make_unique<Child>(bodies[i], seconds)});
  };
  for (std::size_t next = 0; next < bodies.size() || !running.empty();) {
    while (next < bodies.size() && running.size() < static_cast<std::size_t>(std::max(1, at_once)))
      start(next++, false);
    std::vector<pollfd> fds;
    bool silent = false;
    for (const Running& r : running) {
      fds.push_back(r.child->waited_for());
      silent = silent || r.child->silent();
    }
    ::poll(fds.data(), fds.size(), silent ? over : patience);
    std::vector<Running> heard;
    heard.swap(running);
    for (Running& r : heard) {
      if (!r.child->hear()) {
        running.push_back(std::move(r));
        continue;
      }
      results[r.which] = r.child->result();
      if (results[r.which].code == SIGKILL && results[r.which].end == Isolated::End::crashed &&
          !r.again)
        start(r.which, true);
    }
  }
  return results;
}

Isolated run_isolated(const std::function<std::string()>& body, double seconds) {
  return run_isolated(std::vector{body}, seconds, 1).front();
}

void limit_memory([[maybe_unused]] double bytes) {
#ifndef PESUITE_SANITIZED  // which map more than they use
  rlimit data{};
  if (::getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = std::min(data.rlim_max, static_cast<rlim_t>(bytes));
  ::setrlimit(RLIMIT_DATA, &data);
#endif
}

double peak_memory() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) * 1024;
}

}  // namespace pesuite
