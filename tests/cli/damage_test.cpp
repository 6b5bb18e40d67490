// What becomes of results whose files are damaged, changed or left behind.
#include <sys/stat.h>

#include <cstring>
#include <regex>

#include "base/seal.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Damage : public Run {
 protected:
  void run(const fs::path& s, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", s, "--no-report", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended e = pesuite(words);
    ASSERT_EQ(e.code, 0) << e.err;
  }
  // Files of the store with such a beginning of their names.
  std::vector<fs::path> files(const std::string& name, const std::string& out = "results") const {
    std::vector<fs::path> found;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / out / "store"))
      if (item.path().filename().string().starts_with(name)) found.push_back(item.path());
    EXPECT_FALSE(found.empty()) << name;
    return found;
  }
  static void change(const fs::path& file, const std::function<void(std::string&)>& how) {
    std::string text = slurp(file);
    how(text);
    std::ofstream(file, std::ios::binary) << text;
  }
  // The first value becomes another number.
  static void other_number(std::string& text) {
    const std::size_t at = text.find("\"value\":") + 8;
    text[at + 2] = text[at + 2] == '5' ? '6' : '5';
  }
  Ended report() { return pesuite({"report", run_folder()}); }
};

TEST_F(Damage, OfTheStoreIsMendedFromWhatIsSound) {
  const fs::path s = suite({"rope"}, 10);
  run(s);
  const auto sound = numbers(records());
  const std::vector<std::pair<std::string, std::function<void(std::string&)>>> damages = {
      {"train", other_number},
      {"train", [](std::string& t) { t.insert(t.size() / 2, "{\n"); }},
      {"train", [](std::string& t) { t.erase(t.rfind('\n', t.size() - 2) + 1); }},
      {"eval-", other_number},
      {"eval-", [](std::string& t) { t.clear(); }},
      {"status", [](std::string& t) { t = "[1]"; }},
      {"determinism", [](std::string& t) { t.resize(1); }}};
  for (const auto& [name, how] : damages) {
    for (const fs::path& file : files(name)) change(file, how);
    run(s);
    EXPECT_EQ(numbers(records()), sound) << name;
  }
}

TEST_F(Damage, OfWeightsIsFoundWhereTheyAreRead) {
  const std::string length = "[[eval]]\nlengths = [64]\nexamples = 4\n";
  run(suite({"rope"}, 10, length), {"--out", "sound"});
  run(suite({"rope"}, 10));
  for (const fs::path& file : files("last"))
    change(file, [](std::string& t) {
      std::uint64_t header = 0;
      std::memcpy(&header, t.data(), sizeof header);
      t[8 + header + 5] ^= 4;  // of the first tensor, a weight
    });
  const Ended e = pesuite({"eval", files("last")[0], "--lengths", "16"});
  EXPECT_EQ(e.code, 5);
  EXPECT_NE(e.err.find("is damaged: the checksum of tensor"), std::string::npos) << e.err;
  fs::remove_all(folder_ / "results" / "runs");
  run(suite({"rope"}, 10, length));
  EXPECT_EQ(numbers(records()), numbers(records("sound")));
}

TEST_F(Damage, OfABranchTrainsItsTrunkAgain) {
  const std::string dropped = "rope -> none @ 5 steps";
  const fs::path s = suite({"rope", dropped}, 10);
  run(s);
  const auto sound = numbers(records());
  for (const fs::path& file : files("branch_5"))
    change(file, [](std::string& t) { t[t.size() - 3] ^= 4; });
  run(s, {"--rerun", "encoding=" + dropped});
  EXPECT_EQ(numbers(records()), sound);
}

TEST_F(Damage, ResultsThatLostTheirSealAreComputedAgain) {
  const fs::path s = suite({"rope"}, 10, "", "determinism = \"run\"");
  run(s);
  const auto sound = numbers(records());
  for (const char* name : {"eval-", "train", "status"})
    for (const fs::path& file : files(name))
      change(file, [](std::string& t) { t.erase(0, t.find('\n') + 1); });
  const int steps = steps_taken();
  run(s);
  EXPECT_EQ(numbers(records()), sound);
  EXPECT_EQ(steps_taken(), steps) << "weights are still good";
}

// A store as it was written before there were checksums.
TEST_F(Damage, OldStoresAreReadAndSealedByWhoAddsToThem) {
  const fs::path s = suite({"rope"}, 10);
  run(s);
  const auto sound = numbers(records());
  for (const char* name : {"eval-", "train", "determinism", "status"})
    for (const fs::path& file : files(name))
      change(file, [](std::string& t) { t.erase(0, t.find('\n') + 1); });
  for (const fs::path& file : files("status")) fs::rename(file, file.parent_path() / "status.json");
  fs::remove_all(folder_ / "results" / "runs");
  const auto trained = fs::last_write_time(files("train")[0]);
  run(s);
  EXPECT_EQ(numbers(records()), sound);
  EXPECT_EQ(fs::last_write_time(files("train")[0]), trained) << "nothing is computed again";

  fs::remove_all(folder_ / "results" / "runs");
  run(suite({"rope"}, 10, "[[eval]]\nlengths = [64]\nexamples = 4\n"));
  EXPECT_FALSE(fs::exists(files("train")[0].parent_path() / "status.json"));
  for (const char* name : {"eval-", "train", "determinism", "status"})
    for (const fs::path& file : files(name)) EXPECT_TRUE(is_sealed(file)) << file;
  fs::remove_all(folder_ / "results" / "runs");
  run(suite({"rope"}, 10));
  EXPECT_EQ(numbers(records()), sound);
}

TEST_F(Damage, OfRecordsIsNamedByReportsAndMendedByRuns) {
  const fs::path s = suite({"rope"}, 10);
  run(s);
  const auto sound = numbers(records());
  const fs::path folder = run_folder();
  for (const char* name : {"records.jsonl", "plan.json", "suite.resolved.toml", "env.json"}) {
    change(folder / name, [](std::string& t) { t[t.size() / 2] ^= 1; });
    Ended e = report();
    EXPECT_EQ(e.code, 5);
    EXPECT_NE(e.err.find(std::string(name) + " is not what the run wrote"), std::string::npos)
        << e.err;
    e = pesuite({"run", s});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_NE(e.err.find(std::string(name) + " is not what the run wrote"), std::string::npos)
        << e.err;
    EXPECT_EQ(report().code, 0) << name;
    EXPECT_EQ(numbers(records()), sound) << name;
  }
  fs::remove(folder / "digests.json");  // a copy of the records alone
  EXPECT_EQ(report().code, 0);
}

TEST_F(Damage, RecordsOfTheWrongKindAreSkipped) {
  run(suite({"rope"}, 10));
  fs::remove(run_folder() / "digests.json");
  std::ofstream(run_folder() / "records.jsonl", std::ios::app)
      << "{\"cell\": 5, \"metric\": \"nll\"}\n{\"cell\": \"x\", \"part\": [], \"metric\": "
         "\"nll\"}\n";
  const Ended e = report();
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.err.find("not a record, skipped"), std::string::npos) << e.err;
}

TEST_F(Damage, WhatKilledProcessesLeftIsSweptAway) {
  const fs::path s = suite({"rope"}, 10);
  run(s);
  pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string ending = fmt::format(".{}.tmp", gone);
  const std::vector<fs::path> left = {files("train")[0].string() + ending,
                                      files("last")[0].string() + ending,
                                      (run_folder() / "plan.json").string() + ending};
  for (const fs::path& file : left) std::ofstream(file) << "half";
  const fs::path other = files("train")[0].string() + ".notes.tmp";
  std::ofstream(other) << "not ours";
  for (const fs::path& file : files("status")) fs::remove(file);
  for (const fs::path& file : files("eval-")) fs::remove(file);
  run(s);
  for (const fs::path& file : left) EXPECT_FALSE(fs::exists(file)) << file;
  EXPECT_TRUE(fs::exists(other));
}

// A library is mapped: what was trained while it became another is nobody's.
TEST_F(Damage, AnEncodingThatIsRebuiltWhileItTrainsGivesNoResult) {
  const fs::path library = folder_ / "p" / "broken.plugin.so";
  fs::create_directories(library.parent_path());
  fs::copy(PESUITE_TEST_BROKEN "/broken_encodings.plugin.so", library);
  Command c(folder_, {"run", suite({"sleeps"}, 20), "--plugin-path", "p"},
            {"PESUITE_PLUGIN_PATH=" PESUITE_TEST_PLUGINS});
  await_checkpoint(c);
  const std::string bytes = slurp(library);
  std::ofstream(folder_ / "new", std::ios::binary) << bytes << "x";
  fs::rename(folder_ / "new", library);
  const Ended e = c.wait();
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(reason_of("sleeps").find("a plugin's library has changed"), std::string::npos)
      << reason_of("sleeps");
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    EXPECT_NE(item.path().filename(), "last.safetensors");
}

TEST_F(Damage, ChildrenOfPluginsEndWithTheirCell) {
  const auto start = std::chrono::steady_clock::now();
  const Ended e = pesuite({"run", suite({"forks"}, 5), "--no-report"});
  EXPECT_EQ(e.code, 0) << e.err;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 60) << "somebody waited for a child";
  std::ifstream in(folder_ / "children");
  int children = 0;
  for (pid_t child; in >> child; ++children) {
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
      gone = ::kill(child, 0) != 0 && errno == ESRCH;
      if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(gone) << child;
  }
  EXPECT_GE(children, 2) << "of planning and of the cell";
}

TEST_F(Damage, LimitsStandInPlansUnlessTheyAreTurnedOff) {
  Ended e = pesuite({"plan", suite({"rope"}, 10)});
  EXPECT_NE(e.out.find("limits of a cell: time 30:0"), std::string::npos) << e.out;
  e = pesuite({"plan", suite({"rope"}, 10, "", "time_limit_s = 60\nmemory_limit = \"none\"")});
  EXPECT_NE(e.out.find("limits of a cell: time 01:00, memory none\n"), std::string::npos) << e.out;
}

TEST_F(Damage, SignalsBeforeTheFirstCellLeaveAsOneThatGoesOn) {
  Command c(folder_, {"run", suite({"hangs_in_create"}, 5)});
  const auto listens = [](Command& command) {
    while (command.running() && !command.hears(SIGUSR1))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  listens(c);
  c.signal(SIGUSR1);
  EXPECT_EQ(c.wait().code, 75);
  for (const int ms : {0, 150, 600}) {  // while it starts, and while it trains
    Command t(folder_, {"train", "--encoding", "rope", "--model-size", "nano", "--max-steps",
                        "100000", "--output-dir", fmt::format("out{}", ms)});
    listens(t);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    t.signal(SIGUSR1);
    const Ended e = t.wait();
    EXPECT_EQ(e.code, 75) << ms << " ms: " << e.err;
  }
}

TEST_F(Damage, PlacesThatCannotHoldResultsAreNamed) {
  const fs::path s = suite({"rope"}, 10);
  Ended e = pesuite({"run", s, "--out", "bad\xff"});
  EXPECT_EQ(e.code, 2) << e.err;
  EXPECT_NE(e.err.find("is no UTF-8"), std::string::npos) << e.err;
  e = Command(folder_, {"run", s, "--out", "small", "--no-report"}, {},
              "/usr/bin/prlimit --fsize=8000")
          .wait();
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(e.err.find("File too large"), std::string::npos) << e.err;
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0666), 0);
  e = pesuite({"plugin", "check", "pipe"});
  EXPECT_EQ(e.code, 4) << e.err;
  e = pesuite({"plan", suite({"rope => longrope(factors='pipe')"}, 10)});
  EXPECT_NE(e.code, 0);
  EXPECT_NE(e.code, 9) << e.err;
}

TEST_F(Damage, TextsOfSuitesAreReadBeforeTheyAreShown) {
  const auto refused = [&](const std::string& more, const std::string& words) {
    const Ended e = pesuite({"validate", suite({"rope"}, 10, more)});
    EXPECT_EQ(e.code, 2);
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
  };
  const std::string id = "[[encoding]]\nexpr = \"alibi\"\nid = ";
  refused(id + "\"a\\u0001b\"\n", "holds a control character");
  refused(id + "\"a\\u202eb\"\n", "a mark that turns the direction of writing");
  refused(id + "\" a\"\n", "begins or ends with a space");
  refused(id + "\"" + std::string(2000, 'a') + "\"\n", "is 2000 bytes long");
  refused("[[hypothesis]]\nid = \"H\"\nexpect = \"" + std::string(3000, '(') + "\"\n",
          "more than 64 deep");
  refused("[[hypothesis]]\nid = \"H\"\nexpect = \"" + std::string(10000, '(') + "\"\n",
          "a claim of 10000 bytes");
}

// Names that anybody may have written into records.
TEST_F(Damage, ReportsShowHostileNamesAndDoNotActOnThem) {
  run(suite({"rope"}, 10));
  const fs::path folder = run_folder();
  fs::remove(folder / "digests.json");
  const std::string evil = "=cmd|' /C calc'!A0 <script>`x`](y) \\u001b[31m\\u202e";
  for (const char* name : {"records.jsonl", "suite.resolved.toml", "plan.json"})
    change(folder / name, [&](std::string& t) {
      for (const std::string before : {"\"id\":\"rope\"", "\"encoding\": \"rope\""}) {
        const std::string after = before.substr(0, before.size() - 5) + evil + "\"";
        for (std::size_t at = 0; (at = t.find(before, at)) != std::string::npos; at += after.size())
          t.replace(at, before.size(), after);
      }
    });
  const Ended e = report();
  EXPECT_EQ(e.code, 0) << e.err;
  std::map<std::string, std::string> written = {{"stdout", e.out}, {"stderr", e.err}};
  for (const auto& item : fs::recursive_directory_iterator(folder))
    for (const char* made : {".md", ".csv", ".tex", ".tsv", ".gp", ".svg"})
      if (item.path().extension() == made) written[item.path().filename()] = slurp(item.path());
  int seen = 0;
  for (const auto& [name, text] : written) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << name;
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << name;
    for (const std::string ending : {".csv", ".md"}) {
      const std::string acted_on = ending == ".csv" ? "\n=cmd" : " <script>";
      // code is shown as it is: between two backticks, as one stands in the name
      const std::string prose = std::regex_replace(text, std::regex("`` [^\n]*? ``"), "");
      EXPECT_TRUE(!name.ends_with(ending) || prose.find(acted_on) == std::string::npos) << name;
    }
    seen += text.find("cmd|") != std::string::npos || text.find("cmd\\|") != std::string::npos;
  }
  EXPECT_GT(seen, 5) << "the name stands in the tables";
}

}  // namespace
}  // namespace pesuite::testing
