// `pesuite plugin check` on plugins that are broken on purpose: each fault is found, by the check
// that is meant for it and by no other.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/json.h"
#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

class PluginCheck : public ::testing::Test {
 protected:
  Ended check(const std::string& library, std::vector<std::string> flags = {}) {
    std::vector<std::string> words = {"plugin", "check", library};
    words.insert(words.end(), flags.begin(), flags.end());
    return Command(folder_, std::move(words)).wait();
  }
  // What was wrong with a library of a class of fault: "encoding x: check outcome", sorted.
  std::set<std::string> faults_of(const std::string& name, std::vector<std::string> flags = {}) {
    flags.emplace_back("--json");
    const Ended e = check(fmt::format("{}/{}.plugin.so", PESUITE_TEST_FAULTS, name), flags);
    EXPECT_EQ(e.code, 4) << e.err;
    std::set<std::string> out;
    const Json all = Json::parse(e.out);
    for (const Json& f : all["libraries"][0]["findings"]) {
      const auto outcome = f["outcome"].get<std::string>();
      details_[f["check"]] = f["detail"];
      if (outcome != "passed" && outcome != "skipped")
        out.insert(fmt::format("{}: {} {}", f["subject"].get<std::string>(),
                               f["check"].get<std::string>(), outcome));
    }
    return out;
  }

  const Scratch folder_;
  std::map<std::string, std::string> details_;
};

using Faults = std::set<std::string>;

TEST_F(PluginCheck, CatchesFutureLeaksByCausality) {
  EXPECT_EQ(faults_of("future_leak"), (Faults{"encoding centred_embedding: causal failed",
                                              "encoding summary_bias: causal failed"}));
}
TEST_F(PluginCheck, CatchesWrongGradientsByDifferences) {
  EXPECT_EQ(faults_of("wrong_gradient"), (Faults{"encoding detached_bias: gradients failed",
                                                 "encoding frozen_slope: gradients failed"}));
}
TEST_F(PluginCheck, CatchesPhasesInBf16ByPosition) {
  EXPECT_EQ(faults_of("bf16_phases"), (Faults{"encoding rounded_rotation: phases failed",
                                              "encoding rounded_sines: phases failed"}));
}
TEST_F(PluginCheck, CatchesCrashesWhenCreating) {
  EXPECT_EQ(faults_of("crash_in_create"),
            (Faults{"encoding follows_null: creates crashed", "encoding aborts: creates crashed"}));
}
TEST_F(PluginCheck, CatchesWhatNeverComesBack) {
  EXPECT_EQ(faults_of("endless_loop", {"--time-limit", "2"}),
            (Faults{"encoding loops_in_create: creates timed out",
                    "encoding waits_in_attend: steps timed out"}));
}
TEST_F(PluginCheck, CatchesStructsOfAnotherSize) {
  EXPECT_EQ(faults_of("wrong_size"), (Faults{"encoding reads_beyond: sizes crashed",
                                             "encoding writes_beyond: sizes crashed"}));
  EXPECT_EQ(faults_of("wrong_entry_size"), (Faults{"library: loads failed"}));
}

TEST_F(PluginCheck, RefusesWhatIsNoPlugin) {
  const Ended missing = check("/no/such/thing.plugin.so");
  EXPECT_EQ(missing.code, 4);
  EXPECT_NE(missing.out.find("/no/such/thing.plugin.so"), std::string::npos) << missing.out;
  std::ofstream(folder_ / "text.plugin.so") << "not a library";
  const Ended text = check((folder_ / "text.plugin.so").string());
  EXPECT_EQ(text.code, 4);
  EXPECT_NE(text.out.find("is no ELF file"), std::string::npos) << text.out;
  EXPECT_EQ(Command(folder_, {"plugin", "check"}).wait().code, 2);
  EXPECT_EQ(Command(folder_, {"plugin", "chekc"}).wait().code, 2);
}

TEST_F(PluginCheck, SaysWhichRoundOfFuzzingFailed) {
  const std::string rotary = PESUITE_TEST_PLUGINS "/rotary.plugin.so";
  const Ended one = check(rotary, {"--reproduce", "7", "--json"});
  EXPECT_EQ(one.code, 0) << one.err;
  const Json findings = Json::parse(one.out)["libraries"][0]["findings"];
  for (const Json& f : findings) {
    EXPECT_EQ(f["check"], "fuzz");
    EXPECT_EQ(f["detail"].get<std::string>().rfind("1 rounds", 0), 0u) << f.dump();
  }
}

TEST_F(PluginCheck, WritesJUnit) {
  const Ended e = check(PESUITE_TEST_FAULTS "/crash_in_create.plugin.so",
                        {"--junit", (folder_ / "junit.xml").string(), "--only-failed"});
  EXPECT_EQ(e.code, 4);
  EXPECT_EQ(e.out.find("passed   "), std::string::npos) << e.out;
  const std::string xml = slurp(folder_ / "junit.xml");
  EXPECT_NE(xml.find("errors=\"2\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"creates\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("SIGABRT"), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"Needs the check 'creates"), std::string::npos) << xml;
}

TEST_F(PluginCheck, DescribesEveryCheckInItsPage) {
  const std::string page = slurp(fs::path(PESUITE_TEST_DIR).parent_path() / "docs" / "plugins.md");
  std::istringstream list(Command(folder_, {"plugin", "check", "--list"}).wait().out);
  std::string line;
  std::getline(list, line);  // the heading
  int checks = 0;
  for (; std::getline(list, line); ++checks) {
    const std::string name = line.substr(0, line.find(' '));
    if (name[0] == '(') continue;
    EXPECT_NE(page.find(fmt::format("`{}`", name)), std::string::npos) << name;
  }
  EXPECT_GT(checks, 20);
}

}  // namespace
}  // namespace pesuite::testing
