// What verbs say of themselves: help, man pages and completions, all from the verbs' own flags.
#include <algorithm>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Verbs : public Run {
 protected:
  // What may stand in place of the last of `words`.
  std::vector<std::string> offered(std::vector<std::string> words) {
    words.insert(words.begin(), "--help=complete");
    const Ended ended = pesuite(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::vector<std::string> out;
    for (const std::string& line : split(ended.out, '\n'))
      if (!line.empty()) out.push_back(line.substr(0, line.find('\t')));
    return out;
  }
  std::string asked(std::vector<std::string> words, const std::string& last) {
    words.push_back(last);
    const Ended ended = pesuite(words);
    EXPECT_EQ(ended.code, 0) << join(words, " ") << ": " << ended.err;
    return ended.out;
  }
  const std::set<std::string> groups = {"baseline", "data", "history", "model", "plugin"};
  // The words that name each verb and subcommand that has flags of its own.
  std::vector<std::vector<std::string>> verbs() {
    std::vector<std::vector<std::string>> out;
    for (const std::string& verb : offered({""}))
      if (!groups.contains(verb)) out.push_back({verb});
    for (const std::string& group : groups)
      for (const std::string& sub : offered({group, ""})) out.push_back({group, sub});
    return out;
  }
};

std::set<std::string> found(const std::string& text, const char* pattern) {
  const std::regex p(pattern);
  std::set<std::string> out;
  for (const std::string& line : split(text, '\n'))
    if (std::smatch m; std::regex_search(line, m, p)) out.insert(m[1]);
  return out;
}

std::string without_escapes(const std::string& roff) {
  static const std::regex hyphen(R"(\\-)");
  return std::regex_replace(roff, hyphen, "-");
}

TEST_F(Verbs, AllStandInHelpAndInPages) {
  const std::vector<std::string> names = offered({""});
  EXPECT_GT(names.size(), 15u);
  const std::string help = pesuite({"--help"}).out, page = asked({}, "--help=man");
  for (const std::string& name : names) {
    EXPECT_NE(help.find("\n  " + name + " "), std::string::npos) << name;
    EXPECT_NE(page.find("\n.B " + name + "\n"), std::string::npos) << name;
    EXPECT_NE(without_escapes(page).find("\n.BR pesuite-" + name + " (1)"), std::string::npos)
        << name;
  }
}

TEST_F(Verbs, StandApartFromWhatTheyDo) {
  for (const std::string& group : groups) {
    const std::string help = asked({group}, "--help");
    for (const std::string& sub : offered({group, ""}))
      EXPECT_NE(help.find(fmt::format("\n  {}  ", sub)), std::string::npos) << sub << " in\n"
                                                                            << help;
  }
}

// A choice of 32 values goes on below itself, beside its help, and loses none.
TEST_F(Verbs, CardsFitATerminal) {
  const std::string card = pesuite({"info", "task", "addition"}).out;
  const std::string options = card.substr(card.find("\noption "));
  for (const std::string& line : split(options, '\n')) EXPECT_LE(line.size(), 120u) << line;
  for (const char* value : {" none i c o ", " cvr ovr ", " covr icovr "})
    EXPECT_NE(options.find(value), std::string::npos) << value << options;
}

TEST_F(Verbs, EachFlagStandsInPageAndCompletion) {
  for (const std::vector<std::string>& verb : verbs()) {
    const std::string name = join(verb, " ");
    const std::set<std::string> flags =
        found(asked(verb, "--help"), "^  (?:-. \\[ )?(--[a-z0-9-]+)");
    EXPECT_TRUE(flags.contains("--help") && flags.contains("--plugin-path")) << name;
    const std::string page = without_escapes(asked(verb, "--help=man"));
    EXPECT_EQ(found(page, "^\\.B (?:-., )?(--[a-z0-9-]+)"), flags) << name;
    std::vector<std::string> words = verb;
    words.emplace_back("--");
    const std::vector<std::string> all = offered(words);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), flags) << name;
  }
}

// Checkers of man pages, each where it is installed, have nothing to say.
TEST_F(Verbs, PagesAreClean) {
  if (find_program("mandoc").empty()) GTEST_SKIP() << "mandoc is not installed (Debian: mandoc)";
  std::vector<std::vector<std::string>> all = verbs();
  all.emplace_back();
  for (const std::string& group : groups) all.push_back({group});
  for (const std::vector<std::string>& verb : all) {
    const fs::path page = write("page.1", asked(verb, "--help=man"));
    const fs::path said = folder_ / "said";
    const std::string command =
        fmt::format("mandoc -T lint -W style '{}' > '{}' 2>&1", page.string(), said.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << join(verb, " ") << "\n" << slurp(said);
    EXPECT_EQ(slurp(said), "") << join(verb, " ");
  }
}

TEST_F(Verbs, CompletionKnowsNamesOfThings) {
  std::set<std::string> encodings;
  for (const Json& card : Json::parse(pesuite({"list", "encoding", "--json"}).out))
    encodings.insert(card["name"].get<std::string>());
  for (const std::vector<std::string>& before : std::vector<std::vector<std::string>>{
           {"train", "--encoding"}, {"info", "encoding"}, {"train", "--seed", "1", "--pe-type"}}) {
    std::vector<std::string> words = before;
    words.emplace_back("");
    const std::vector<std::string> all = offered(words);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), encodings) << join(before, " ");
  }
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered({"run", "length_gen"}), Words{"length_generalization"});
  EXPECT_EQ(offered({"run", "length_generalization", "--profile", "c"}), Words{"ci"});
  EXPECT_EQ(offered({"info", "task", "toyl"}), Words{"toylag"});
  EXPECT_EQ(offered({"task", "check", "toyl"}), Words{"toylag"});
  EXPECT_EQ(offered({"train", "--model-size", "nan"}), Words{"nano"});
  EXPECT_EQ(offered({"run", "--device=cu"}), Words{"--device=cuda"});
  EXPECT_EQ(offered({"plugin", "new", ""}), (Words{"encoding", "task"}));
  EXPECT_EQ(offered({"bench", "pro"}), Words{"profile"});
  EXPECT_EQ(offered({"val"}), Words{"validate"});
  EXPECT_EQ(offered({"run", "--", "-j", "2", "--out=x", "smo"}), Words{"smoke"});
  EXPECT_EQ(offered({"run", "--out", ""}), Words{});  // files, which the shell knows
}

// bash's own function, fed as bash feeds it.
TEST_F(Verbs, CompleteInBash) {
  const fs::path file =
      fs::path(PESUITE_TEST_DIR).parent_path() / "core/cli/completions/pesuite.bash";
  const auto completed = [&](const std::string& line) {
    const fs::path said = folder_ / "said";
    write("try.sh",
          fmt::format(R"sh(. '{}'
COMP_LINE='{}'; COMP_POINT=${{#COMP_LINE}}
read -ra COMP_WORDS <<<"${{COMP_LINE//=/ = }}"; [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); PATH='{}':$PATH
eval "$(complete -p pesuite | grep -o '_[a-z]*')"
printf '%s\n' "${{COMPREPLY[@]}}")sh",
                      file.string(), line, fs::path(PESUITE_TEST_PROGRAM).parent_path().string()));
    std::system(fmt::format("cd '{0}' && bash try.sh > '{1}' 2>&1", folder_.string(), said.string())
                    .c_str());
    return trim(slurp(said));
  };
  EXPECT_EQ(completed("pesuite val"), "validate");
  EXPECT_EQ(completed("pesuite run --device cp"), "cpu");
  EXPECT_EQ(completed("pesuite run --device=cp"), "cpu");
  EXPECT_EQ(completed("pesuite run --device="), "auto\ncpu\ncuda\nreference");
  EXPECT_EQ(completed("pesuite plugin new e"), "encoding");
  EXPECT_EQ(completed("pesuite run length_gen"), "length_generalization");
  EXPECT_EQ(completed("pesuite rnu "), "");
}

}  // namespace
}  // namespace pesuite::testing
