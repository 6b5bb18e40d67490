// The running queue, with processes that only pretend to work.
#include <algorithm>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Queue : public Run {
 protected:
  // `script` finds the file of its order in $3 and signs its messages with `says`.
  Ended run_with(const std::string& script, std::vector<std::string> more = {}) {
    write("fake.sh",
          "says() { nonce=$(sed -n 's/^ *\"nonce\": \"\\(.*\\)\".*/\\1/p' \"$file\"); "
          "echo \"{\\\"nonce\\\":\\\"$nonce\\\",$1}\"; }\nfile=$3\n" +
              script);
    std::vector<std::string> words = {"run",         suite({"none", "rope", "alibi"}, 10),
                                      "--launch",    "sh fake.sh",
                                      "--no-report", "--progress",
                                      "plain"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  }
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> all;
    std::ifstream in(folder_ / name);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
};

TEST_F(Queue, StartsNoMoreThanItsJobsAtOnceAndEveryCellOnce) {
  const Ended e =
      run_with("echo start >>log\nsleep 0.3\necho \"end $3\" >>log\nexit 3\n", {"-j", "2"});
  EXPECT_NE(e.code, 0);
  int running = 0, most = 0;
  std::set<std::string> ended;
  for (const std::string& line : lines("log")) {
    running += line == "start" ? 1 : -1;
    most = std::max(most, running);
    if (line != "start") ended.insert(line);
  }
  EXPECT_EQ(running, 0);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(ended.size(), 3u);
}

TEST_F(Queue, BelievesWhatAFailedWorkerSaysOfItself) {
  run_with("says '\"event\":\"failed\",\"kind\":\"error\",\"reason\":\"no tea\"'\nexit 4\n");
  for (const char* encoding : {"none", "rope", "alibi"}) EXPECT_EQ(reason_of(encoding), "no tea");
}

TEST_F(Queue, TriesCrashesAgainAsOftenAsItIsAsked) {
  run_with("echo try >>log\nexit 5\n", {"--retries", "2", "-j", "1"});
  EXPECT_EQ(lines("log").size(), 9u) << "three cells, three times each";
  EXPECT_NE(reason_of("rope").find("left with exit code 5"), std::string::npos)
      << reason_of("rope");
}

TEST_F(Queue, IsNotMisledByWhatPluginsPrint) {
  run_with(
      "echo 'step 1'\necho '[1,2]'\nsays '\"event\":\"done\"'\n"
      "echo '{\"event\":\"failed\",\"kind\":\"error\",\"reason\":\"unsigned\"}'\n"
      "echo "
      "'{\"nonce\":\"0\",\"event\":\"failed\",\"kind\":\"error\",\"reason\":\"forged\"}'\nexit "
      "6\n");
  EXPECT_EQ(status_of("rope"), "crash") << reason_of("rope");
}

TEST_F(Queue, AWorkerThatStopsAgainAndAgainHasFailed) {
  const Ended e = run_with("echo try >>log\nexit 75\n", {"-j", "1"});
  EXPECT_NE(e.code, 0);
  EXPECT_EQ(lines("log").size(), 33u) << "three cells, eleven times each";
  EXPECT_NE(reason_of("rope").find("though nobody asked"), std::string::npos) << reason_of("rope");
}

TEST_F(Queue, MessagesOfTheWrongKindAreNoMessages) {
  run_with(
      "says '\"event\":5'\nsays '\"event\":\"progress\",\"step\":\"x\"'\n"
      "says '\"event\":\"failed\",\"kind\":\"done\",\"reason\":\"none\"'\nexit 6\n");
  EXPECT_EQ(status_of("rope"), "crash");
}

// An end in peace that leaves nothing in the store is no result.
TEST_F(Queue, AWorkerThatDoesNothingHasFailed) {
  const Ended e = run_with("exit 0\n");
  EXPECT_NE(e.code, 0) << e.out;
  EXPECT_EQ(status_of("rope"), "crash");
  EXPECT_NE(reason_of("rope").find("exit code 0 before its first step and left no results"),
            std::string::npos)
      << reason_of("rope");
}

// A cgroup of this process for as long as it lives, which may have so much memory; of version 1,
// or where the system allows none, not there.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::int64_t bytes) {
    std::error_code error;
    if (!fs::create_directory(group_, error)) return;
    std::ofstream(group_ / "memory.limit_in_bytes") << bytes;
    std::int64_t limit = 0;
    std::ifstream(group_ / "memory.limit_in_bytes") >> limit;
    there_ = limit > 0 && limit <= bytes && enter(group_);
  }
  ~MemoryGroup() {
    std::error_code error;
    if (there_) enter(group_.parent_path());
    fs::remove(group_, error);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  bool is_there() const { return there_; }

 private:
  static bool enter(const fs::path& group) {
    return static_cast<bool>(std::ofstream(group / "cgroup.procs") << ::getpid() << std::flush);
  }
  fs::path group_ = fmt::format("/sys/fs/cgroup/memory/pesuite-test-{}", ::getpid());
  bool there_ = false;
};

TEST_F(Queue, CellsWaitForRoomInMemory) {
#ifdef PESUITE_SANITIZED
  GTEST_SKIP() << "sanitizers take more memory than a cell is estimated to";
#endif
  // 8 million parameters with gradients and moments: some 180 MB a cell
  write(
      "wide.toml",
      "name = \"wide\"\n[defaults]\nseeds = [1, 2]\n[model.wide]\npreset = \"micro\"\nwidth = 512\n"
      "heads = 8\nlayers = 2\nff_width = 2048\n[train]\nsteps = 2\nbatch = 2\n"
      "validation_examples = 2\n[[encoding]]\nexpr = \"rope\"\n[[task]]\ntask = \"toylag\"\n"
      "options = {document = 128}\ntrain_len = 16\n[[eval]]\nlengths = [16]\nexamples = 2\n");
  const MemoryGroup group(350'000'000);
  if (!group.is_there()) GTEST_SKIP() << "no cgroup of memory can be made here";
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core, one cell";
  const Ended e = pesuite({"run", "wide.toml", "--no-report", "--progress", "plain"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, ::testing::HasSubstr("note: fewer cells at a time than"));
  EXPECT_EQ(pesuite({"run", "wide.toml", "--no-report"}).err.find("fewer cells"), std::string::npos)
      << "nothing is to be run";
}

}  // namespace
}  // namespace pesuite::testing
