#include "history/bisect.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/signals.h"
#include "base/text.h"

namespace pesuite {

namespace {

enum class Verdict { good, bad, skip, stop };

volatile sig_atomic_t asked_to_stop = 0, running_command = 0;
// A signal ends the command that runs, and then the search, which cleans up.
void stop_command(int signal) {
  asked_to_stop = signal;
  if (running_command > 0) ::kill(running_command, SIGTERM);
}

// Exit code of a program in a folder, its stdout on our stderr; minus the signal that ended it.
int run_in(const fs::path& folder, const std::vector<std::string>& words) {
  std::vector<std::string> texts = words;
  std::vector<char*> argv;
  for (std::string& w : texts) argv.push_back(w.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::chdir(folder.c_str()) != 0) ::_exit(127);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  running_command = pid;
  if (asked_to_stop != 0) ::kill(pid, SIGTERM);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  running_command = 0;
  if (asked_to_stop != 0) return -asked_to_stop;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A work tree beside the user's, which goes with us.
class WorkTree {
 public:
  WorkTree(const fs::path& repository, const std::string& commit)
      : repository_(repository),
        folder_(fs::temp_directory_path() / fmt::format("pesuite-bisect-{}", ::getpid())) {
    const GitSaid said = git(
        repository_, {"worktree", "add", "--detach", "--force", folder_.string(), commit}, true);
    if (said.code != 0)
      fail(Exit::data, "git cannot make a work tree in {}: {}", folder_.string(), trim(said.out));
  }
  ~WorkTree() {
    git(folder_, {"bisect", "reset"});
    git(repository_, {"worktree", "remove", "--force", folder_.string()});
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    git(repository_, {"worktree", "prune"});
  }
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;
  const fs::path& folder() const { return folder_; }

 private:
  const fs::path repository_, folder_;
};

class Bisection {
 public:
  Bisection(const BisectOrder& order, const std::function<void(const std::string&)>& say)
      : order_(order),
        say_(say),
        good_(commit_of(order.good)),
        bad_(commit_of(order.bad)),
        tree_(order.repository, bad_) {
    if (good_ == bad_) fail(Exit::usage, "{} and {} are the same commit", order.good, order.bad);
    if (git(order_.repository, {"merge-base", "--is-ancestor", good_, bad_}).code != 0)
      fail(Exit::usage,
           "{} is not behind {}: bisecting looks at the commits from the good one to the bad one",
           order.good, order.bad);
  }

  Bisected result() {
    if (!order_.trust && !check_ends()) return out_;
    said_ = git(tree_.folder(), {"bisect", "start", bad_, good_}, true);
    while (said_.code == 0 && said_.out.find("is the first bad commit") == std::string::npos) {
      const Verdict v = try_commit();
      if (v == Verdict::stop) {
        out_.end = Bisected::End::stopped;
        return out_;
      }
      said_ = git(tree_.folder(),
                  {"bisect", v == Verdict::good  ? "good"
                             : v == Verdict::bad ? "bad"
                                                 : "skip"},
                  true);
    }
    if (said_.out.find("only 'skip'ped commits left") != std::string::npos) {
      out_.end = Bisected::End::skipped;
      for (const std::string& line : split(said_.out, '\n'))
        if (line.size() == 40 && line.find(' ') == std::string::npos)
          out_.candidates.push_back(line.substr(0, 12));
      return out_;
    }
    if (said_.code != 0) fail(Exit::data, "git bisect failed: {}", trim(said_.out));
    out_.first_bad =
        find_commit(tree_.folder(), "refs/bisect/bad").value_or(Commit{bad_.substr(0, 12), "", ""});
    return out_;
  }

 private:
  std::string commit_of(const std::string& name) const {
    const GitSaid said =
        git(order_.repository, {"rev-parse", "--verify", "--quiet", name + "^{commit}"});
    if (said.code == 127) fail(Exit::usage, "git cannot be started; install git");
    if (said.code != 0 && git(order_.repository, {"rev-parse", "--git-dir"}).code != 0)
      fail(Exit::usage,
           "{} is in no git repository; run it in that of the commits, or name it with "
           "--repository",
           fs::absolute(order_.repository).lexically_normal().string());
    if (said.code != 0)
      fail(Exit::usage, "'{}' is no commit of the repository {}", name,
           fs::weakly_canonical(order_.repository).string());
    return trim(said.out);
  }

  // Where the ends are not what they are said to be, halving would name a commit without reason.
  bool check_ends() {
    const auto at = [&](const std::string& commit, Verdict wanted, const char* word) {
      const GitSaid said = git(tree_.folder(), {"checkout", "--detach", "--force", commit}, true);
      if (said.code != 0) fail(Exit::data, "git cannot check out {}: {}", commit, trim(said.out));
      const Verdict v = try_commit();
      if (v == Verdict::stop) return false;
      if (v != wanted)
        fail(Exit::usage,
             "{} was said to be {}, and the command says that it {}; nothing can be found between "
             "them (--trust skips this check)",
             commit.substr(0, 12), word,
             v == Verdict::skip   ? "cannot be tried"
             : v == Verdict::good ? "is good"
                                  : "is bad");
      return true;
    };
    if (at(good_, Verdict::good, "good") && at(bad_, Verdict::bad, "bad")) return true;
    out_.end = Bisected::End::stopped;
    return false;
  }

  Verdict try_commit() {
    const Commit c = find_commit(tree_.folder(), "HEAD").value_or(Commit{"HEAD", "", ""});
    say_(fmt::format("trying {} {}", c.id, c.subject));
    ++out_.tried;
    std::string why;
    const Verdict v = judge(why);
    git(tree_.folder(), {"reset", "--hard", "--quiet"});  // what the command changed
    constexpr const char* words[] = {"good", "bad", "skipped", "stopped"};
    say_(
        fmt::format("{} is {}{}", c.id, words[static_cast<int>(v)], why.empty() ? "" : ": " + why));
    out_.skipped += v == Verdict::skip ? 1 : 0;
    return v;
  }

  Verdict judge(std::string& why) const {
    if (!order_.build.empty()) {
      const int built = run_in(tree_.folder(), {"sh", "-c", order_.build});
      if (built < 0) return stop(built, why);
      if (built != 0) {
        why = fmt::format("it does not build (exit code {})", built);
        return Verdict::skip;
      }
    }
    const int code = run_in(tree_.folder(), order_.command);
    if (code < 0) return stop(code, why);
    why = fmt::format("exit code {}", code);
    if (code == 0) return Verdict::good;
    if (code == 127)
      fail(Exit::usage, "{} cannot be started in the work tree of a commit", order_.command[0]);
    if (!order_.gate) return code == 125 ? Verdict::skip : Verdict::bad;
    const bool is_bad =
        code == static_cast<int>(Exit::regression) || code == static_cast<int>(Exit::determinism);
    return is_bad ? Verdict::bad : Verdict::skip;
  }
  static Verdict stop(int code, std::string& why) {
    why = fmt::format("signal {}", -code);
    return Verdict::stop;
  }

  const SignalGuard guard_{stop_command, {SIGINT, SIGTERM}};
  const BisectOrder& order_;
  const std::function<void(const std::string&)>& say_;
  const std::string good_, bad_;
  const WorkTree tree_;
  GitSaid said_;
  Bisected out_;
};

}  // namespace

Bisected bisect(const BisectOrder& order, const std::function<void(const std::string&)>& say) {
  asked_to_stop = 0;
  return Bisection(order, say).result();
}

}  // namespace pesuite
