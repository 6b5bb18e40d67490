// The rules of the house that sources alone can show: who includes whom, what may stand where, one
// word for one thing, files of a length that can be read. CONTRIBUTING.md says why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "plugin/library.h"

namespace pesuite::testing {
namespace {

const fs::path root = fs::path(PESUITE_TEST_DIR).parent_path().parent_path();

struct Source {
  std::string path;  // below the root: "core/base/text.h"
  std::string text;
};

std::vector<Source> read_sources(const std::vector<std::string>& folders,
                                 const std::string& endings) {
  std::vector<Source> out;
  for (const std::string& folder : folders)
    for (const auto& item : fs::recursive_directory_iterator(root / folder)) {
      if (!std::regex_search(item.path().string(), std::regex("\\.(" + endings + ")$"))) continue;
      std::ostringstream text;
      text << std::ifstream(item.path()).rdbuf();
      out.push_back({fs::relative(item.path(), root).string(), text.str()});
    }
  std::sort(out.begin(), out.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  EXPECT_FALSE(out.empty());
  return out;
}
constexpr const char* cpp = "h|hpp|c|cpp|cu";

// Lines with blanks in place of comments and, unless `texts`, of what stands between quotes.
std::vector<std::string> code_of(const Source& s, bool texts) {
  const bool toml = s.path.ends_with(".toml");
  std::string t = s.text + "\n";
  char in = 0;  // '/' a line comment, '*' a block comment, '"' or '\'' a text
  for (std::size_t i = 0; i + 1 < t.size(); ++i) {
    const std::string two = t.substr(i, 2);
    if (in == 0) {
      if (toml ? two[0] == '#' : two == "//")
        in = '/';
      else if (!toml && two == "/*")
        in = '*';
      else if (two[0] == '"' ||
               (two[0] == '\'' &&
                (i == 0 || std::isalnum(static_cast<unsigned char>(t[i - 1])) == 0)))
        in = two[0];
      if (in != '/' && in != '*') continue;
    } else if (two[0] == '\n') {
      if (in != '*') in = 0;
      continue;
    } else if (in == two[0] && (in == '"' || in == '\'')) {
      in = 0;
      continue;
    } else if (in == '*' && two == "*/") {
      t.replace(i++, 2, "  ");
      in = 0;
      continue;
    } else if (two[0] == '\\' && (in == '"' || in == '\'')) {
      if (!texts) t[i] = ' ';
      ++i;  // what follows is no quote
    }
    if (!texts || in == '/' || in == '*') t[i] = ' ';
  }
  return split(t, '\n');
}

void broken(const Source& s, std::size_t line, const std::string& rule, const std::string& advice) {
  ADD_FAILURE_AT((root / s.path).c_str(), static_cast<int>(line + 1)) << rule << "\n  " << advice;
}

// ---------------------------------------------------------------------------------- includes

struct Include {
  const Source* source;
  std::size_t line;
  std::string what;
};

std::vector<Include> includes(const std::vector<Source>& all) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<Include> out;
  for (const Source& s : all) {
    const auto lines = code_of(s, true);
    std::smatch m;
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], m, pattern)) out.push_back({&s, i, m[1]});
  }
  return out;
}

bool starts_with_any(const std::string& s, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const auto& b) { return s.starts_with(b); });
}

// What the files of a folder may include of ours besides pesuite/. The first that fits counts.
const std::vector<std::pair<std::string, std::vector<std::string>>> layers = {
    {"core/include/", {}},
    {"core/base/", {"base/"}},
    {"core/backend/backend.h", {"base/shape.h"}},
    {"core/backend/cpu/", {"base/", "backend/backend.h", "backend/factory.h", "backend/cpu/"}},
    {"core/backend/cuda/",
     {"base/", "backend/backend.h", "backend/factory.h", "backend/group.h", "backend/cuda/"}},
    {"core/backend/mpi/", {"backend/mpi/"}},
    {"core/backend/group",
     {"base/", "backend/factory.h", "backend/group.h", "backend/launch.h", "backend/part.h",
      "backend/mpi/entry.h"}},
    {"core/backend/launch", {"base/", "backend/launch.h"}},
    {"core/backend/factory", {"backend/backend.h", "backend/group.h"}},
    {"core/backend/cuda_library",
     {"base/", "backend/backend.h", "backend/factory.h", "backend/part.h", "backend/cuda/entry.h"}},
    {"core/backend/reference/",
     {"base/", "backend/backend.h", "backend/factory.h", "backend/reference/"}},
    {"core/backend/",
     {"base/", "backend/backend.h", "backend/choice.h", "backend/factory.h", "backend/part.h"}},
    {"core/tensor/", {"base/", "tensor/", "backend/backend.h"}},
    {"core/plugin/", {"base/", "plugin/"}},
    {"core/encoding/", {"base/", "tensor/", "plugin/", "encoding/"}},
    {"core/model/",
     {"base/", "tensor/", "plugin/", "encoding/", "model/", "backend/backend.h",
      "backend/group.h"}},
    {"core/suite/", {"base/", "plugin/", "encoding/", "model/", "suite/"}},
    {"core/cell/", {"base/", "plugin/", "encoding/", "model/", "suite/", "cell/"}},
    {"core/plan/",
     {"base/", "plugin/", "encoding/", "model/", "hf/", "suite/", "cell/", "plan/",
      "backend/choice.h"}},
    {"core/analysis/",
     {"base/", "plugin/card.h", "model/protocol.h", "model/metrics.h", "model/sums.h", "suite/",
      "cell/", "analysis/"}},
    {"core/run/",
     {"base/", "plugin/", "encoding/", "model/", "hf/", "suite/", "cell/", "plan/", "analysis/",
      "run/", "backend/backend.h", "backend/choice.h", "backend/group.h"}},
    {"core/report/", {"base/", "plugin/", "model/", "suite/", "cell/", "analysis/", "report/"}},
    {"core/app/", {"base/", "plugin/", "report/", "app/"}},
    {"core/search/", {"base/", "tensor/", "plugin/", "encoding/", "model/", "suite/", "search/"}},
    {"core/golden/",
     {"base/", "tensor/", "plugin/", "encoding/", "model/", "suite/", "search/", "golden/",
      "backend/backend.h"}},
    {"core/bench/",
     {"base/", "tensor/", "plugin/", "encoding/", "model/", "bench/", "backend/backend.h"}},
    {"core/check/",
     {"base/", "tensor/", "plugin/", "encoding/", "model/", "check/", "backend/backend.h"}},
    {"core/history/", {"base/", "analysis/", "history/"}},
    {"core/exports/", {"base/", "analysis/", "history/database.h", "exports/"}},
    {"core/bundle/", {"base/", "cell/", "model/metrics.h", "bundle/"}},
    {"core/hf/", {"base/", "plugin/", "encoding/", "model/", "hf/", "backend/backend.h"}},
    {"core/text/", {"base/", "text/"}},
    {"core/data/", {"base/", "text/", "data/"}},
    {"core/tools/", {"base/", "plugin/"}},
    {"core/cli/",
     {"base/",
      "tensor/",
      "plugin/",
      "encoding/",
      "model/",
      "hf/",
      "suite/",
      "cell/",
      "plan/",
      "run/",
      "analysis/",
      "report/",
      "bench/",
      "search/",
      "check/",
      "golden/",
      "history/",
      "exports/",
      "bundle/",
      "text/",
      "data/",
      "app/",
      "cli/",
      "backend/backend.h",
      "backend/choice.h",
      "backend/group.h"}}};

TEST(Includes, GoOneWay) {
  std::vector<std::string> ours = {"tests/"};  // every folder of core
  for (const auto& item : fs::directory_iterator(root / "core"))
    if (item.is_directory()) ours.push_back(item.path().filename().string() + "/");
  const auto core = read_sources({"core"}, cpp);
  for (const Include& i : includes(core)) {
    const auto layer = std::find_if(layers.begin(), layers.end(), [&](const auto& l) {
      return i.source->path.starts_with(l.first);
    });
    if (layer == layers.end()) {
      broken(*i.source, i.line, "a file outside the layers of core/",
             "give it a layer in tests/house/house_test.cpp");
    } else if (starts_with_any(i.what, ours) && !starts_with_any(i.what, layer->second)) {
      broken(
          *i.source, i.line, fmt::format("{} may not include {}", layer->first, i.what),
          fmt::format("of ours it may include pesuite/ {}; move what is shared down, or pass it in",
                      join(layer->second, " ")));
    }
  }
}

TEST(Includes, OfPluginsAndTasksAreTheSdkAndTheirOwn) {
  const auto plugins = read_sources({"plugins", "tasks"}, cpp);
  for (const Include& i : includes(plugins)) {
    const bool own = fs::exists((root / i.source->path).parent_path() / i.what) &&
                     i.what.find("..") == std::string::npos;
    const bool shared = i.source->path.starts_with("tasks/") && fs::exists(root / "tasks" / i.what);
    const bool standard = i.what.find('/') == std::string::npos || i.what.starts_with("sys/");
    if (!own && !shared && !standard && !i.what.starts_with("pesuite/"))
      broken(*i.source, i.line, "a plugin may not include " + i.what,
             "plugins know <pesuite/...>, their own folder (tasks: all of tasks/) and the standard "
             "library, so that others can write them too");
  }
}

TEST(Includes, OfLibrariesStandInTheirPlaces) {
  const struct {
    std::string header, place;
    int files;  // at most; 0: any number
  } rules[] = {{"dnnl", "core/backend/cpu/", 0},    {"hwy/", "core/backend/cpu/", 0},
               {"cuda", "core/backend/cuda/", 0},   {"cudnn", "core/backend/cuda/", 0},
               {"cublas", "core/backend/cuda/", 0}, {"mpi.h", "core/backend/mpi/", 1},
               {"toml++/", "core/base/", 1},        {"boost/dll", "core/plugin/", 1},
               {"sqlite3.h", "core/history/", 1},   {"archive", "core/bundle/", 1},
               {"httplib.h", "core/app/", 1}};
  const auto all = read_sources({"core", "plugins", "tasks"}, cpp);
  for (const auto& rule : rules) {
    std::set<std::string> files;
    for (const Include& i : includes(all)) {
      if (!i.what.starts_with(rule.header)) continue;
      files.insert(i.source->path);
      if (!i.source->path.starts_with(rule.place) ||
          (rule.files > 0 && static_cast<int>(files.size()) > rule.files))
        broken(*i.source, i.line,
               fmt::format("{} stands in {}{} only", i.what, rule.files == 1 ? "one file of " : "",
                           rule.place),
               "use what that place offers instead");
    }
  }
}

// ------------------------------------------------------------------------------------- words

std::vector<std::string> encoding_names() {
  // also the names of ordinary things, which say nothing about an encoding
  const std::set<std::string> ordinary = {"none",   "learned", "binary", "decimal",
                                          "random", "linear",  "integer"};
  std::vector<std::string> names;
  for (const std::string& n : open_catalog({PESUITE_TEST_PLUGINS}).encoding_names())
    if (!ordinary.contains(n)) names.push_back(n);
  return names;
}

TEST(Words, CoreKnowsNoEncodingByName) {
  const std::map<std::string, std::string> allowed = {
      {"core/cli/", "flag synonyms of the source studies, and examples in help"},
      {"core/hf/config.cpp", "which of them a published config.json speaks of"},
      {"core/hf/gated.cpp", "the same"},
      {"core/hf/ungated.cpp", "the same"},
      {"core/hf/rotation.cpp", "the same, of rotations"},
      {"core/hf/ignored.h", "its fields that say nothing"},
      {"core/hf/export.cpp", "the same, on the way out"},
      {"core/check/library_checks.cpp", "the words of a taxonomy"},
      {"core/suite/filter.cpp", "an example in a message"}};
  const std::string names = join(encoding_names(), "|");
  ASSERT_NE(names, "") << "no plugin in " << PESUITE_TEST_PLUGINS;
  const std::regex name("(^|[^A-Za-z0-9])(" + names + ")($|[^A-Za-z0-9])", std::regex::icase);
  for (const Source& s : read_sources({"core"}, cpp)) {
    if (std::any_of(allowed.begin(), allowed.end(),
                    [&](const auto& a) { return s.path.starts_with(a.first); }))
      continue;
    const auto lines = code_of(s, true);
    std::smatch m;
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], m, name))
        broken(s, i, fmt::format("core/ names the encoding '{}'", m[2].str()),
               "what is special about an encoding belongs into its plugin, or into a property that "
               "any plugin may declare");
  }
}

TEST(Words, HaveOneMeaning) {
  const struct {
    const char *pattern, *instead;
  } rules[] = {
      {"seq_?len(gth)?|context_length|n_?ctx", "length"},
      {"d_?model|hidden_(size|dim)|embed(ding)?_dim|n_?embd", "width"},
      {"(n|num)_?heads?", "heads"},
      {"(n|num)_?layers?", "layers"},
      {"d_?ff|intermediate_size|ffn_dim", "ff_width"},
      {"trials?|experiments?", "cell"},
      {"PE|pos_?enc(oding)?|pos_?emb(edding)?|positional_(encoding|embedding)", "encoding"},
      {"relative_position|rel_?pos", "distance"}};
  auto all = read_sources({"core", "plugins", "tasks"}, cpp);
  const auto suites = read_sources({"suites"}, "toml");
  all.insert(all.end(), suites.begin(), suites.end());
  for (const auto& rule : rules) {
    const std::regex word(fmt::format("(^|[^A-Za-z0-9])({})(?![A-Za-z0-9])", rule.pattern));
    for (const Source& s : all) {
      const auto lines = code_of(s, false);
      std::smatch m;
      for (std::size_t i = 0; i < lines.size(); ++i)
        if (std::regex_search(lines[i], m, word))
          broken(s, i, fmt::format("'{}' has a name here already", m[2].str()),
                 fmt::format("say '{}'", rule.instead));
    }
  }
}

// A run is one of a suite, a probe looks at a model, a place is where a number was measured, a
// layer is the model's; what a class does has a better name than go().
TEST(Words, OfTypesAreNotLentToOthers) {
  static const std::regex lent(R"(\b(struct|class) (Probe|Run|Layer|Place)\b|\bgo\(\))");
  for (const Source& s : read_sources({"core"}, cpp)) {
    const auto lines = code_of(s, false);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], lent) && s.path != "core/analysis/run_data.h")
        broken(s, i, "this word means something else here", "say what it is or does");
  }
}

// ------------------------------------------------------------------------------------- files

// The classes that docs/plugins.md shows to authors are built, checked and loaded by other tests.
TEST(Files, PluginDocsShowTheExamplesThatAreTested) {
  std::ostringstream page;
  page << std::ifstream(root / "docs" / "plugins.md").rdbuf();
  const std::string text = page.str();
  int found = 0;
  for (const Source& s : read_sources({"tests/house/sdk"}, "cpp")) {
    const std::size_t from = s.text.find("struct "), to = s.text.find("\n};", from);
    ASSERT_NE(to, std::string::npos) << s.path;
    EXPECT_NE(text.find(s.text.substr(from, to + 4 - from)), std::string::npos)
        << "copy the class of " << s.path << " into docs/plugins.md";
    ++found;
  }
  EXPECT_EQ(found, 3);
}

TEST(Files, OfTestsLieInFoldersOfTheirOwn) {
  const std::regex shared("temp_directory_path|TempDir *\\(|mkdtemp");
  for (const Source& s : read_sources({"tests"}, cpp)) {
    if (s.path == "tests/scratch.h") continue;
    const auto lines = code_of(s, false);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], shared))
        broken(s, i, "a folder that tests beside this one use too", "take a Scratch");
  }
}

TEST(Files, CanBeReadInOneSitting) {
  constexpr std::ptrdiff_t soon = 400, never = 650;
  for (const Source& s : read_sources({"core", "plugins", "tasks", "tests"}, cpp)) {
    const std::ptrdiff_t lines = std::count(s.text.begin(), s.text.end(), '\n');
    if (lines > never)
      broken(s, 0, fmt::format("{} lines are too many", lines),
             fmt::format("split it; a file stays near {}", soon));
    else if (lines > soon)
      std::cout << fmt::format("{}: {} lines; a file stays near {}\n", s.path, lines, soon);
  }
}

// --------------------------------------------------------------------------------- functions

struct Function {
  std::size_t line = 0, lines = 0;
  std::string head;  // what stands before its body
};

// Of a formatted source, blind to what is between quotes. Lambdas count with what holds them.
std::vector<Function> functions_of(const Source& s) {
  enum class Block { outside, type, function, other };
  static const std::regex name_space(R"(^(inline )?namespace\b)"),
      type(R"(^(template *<.*> *)?(struct|class|union|enum)\b[^(]*$)"), data(R"(=\s*$)");
  std::string text;
  for (std::string line : code_of(s, false)) {
    if (trim(line).starts_with("#")) line.clear();  // macros close what they like
    text += line + "\n";
  }
  struct Open {
    Block block;
    std::size_t from;
    std::string head;
  };
  std::vector<Open> open;
  std::vector<Function> out;
  std::size_t since = 0;  // end of the declaration before
  int brackets = 0;
  const auto outside = [&] {
    return open.empty() || open.back().block == Block::outside || open.back().block == Block::type;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    brackets += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '{') {
      const std::string head = trim(text.substr(since, i - since));
      const Block block = !outside() || brackets > 0            ? Block::other
                          : std::regex_search(head, name_space) ? Block::outside
                          : std::regex_search(head, type)       ? Block::type
                          : std::regex_search(head, data)       ? Block::other
                          : head.find('(') != std::string::npos ? Block::function
                                                                : Block::other;
      open.push_back({block, text.find_first_not_of(" \n", since), head});
      if (block != Block::other) since = i + 1;
    } else if (c == '}' && !open.empty()) {
      const Open closed = open.back();
      open.pop_back();
      const std::size_t next = text.find_first_not_of(" \n", i + 1);
      if (closed.block == Block::function && next != std::string::npos &&
          (text[next] == '{' || text[next] == ',')) {  // an initializer such as a{1}
        since = closed.from;
        continue;
      }
      if (closed.block == Block::function)
        out.push_back(
            {static_cast<std::size_t>(std::count(text.begin(), text.begin() + closed.from, '\n')),
             static_cast<std::size_t>(
                 std::count(text.begin() + closed.from, text.begin() + i, '\n') + 1),
             closed.head});
      if (closed.block != Block::other) since = i + 1;
    } else if (c == ';' && brackets == 0 && outside()) {
      since = i + 1;
    }
  }
  return out;
}

TEST(Functions, AreFoundWithTheirLines) {
  const Source s{"core/x.cpp",
                 "#define A {\nnamespace n {\nstruct S {\n  int a = 3;\n  S() : a{1} {}\n"
                 "  int f(int x) {\n    if (x) {\n      return 1;\n    }\n    return 2;\n  }\n};\n"
                 "const int table[] = {1,\n 2};\nint g() { return 0; }\n}\n"};
  std::vector<std::string> found;
  for (const Function& f : functions_of(s))
    found.push_back(fmt::format("{} {} {}", f.head, f.line, f.lines));
  EXPECT_NE(std::find(found.begin(), found.end(), "int f(int x) 5 6"), found.end())
      << join(found, "; ");
  EXPECT_EQ(found.back(), "int g() 14 1");
}

TEST(Functions, CanBeReadAtASight) {
  constexpr std::size_t never = 80, reason = 60, verb = 40;
  const std::map<std::string, std::string> long_ones = {
      // with a reason
      {"core/model/model.cpp: Model::Model", "the parameters in the order of a forward pass"},
      {"core/model/probe_attention.cpp: probe_attention", "one pass and the sums that it fills"},
      {"core/check/phases.cpp: check_phases", "one law with its four cases"},
      {"core/report/figures/cost.cpp: draw_cost", "one picture, part by part"}};
  std::set<std::string> met;
  for (const Source& s : read_sources({"core"}, cpp)) {
    if (s.path.starts_with("core/backend/") || s.path == "core/bench/timed_backend.h") continue;
    for (const Function& f : functions_of(s)) {
      const std::string named = f.head.substr(0, f.head.find('('));
      const std::string name = s.path + ": " + named.substr(named.find_last_of(" *&\n") + 1);
      const bool excused = long_ones.contains(name);
      if (excused && f.lines > reason) met.insert(name);
      const bool is_verb = f.head.find("_verb(") != std::string::npos;
      const std::size_t most = is_verb ? verb : excused ? never : reason;
      if (f.lines > most)
        broken(s, f.line, fmt::format("{} has {} lines, above {}", name, f.lines, most),
               is_verb ? "a verb reads as parse, load, plan, run, report; move the parts out"
                       : "split it, or name it with a reason among the long ones above");
    }
  }
  for (const auto& [name, why] : long_ones)
    EXPECT_TRUE(met.contains(name)) << name << " needs no excuse any more";
}

}  // namespace
}  // namespace pesuite::testing
