// A suite of one good encoding and one whose plugin misbehaves: the bad one is a failed record with
// the true reason, or has done no harm; the good one has the numbers of a run without the other.
#include <sched.h>

#include "base/file.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

constexpr const char* library = PESUITE_TEST_MISBEHAVES;

struct Fault {
  std::string how, at;
  std::string status;  // of its cell; "ok": it does no harm
  std::string reason;  // words of it
  std::string limit = "";
};
void PrintTo(const Fault& f, std::ostream* out) {
  *out << f.how << " in " << f.at;
}
std::string expression(const Fault& f) {
  return fmt::format("misbehaves(how={}, at={})", f.how, f.at);
}
std::string fault_name(const ::testing::TestParamInfo<Fault>& info) {
  return info.param.how + "_in_" + info.param.at;
}

class Beside : public Run {
 protected:
  static constexpr int steps = 10;
  // The same for all, so that one run is enough.
  const std::multiset<std::string>& numbers_alone() {
    static std::multiset<std::string> numbers;
    if (!numbers.empty()) return numbers;
    const Ended e = pesuite({"run", suite({"none"}, steps), "--out", "alone", "--no-report"});
    EXPECT_EQ(e.code, 0) << e.err;
    return numbers = numbers_of(records("alone"), "none");
  }
  Ended run_beside(const std::string& expression, const std::string& limit,
                   std::vector<std::string> more = {}, std::vector<std::string> environment = {}) {
    std::vector<std::string> words = {"run", suite({"none", expression}, steps, "", limit),
                                      "--plugin-path", library, "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words, std::move(environment));
  }
  std::vector<fs::path> locks() const {  // of cells that have begun
    std::vector<fs::path> found;
    if (fs::exists(folder_ / "results/store"))
      for (const auto& item : fs::recursive_directory_iterator(folder_ / "results/store"))
        if (item.path().filename() == ".lock") found.push_back(item.path());
    return found;
  }
};

// Nothing that a plugin has started outlives the program; the name is in misbehaves.cpp.
void expect_no_strays() {
  for (const auto& item : fs::directory_iterator("/proc")) {
    const std::string stat = slurp(item.path() / "stat");  // number (name) state
    const bool ended = stat.find(") Z") != std::string::npos;
    EXPECT_TRUE(ended || stat.find("(stray_of_plugin)") == std::string::npos) << stat;
  }
}

class Misbehaves : public Beside, public ::testing::WithParamInterface<Fault> {};

TEST_P(Misbehaves, FailsAloneAndSaysWhy) {
  const Fault& f = GetParam();
  const std::multiset<std::string>& alone = numbers_alone();
  const auto start = std::chrono::steady_clock::now();
  const Ended e = run_beside(expression(f), f.limit);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 120) << "no bounded time";
  EXPECT_EQ(numbers_of(records(), "none"), alone) << e.err;
  EXPECT_EQ(status_of(expression(f)), f.status) << e.err;
  expect_no_strays();
  if (f.status == "ok") {
    EXPECT_EQ(e.code, 0) << e.err;
    return;
  }
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(reason_of(expression(f)).find(f.reason), std::string::npos) << reason_of(expression(f));
}

// They wait for the limit, as long again for a checkpoint, and for it where planning meets them.
const std::string limit = "time_limit_s = 4";
constexpr const char* why = "longer than the limit of 4 s";
INSTANTIATE_TEST_SUITE_P(
    Faults, Misbehaves,
    ::testing::Values(Fault{"segfault", "create", "crash", "crashed with SIGSEGV"},
                      Fault{"abort", "create", "crash", "crashed with SIGABRT"},
                      Fault{"exit_0", "create", "crash", "ended with exit code 0"},
                      Fault{"exit_75", "create", "crash", "though nobody asked"},
                      Fault{"print", "create", "ok", ""}, Fault{"chdir", "create", "ok", ""},
                      Fault{"fork", "create", "ok", ""}, Fault{"leave_group", "attend", "ok", ""},
                      Fault{"hoard", "create", "oom", "out of memory", "memory_limit = \"2GB\""},
                      Fault{"segfault", "attend", "crash", "crashed with SIGSEGV"},
                      Fault{"abort", "begin", "crash", "crashed with SIGABRT"},
                      Fault{"exit_0", "embed", "crash", "ended with exit code 0"},
                      Fault{"exit_75", "attend", "crash", "though nobody asked"},
                      Fault{"throw", "begin", "error", "hook begin: no encoding today"},
                      Fault{"throw", "attend", "error", "hook attend, layer 0: no encoding today"},
                      Fault{"throw_int", "embed", "error", "hook embed: the plugin threw"},
                      Fault{"hoard", "attend", "oom", "out of memory", "memory_limit = \"2GB\""},
                      Fault{"double_free", "attend", "crash", "crashed with SIGABRT"},
                      Fault{"overflow", "attend", "crash", "crashed with SIG"},
                      Fault{"stale", "begin", "error", "hook attend, layer 0: left a handle"},
                      Fault{"close", "attend", "crash", "left with exit code 4"},
                      Fault{"fork", "attend", "ok", ""}, Fault{"thread", "attend", "ok", ""},
                      Fault{"print", "attend", "ok", ""}, Fault{"chdir", "attend", "ok", ""},
                      Fault{"handlers", "attend", "ok", ""},
                      Fault{"hang", "create", "timeout", why, limit},
                      Fault{"hang", "begin", "timeout", why, limit},
                      Fault{"hang", "attend", "timeout", why, limit},
                      Fault{"handlers_hang", "attend", "timeout", why, limit}),
    fault_name);

// One who hangs hears no request to stop, and his runner is there no more.
TEST_F(Beside, AnOrphanThatHangsEndsItself) {
  const fs::path s = suite({"misbehaves(how=hang)"}, 5, "", "time_limit_s = 3");
  for (const int signal : {SIGKILL, SIGTERM}) {
    const auto start = std::chrono::steady_clock::now();
    Command c(folder_, {"run", s, "--no-report", "--plugin-path", library});
    while (locks().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    c.signal(signal);
    const int code = c.wait().code;
    EXPECT_EQ(code, signal == SIGTERM ? 143 : -SIGKILL) << signal;
    FileLock lock(locks().front());
    while (!lock.try_take() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(lock.try_take()) << "signal " << signal;
  }
}

TEST_F(Beside, WhatAPluginPrintsWhileItIsPlannedIsNoPartOfThePlan) {
  const fs::path s = suite({"misbehaves(how=print, at=create)"}, 5);
  const Ended e = pesuite({"plan", s, "--json", "--plugin-path", library});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(e.out.find("forged"), std::string::npos);
  EXPECT_EQ(Json::parse(e.out)["cells"].size(), 1u);
}

// A library whose manifest tells what it offers is loaded when its cells run; one without is
// refused.
class Loading : public Misbehaves {};
TEST_P(Loading, OfABadLibraryFailsItsCellsAlone) {
  const Fault& f = GetParam();
  const std::multiset<std::string>& alone = numbers_alone();
  const std::string copy = (folder_ / "misbehaves.plugin.so").string();
  fs::copy_file(library, copy);
  const std::vector<std::string> words = {
      "run", suite({"none", "misbehaves"}, steps), "--plugin-path", copy, "--no-report", "--out"};
  const auto run_into = [&](const std::string& out) {
    std::vector<std::string> all = words;
    all.push_back(out);
    return pesuite(all, {"PESUITE_TEST_LOAD=" + f.how});
  };
  const Ended refused = run_into("refused");
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_NE(refused.err.find("plugin refused: " + copy), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find(f.reason), std::string::npos) << refused.err;

  ASSERT_EQ(pesuite({"plugin", "manifest", copy}).code, 0);
  const Ended e = run_into("results");
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_EQ(numbers_of(records(), "none"), alone) << e.err;
  const std::string reason = f.how == "exit_0"    ? "ended with exit code 0"
                             : f.how == "exit_75" ? "though nobody asked"
                                                  : f.reason;
  EXPECT_NE(reason_of("misbehaves").find(reason), std::string::npos) << reason_of("misbehaves");

  std::vector<std::string> again = words;  // when it loads again, nothing is left of that
  again.emplace_back("results");
  const Ended mended = pesuite(again);
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(reason_of("misbehaves"), "");
  EXPECT_EQ(status_of("misbehaves"), "ok");
}
INSTANTIATE_TEST_SUITE_P(Faults, Loading,
                         ::testing::Values(Fault{"segfault", "load", "crash", "SIGSEGV"},
                                           Fault{"exit_75", "load", "crash", "without an answer"},
                                           Fault{"throw", "load", "crash", "SIGABRT"},
                                           Fault{"exit_0", "load", "crash", "without an answer"}),
                         fault_name);

// What a library tries is refused and named, before it is done; what is computed stays as it is.
class Sandbox : public Beside {
 protected:
  static bool works_here() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0 ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }
};
class Sandboxed : public Sandbox, public ::testing::WithParamInterface<Fault> {};
TEST_P(Sandboxed, NamesWhatIsTriedAndChangesNoNumber) {
  const Fault& f = GetParam();
  if (!works_here()) GTEST_SKIP() << "this system has no user namespaces";
  const std::multiset<std::string>& alone = numbers_alone();
  const Ended e =
      run_beside(expression(f), "", {"--sandbox"},
                 {"PESUITE_TEST_ELSEWHERE=" +
                  (f.at == "attend" ? (folder_ / "results").string() : folder_.string())});
  EXPECT_EQ(e.code, f.status == "ok" ? 0 : 3) << e.err;
  EXPECT_EQ(numbers_of(records(), "none"), alone) << e.err;
  EXPECT_EQ(status_of(expression(f)), f.status) << e.err;
  if (f.status != "ok") {
    EXPECT_NE(reason_of(expression(f)).find(f.reason), std::string::npos)
        << reason_of(expression(f));
  }
  EXPECT_FALSE(fs::exists(folder_ / "escaped"));
  EXPECT_FALSE(fs::exists(folder_ / "results" / "escaped"));
}
INSTANTIATE_TEST_SUITE_P(
    Faults, Sandboxed,
    ::testing::Values(Fault{"nothing", "attend", "ok", ""},
                      Fault{"socket", "attend", "error", "tried to open a socket"},
                      Fault{"run", "attend", "error", "tried to start a program"},
                      Fault{"write", "attend", "error", "escaped, which is outside its cell"},
                      Fault{"write", "create", "error", "escaped, which is outside its cell"}),
    fault_name);

// As in a container that forbids namespaces.
TEST_F(Sandbox, SaysWhereTheSystemDoesNotAllowIt) {
  if (!works_here()) GTEST_SKIP() << "this system has no user namespaces to forbid any in";
  write("forbid.sh", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"\n");
  const Ended e = Command(folder_, {"run", suite({"none"}, steps).string(), "--sandbox"}, {},
                          "/usr/bin/unshare --user --map-root-user sh forbid.sh")
                      .wait();
  EXPECT_EQ(e.code, 11) << e.err;
  EXPECT_NE(e.err.find("user namespaces"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("user.max_user_namespaces"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace pesuite::testing
