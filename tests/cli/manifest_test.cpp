// Listing loads nothing; libraries without a manifest, or with one that is not theirs, are spoken
// of in sentences and lose nothing.
#include <gmock/gmock.h>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string crash = "PESUITE_TEST_CRASH=1";  // tests/plugins/crash_on_load.cpp
const std::string path = "PESUITE_PLUGIN_PATH=" PESUITE_TEST_PLUGINS;

class Manifests : public Run {
 protected:
  // A copy of a library that crashes when it is loaded, if somebody asks for that.
  Manifests() : library_(folder_ / "crash_on_load.plugin.so") {
    fs::copy_file(PESUITE_TEST_FRAGILE, library_);
  }
  fs::path manifest() const { return folder_ / "crash_on_load.plugin.toml"; }
  void write_manifest() {
    const Ended e = pesuite({"plugin", "manifest", library_.string()});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_TRUE(fs::exists(manifest()));
  }
  // With the library on the search path, and crashing where it is loaded.
  Ended ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--plugin-path", folder_.string()});
    return pesuite(std::move(words), {path, crash});
  }
  void edit(const std::string& from, const std::string& to) {
    std::string text = slurp(manifest());
    ASSERT_NE(text.find(from), std::string::npos) << text;
    std::ofstream(manifest()) << text.replace(text.find(from), from.size(), to);
  }

  fs::path library_;
};

// The loader of the system tells what it opens.
TEST_F(Manifests, ListAndInfoLoadNoLibrary) {
  const std::vector<std::string> told = {path, "LD_DEBUG=files"};
  for (const std::vector<std::string>& words : {std::vector<std::string>{"list", "encoding"},
                                                {"list", "task"},
                                                {"list", "encoding", "--json"},
                                                {"list", "task", "--json"},
                                                {"info", "encoding", "yarn"},
                                                {"info", "encoding", "t5", "--json"},
                                                {"info", "encoding", "alibi", "--markdown"},
                                                {"info", "task", "toylag"}}) {
    const Ended e = pesuite(words, told);
    EXPECT_EQ(e.code, 0);
    EXPECT_THAT(e.err, HasSubstr("libstdc++")) << "the loader is silent";
    EXPECT_THAT(e.err, Not(HasSubstr(".plugin.so"))) << words[0] << " " << words[1];
  }
  const Ended example = pesuite({"info", "task", "toylag", "--example"}, told);
  EXPECT_THAT(example.err, HasSubstr("corpus_tasks.plugin.so"));
  EXPECT_THAT(example.err, Not(HasSubstr("rotary.plugin.so")));
}

TEST_F(Manifests, ShowWhatCannotBeLoaded) {
  write_manifest();
  const Ended list = ask({"list", "encoding"});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.err, "");
  EXPECT_THAT(list.out, HasSubstr("\nfragile "));
  EXPECT_THAT(list.out, HasSubstr("\nrope "));
  const Ended info = ask({"info", "encoding", "fragile"});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("0 .. inf"));
  EXPECT_THAT(info.out, HasSubstr("left right"));
  EXPECT_THAT(info.out, HasSubstr("ABI "));
  const Json card = Json::parse(ask({"info", "encoding", "fragile", "--json"}).out);
  EXPECT_EQ(card["summary"], "no UTF-8: caf\xef\xbf\xbd");
  EXPECT_EQ(card["options"][0]["default"], "1.5");
  EXPECT_EQ(card["options"][0]["high"], "inf");
  EXPECT_EQ(card["library"]["file"], library_.string());
}

// What a manifest says does not make a library whole: loading one that is cut ends the process.
TEST_F(Manifests, AreNoWordForALibraryThatIsDamaged) {
  write_manifest();
  const std::string whole = slurp(library_);
  for (const std::size_t part : {1, 2, 3}) {
    std::ofstream(library_, std::ios::binary) << whole.substr(0, whole.size() * part / 6);
    const Ended e =
        pesuite({"plan", suite({"fragile"}, 5), "--plugin-path", library_.string()}, {path});
    EXPECT_EQ(e.code, 4) << e.err;
    EXPECT_THAT(e.err, HasSubstr("crash_on_load.plugin.so: "));
  }
}

// Whatever stands around it in an expression.
TEST_F(Manifests, OfWhatCannotBeLoadedArePlannedToFail) {
  write_manifest();
  for (const std::string e :
       {"none -> fragile @ 50%", "fragile -> none @ 50%", "none => fragile"}) {
    const Ended plan = ask({"plan", suite({e}, 10)});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("its cells will fail")) << e;
  }
}

TEST_F(Manifests, AreMissedInASentence) {
  const Ended list = ask({"list", "encoding"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, Not(HasSubstr("fragile")));
  EXPECT_THAT(list.out, HasSubstr("\nrope "));
  EXPECT_EQ(list.err, fmt::format("note: {0}: has no manifest crash_on_load.plugin.toml; what the "
                                  "library offers is not listed; 'pesuite plugin manifest {0}' "
                                  "writes it\n",
                                  library_.string()));
  // asked itself, in a process that may crash
  const Ended rope = ask({"info", "encoding", "rope"});
  EXPECT_EQ(rope.code, 0);
  EXPECT_THAT(rope.err, HasSubstr("crashed with SIGABRT (Aborted) when it was loaded"));
  const Ended whole =
      pesuite({"info", "encoding", "fragile", "--plugin-path", library_.string()}, {path});
  EXPECT_EQ(whole.code, 0);
  EXPECT_THAT(whole.err, HasSubstr("; the library was asked itself; 'pesuite plugin manifest "));
}

TEST_F(Manifests, ThatAreEditedAreNotBelieved) {
  write_manifest();
  edit("default = \"1.5\"", "default = \"2.5\"");
  const Ended list = ask({"list", "encoding"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, Not(HasSubstr("fragile")));
  EXPECT_THAT(list.err, HasSubstr("crash_on_load.plugin.toml: is cut or was edited"));
  const Ended info =
      pesuite({"info", "encoding", "fragile", "--plugin-path", library_.string()}, {path});
  EXPECT_EQ(info.code, 0);
  EXPECT_THAT(info.out, HasSubstr("1.5"));
  EXPECT_THAT(info.out, Not(HasSubstr("2.5")));
  edit("[library]", "[library");
  EXPECT_THAT(ask({"list", "encoding"}).err, HasSubstr("crash_on_load.plugin.toml:6:"));
}

TEST_F(Manifests, AreComparedByPluginCheck) {
  const auto check = [&] {
    const Ended e =
        pesuite({"plugin", "check", library_.string(), "--check", "manifest", "--json"}, {path});
    const Json findings = Json::parse(e.out)["libraries"][0]["findings"];
    EXPECT_EQ(findings.size(), 1u) << e.out;
    EXPECT_EQ(e.code, findings[0]["outcome"] == "failed" ? 4 : 0);
    return fmt::format("{}: {}", findings[0]["outcome"].get<std::string>(),
                       findings[0]["detail"].get<std::string>());
  };
  EXPECT_EQ(check(),
            "skipped: There is no crash_on_load.plugin.toml beside it, so it is not listed; "
            "'pesuite plugin manifest' writes one.");
  write_manifest();
  EXPECT_EQ(check(),
            "passed: crash_on_load.plugin.toml is of this build and says what the library "
            "says.");
  edit("default = \"1.5\"", "default = \"2.5\"");
  EXPECT_THAT(check(), HasSubstr("crash_on_load.plugin.toml: is cut or was edited"));
  edit("digest = ", "digest = = ");
  EXPECT_THAT(check(), HasSubstr("crash_on_load.plugin.toml:2:"));
  fs::copy_file(PESUITE_TEST_PLUGINS "/none.plugin.toml", manifest(),
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(check(),
            "failed: crash_on_load.plugin.toml is of another build; 'pesuite plugin "
            "manifest' writes what the library says");
}

TEST_F(Manifests, AreWrittenAndPrinted) {
  write_manifest();
  const std::string text = slurp(manifest());
  EXPECT_EQ(pesuite({"plugin", "manifest", library_.string(), "--print"}).out, text);
  const Ended again = ask({"plugin", "manifest", library_.string()});
  EXPECT_EQ(again.code, 4);
  EXPECT_EQ(again.err, fmt::format("error: {}: crashed with SIGABRT (Aborted) when it was loaded\n",
                                   library_.string()));
  EXPECT_EQ(slurp(manifest()), text);
  const Ended nothing = pesuite({"plugin", "manifest", "no.plugin.so"});
  EXPECT_EQ(nothing.code, 4);
  EXPECT_EQ(nothing.err, "error: no.plugin.so: there is no such plugin file\n");
  EXPECT_EQ(pesuite({"plugin", "manifest"}).code, 2);
}

}  // namespace
}  // namespace pesuite::testing
