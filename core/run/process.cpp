#include "run/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "cell/determinism.h"
#include "run/waiting.h"

namespace pesuite {

namespace {

// After the fork: only calls that are safe there, on what was made before it.
[[noreturn]] void become_worker(const char* program, char* const* words, const char* log,
                                const char* threads, const char* spins, int output,
                                double memory_limit, bool fixed_instructions) {
  ::setpgid(0, 0);  // the terminal's Ctrl-C is for the runner alone
  const int log_fd = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  ::dup2(output, STDOUT_FILENO);
  if (log_fd >= 0) ::dup2(log_fd, STDERR_FILENO);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (memory_limit > 0) {
    const rlimit limit{static_cast<rlim_t>(memory_limit), static_cast<rlim_t>(memory_limit)};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  if (fixed_instructions) fix_instructions();
  ::setenv("OMP_NUM_THREADS", threads, 1);
  // teams that spin without end on few cores are ten times slower
  if (::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", spins, 0);
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  ::execvp(program, words);
  ::_exit(127);
}

}  // namespace

WorkerProcess start_worker(const WorkerCommand& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    fail(Exit::internal, "cannot make a pipe: {}", std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const std::string log = command.log.string(), threads = std::to_string(command.threads),
                    spins = command.threads > 1
                                ? std::to_string(spins_while_waiting(command.threads))
                                : "0";
  std::vector<std::string> texts = command.words;
  std::vector<char*> words;
  for (std::string& word : texts) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  // A request to stop that comes before the worker listens ends it, instead of being lost on a
  // handler that it inherits.
  sigset_t ask, old;
  ::sigemptyset(&ask);
  ::sigaddset(&ask, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &ask, &old);
  const pid_t pid = ::fork();
  if (pid == 0) ::signal(SIGTERM, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  if (pid < 0) fail(Exit::internal, "cannot start a process: {}", std::strerror(errno));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    become_worker(command.program.c_str(), words.data(), log.c_str(), threads.c_str(),
                  spins.c_str(), ends[1], command.memory_limit, command.fixed_instructions);
  }
  ::setpgid(pid, pid);  // whoever is first
  ::close(ends[1]);
  return {pid, ends[0]};
}

static constexpr const char* visible_devices = "CUDA_VISIBLE_DEVICES";

GivenDevice::GivenDevice(const std::vector<int>& devices, int place) {
  if (place < 0) return;
  if (const char* const seen = std::getenv(visible_devices)) before_ = seen;
  const auto at = static_cast<std::size_t>(devices[static_cast<std::size_t>(place)]);
  const std::vector<std::string> all = before_ ? split(*before_, ',') : std::vector<std::string>();
  ::setenv(visible_devices, at < all.size() ? all[at].c_str() : std::to_string(at).c_str(), 1);
  set_ = true;
}
GivenDevice::~GivenDevice() {
  if (!set_) return;
  if (before_)
    ::setenv(visible_devices, before_->c_str(), 1);
  else
    ::unsetenv(visible_devices);
}

void end_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
}

void adopt_strays() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void end_strays_but(const std::set<pid_t>& workers) {
  std::error_code none;  // a kernel without these files: then they are left
  for (int rounds = 0, found = 1; found > 0 && rounds < 100; ++rounds) {
    found = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
      std::ifstream children(thread.path() / "children");
      for (pid_t pid = 0; children >> pid;) {
        if (workers.contains(pid)) continue;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        ++found;  // its own children come next
      }
    }
  }
}

}  // namespace pesuite
