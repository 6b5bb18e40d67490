#include "base/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"

extern char** environ;

namespace pesuite {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary() {
  File f(std::tmpfile(), &std::fclose);
  if (f == nullptr) fail(Exit::data, "cannot make a temporary file: {}", std::strerror(errno));
  ::fcntl(::fileno(f.get()), F_SETFD, FD_CLOEXEC);
  return f;
}

std::string content(std::FILE* f) {
  std::string out;
  std::rewind(f);
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) out.append(part, n);
  return out;
}

}  // namespace

Printed printed_by(const std::vector<std::string>& words) {
  const File out = temporary(), err = temporary();
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(err.get()), STDERR_FILENO);
  pid_t pid = 0;
  const int why = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (why != 0) fail(Exit::data, "cannot start {}: {}", words[0], std::strerror(why));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {content(out.get()), content(err.get()),
          WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
}

}  // namespace pesuite
