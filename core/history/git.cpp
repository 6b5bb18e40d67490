#include "history/git.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace pesuite {

GitSaid run_and_read(const std::vector<std::string>& words, bool both) {
  std::vector<std::string> texts = words;
  std::vector<char*> argv;
  for (std::string& w : texts) argv.push_back(w.data());
  argv.push_back(nullptr);
  int ends[2];
  GitSaid said;
  if (::pipe2(ends, O_CLOEXEC) != 0) return said;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(both ? ends[1] : ::open("/dev/null", O_WRONLY), STDERR_FILENO);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char buffer[8192];
  for (ssize_t n; pid > 0 && (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.out.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  if (pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status))
    said.code = WEXITSTATUS(status);
  return said;
}

GitSaid git(const fs::path& repository, std::vector<std::string> words, bool both) {
  // messages in one language, times in one zone, and no repository but the named one, also in hooks
  words.insert(words.begin(),
               {"env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "LC_ALL=C",
                "TZ=UTC0", "git", "-C", repository.string()});
  return run_and_read(words, both);
}

std::optional<Commit> find_commit(const fs::path& repository, const std::string& name) {
  if (name.empty() || name[0] == '-') return {};
  const GitSaid said =
      git(repository, {"log", "-1", "--abbrev=12", "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
                       "--format=%h%x09%cd%x09%s", name + "^{commit}", "--"});
  const std::vector<std::string> parts = split(trim(said.out), '\t');
  if (said.code != 0 || parts.size() < 2) return {};
  Commit c{parts[0].substr(0, 12), parts[1], parts.size() > 2 ? parts[2] : ""};
  c.position = std::atoll(git(repository, {"rev-list", "--count", name, "--"}).out.c_str());
  return c;
}

}  // namespace pesuite
