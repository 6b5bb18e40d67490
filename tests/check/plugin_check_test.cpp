// `pesuite plugin check` on plugins that are broken on purpose: each fault is found, by the check
// that is meant for it and by no other.
#include <fmt/format.h>
#include <sys/stat.h>

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
// 'task check' too says what happened.
TEST_F(PluginCheck, NamesTheTaskThatCrashes) {
  const Ended one =
      Command(folder_, {"task", "check", "crashing", "--plugin-path", PESUITE_TEST_TASKS}).wait();
  EXPECT_EQ(one.code, 4) << one.err;
  EXPECT_NE(one.err.find("task 'crashing' crashed with SIGABRT"), std::string::npos) << one.err;
  EXPECT_NE(one.err.find("while it was checked; its library is at fault"), std::string::npos);
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

// One finding for each mistake, by this check, with these words: what, where, and the likely cause.
TEST_F(PluginCheck, FindsEveryMistakeOnceAndSaysItsCause) {
  const std::map<std::string, std::pair<std::string, std::vector<std::string>>> wanted = {
      {"misspelt", {"acts", {"acts nowhere", "misspelt"}}},
      {"sets_a_copy", {"acts", {"hooks are attend", "a copy"}}},
      {"distance_swapped",
       {"steps", {"attend, layer 0", "distance [16, 4], wanted [4 or 1, 16 or more]", "swapped"}}},
      {"distance_short",
       {"steps", {"distance [1, 8]", "ends at distance 7, and distances go to 15"}}},
      {"distance_by_layer", {"steps", {"distance [1, 4, 16]", "reshape() it to [4, 16]"}}},
      {"bias_swapped",
       {"steps", {"bias [16, 16, 4]", "[2, 4, 16, 16]", "axes 0 and 2 are swapped"}}},
      {"widens_queries", {"steps", {"q [2, 4, 16, 16] and k [2, 2, 16, 8]", "widen the other"}}},
      {"flat_embedding", {"steps", {"hook embed", "[16, 2, 32], wanted [2, 16, 32]", "swapped"}}},
      {"cut_scores",
       {"steps", {"rewrite, layer 0", "scores [2, 4, 16, 1], wanted [2, 4, 16, 16]"}}},
      {"keeps_handle", {"steps", {"attend, layer 0", "distance", "another step"}}},
      {"undeclared_param", {"steps", {"attend, layer 0", "pes::Param", "constructor"}}},
      {"not_a_number", {"steps", {"distance of layer 0 is nan at [0, 3]", "negative number"}}},
      {"hides_itself", {"steps", {"is nan at [0, 0, 0]", "every key is hidden"}}},
      {"shouted_name", {"creates", {"'Slope W'", "lower_snake"}}},
      {"dices", {"deterministic", {"distance of layer 0"}}},
      {"counts_its_steps", {"pure", {"distance of layer 0", "-0.5 and then -0.25"}}},
      {"from_zero", {"offset", {"the embedding", "s.offset + t"}}},
      {"turns_from_zero", {"offset", {"of layer 0", "s.offset + t"}}},
      {"table_untold", {"lengths", {"'table'", "1536 of its 2048", "untrained()"}}},
      {"table_unbounded", {"unbounded", {"PES_UNBOUNDED", "'table'", "[64, 32]", "[128, 32]"}}},
      {"forgets_visible", {"causal", {"rewrite, layer 0", "c.visible"}}},
      {"grows_untold", {"cached", {"behind 17 tokens", "stale() has to tell"}}},
      {"shares_its_pass",
       {"cached", {"beside sequences of another length", "outside of the instance"}}},
      {"window_detached", {"gradients", {"parameter slope"}}}};
  const Ended e = check(PESUITE_TEST_FAULTS "/mistakes.plugin.so", {"--json"});
  EXPECT_EQ(e.code, 4) << e.err;
  std::set<std::string> found;
  const Json all = Json::parse(e.out);
  for (const Json& f : all["libraries"][0]["findings"]) {
    const auto outcome = f["outcome"].get<std::string>();
    if (outcome == "passed" || outcome == "skipped") continue;
    const std::string name = f["subject"].get<std::string>().substr(sizeof "encoding");
    EXPECT_TRUE(found.insert(name).second) << "a second finding: " << f.dump();
    const auto at = wanted.find(name);
    if (at == wanted.end()) {
      ADD_FAILURE() << f.dump();
      continue;
    }
    EXPECT_EQ(f["check"], at->second.first) << f.dump();
    for (const std::string& words : at->second.second)
      EXPECT_NE(f["detail"].get<std::string>().find(words), std::string::npos)
          << "no '" << words << "' in " << f.dump();
  }
  for (const auto& [name, finding] : wanted) EXPECT_TRUE(found.contains(name)) << name;
}

TEST_F(PluginCheck, TriesOtherOptionsWhereItIsStricter) {
  const auto tried = [&](const char* strictness) {
    const Ended e =
        check(std::string(PESUITE_TEST_PLUGINS) + "/bias.plugin.so",
              {"--encoding", "alibi", "--check", "cached", "--strictness", strictness, "--json"});
    EXPECT_EQ(e.code, 0) << e.err;
    std::set<std::string> subjects;
    const Json all = Json::parse(e.out);
    for (const Json& f : all["libraries"][0]["findings"])
      subjects.insert(f["subject"].get<std::string>());
    return subjects;
  };
  const Faults five = {"encoding alibi"};
  Faults six = five, seven;
  six.insert({"encoding alibi slopes=geometric", "encoding alibi learned=true",
              "encoding alibi dynamic=true"});
  seven = six;
  seven.insert({"encoding alibi largest=0.5", "encoding alibi largest=3",
                "encoding alibi factor=0.5", "encoding alibi factor=3", "encoding alibi heads=500",
                "encoding alibi original=500", "encoding alibi shorten=0.5",
                "encoding alibi random_distances=500"});
  EXPECT_EQ(tried("5"), five);
  EXPECT_EQ(tried("6"), six);
  EXPECT_EQ(tried("7"), seven);
}

// So that a name with a typo never passes.
TEST_F(PluginCheck, RefusesNamesOfNothing) {
  const std::string library = std::string(PESUITE_TEST_PLUGINS) + "/none.plugin.so";
  const auto says = [&](const std::vector<std::string>& flags, const char* text) {
    const Ended e = check(library, flags);
    EXPECT_EQ(e.code, 2) << e.out;
    EXPECT_NE(e.err.find(text), std::string::npos) << e.err;
  };
  says({"--encoding", "alibbi"},
       "--encoding alibbi: there is none of that name; there are: none, s");
  says({"--encoding", "none", "--encoding", "rope(base=500)"},
       "--encoding rope(base=500): there is");
  says({"--task", "copy"}, "--task copy: there is none of that name; there are: none");
  says({"--check", "gradient"},
       "--check gradient: nothing of that name was tried; 'pesuite plugin");
  EXPECT_EQ(check(library, {"--encoding", "no*", "--check", "grad*"}).code, 0);
}

// What an option does to the length, to the first tokens or to the size of sums is no fault.
TEST_F(PluginCheck, TellsOptionsFromFaults) {
  const std::string library = std::string(PESUITE_TEST_PLUGINS) + "/rotary.plugin.so";
  for (const char* encoding :
       {"ntk(dynamic=true)", "longrope(original=500)", "longrope(start_tokens=500)",
        "randomized(encoding=sinusoidal)", "clex(original=500)", "xpos(scale_base=0.5)"}) {
    const Ended e = check(library, {"--encoding", encoding, "--check", "phases", "--check",
                                    "gradients", "--check", "relative"});
    EXPECT_EQ(e.code, 0) << encoding << ": " << e.out << e.err;
  }
}

TEST_F(PluginCheck, ReadsCards) {
  const std::pair<const char*, const char*> wanted[] = {
      {"0 failed", "passed    descriptors"},
      {"1 failed", "the taxonomy 'relative, banana' has 'banana', which is none of absolute, rel"},
      {"1 failed", "the cost 'cheap' has 'cheap', which is none of none, minimal, low"},
      {"1 crashed", "lists, which must end with a null pointer"},
      {"1 failed", "needs plugin ABI 1.8 or newer, this pesuite has 1.7; use a newer pesuite"}};
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    const Ended e = check(fmt::format("{}/cards_{}.plugin.so", PESUITE_TEST_CARDS, i));
    EXPECT_NE(e.out.find(wanted[i].first), std::string::npos) << e.out;
    EXPECT_NE(e.out.find(wanted[i].second), std::string::npos) << e.out;
  }
}

TEST_F(PluginCheck, RefusesWhatIsNoPlugin) {
  const Ended missing = check("/no/such/thing.plugin.so");
  EXPECT_EQ(missing.code, 4);
  EXPECT_NE(missing.out.find("/no/such/thing.plugin.so"), std::string::npos) << missing.out;
  std::ofstream(folder_ / "text.plugin.so") << "not a library";
  const Ended text = check((folder_ / "text.plugin.so").string());
  EXPECT_EQ(text.code, 4);
  EXPECT_NE(text.out.find("is no ELF file"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("0 passed, 1 failed"), std::string::npos) << text.out;
  const Ended folder = check(folder_.string());
  EXPECT_EQ(folder.code, 4);
  EXPECT_NE(folder.out.find("is a folder; name the libraries in it"), std::string::npos)
      << folder.out;
  ASSERT_EQ(::mkfifo((folder_ / "pipe.plugin.so").c_str(), 0600), 0);
  const Ended pipe = check((folder_ / "pipe.plugin.so").string());
  EXPECT_EQ(pipe.code, 4);
  EXPECT_NE(pipe.out.find("is no regular file"), std::string::npos) << pipe.out;
  const std::string whole = slurp(PESUITE_TEST_PLUGINS "/rotary.plugin.so");
  std::ofstream(folder_ / "cut.plugin.so") << whole.substr(0, whole.size() / 3);
  const Ended cut = check((folder_ / "cut.plugin.so").string());
  EXPECT_EQ(cut.code, 4);
  EXPECT_NE(cut.out.find("ends too early"), std::string::npos) << cut.out;
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
  EXPECT_NE(xml.find("<skipped message=\"Needs the check &#39;creates"), std::string::npos) << xml;
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
