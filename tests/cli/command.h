// Runs the built program as a user does.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scratch.h"

namespace pesuite::testing {

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Ended {
  int code = -1;  // exit code, or minus the signal
  std::string out, err;
};

class Command {
 public:
  Command(const fs::path& folder, std::vector<std::string> arguments,
          std::vector<std::string> environment = {}, const std::string& launcher = "") {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    ::chdir(folder.c_str());
    redirect(said_ / "stdout", STDOUT_FILENO);
    redirect(said_ / "stderr", STDERR_FILENO);
    ::setenv("PESUITE_PLUGIN_PATH", PESUITE_TEST_PLUGINS ":" PESUITE_TEST_BROKEN, 1);
    ::unsetenv("CI");
    for (std::string& e : environment) ::putenv(e.data());
    std::vector<std::string> words;  // before the arguments
    std::istringstream in(launcher);
    for (std::string word; in >> word;) words.push_back(word);
    words.emplace_back(PESUITE_TEST_PROGRAM);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  // Whether it has a handler of that signal.
  bool hears(int s) const {
    const std::string status = slurp(fmt::format("/proc/{}/status", pid_)), field = "SigCgt:";
    const std::size_t at = status.find(field);
    return at != std::string::npos &&
           (std::stoull(status.substr(at + field.size()), nullptr, 16) >> (s - 1) & 1) != 0;
  }
  void signal(int s) const { ::kill(pid_, s); }
  void signal_group(int s) const { ::kill(-pid_, s); }
  std::string so_far() const { return slurp(said_ / "stderr"); }  // what it has said on stderr
  bool running() { return status_ < 0 && ::waitpid(pid_, &status_, WNOHANG) == 0; }
  Ended wait() {
    if (status_ < 0) ::waitpid(pid_, &status_, 0);
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), slurp(said_ / "stdout"),
            slurp(said_ / "stderr")};
  }

 private:
  static void redirect(const fs::path& file, int fd) {
    const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(to, fd);
  }
  const Scratch said_;  // not the command's folder: several may run there at once
  pid_t pid_ = -1;
  int status_ = -1;
};

}  // namespace pesuite::testing
