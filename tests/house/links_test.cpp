// Links of the documentation lead to files and headings that are there; what an installation and
// the site hold follows from the same pages.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/text.h"

namespace pesuite::testing {
namespace {

const fs::path repository = fs::path(PESUITE_TEST_DIR).parent_path().parent_path();

std::vector<fs::path> pages() {
  std::vector<fs::path> out = {repository / "README.md", repository / "CONTRIBUTING.md"};
  for (const auto& item : fs::recursive_directory_iterator(repository / "docs"))
    if (item.path().extension() == ".md") out.push_back(item.path());
  return out;
}

// The lines of a page that are neither in blocks of code nor, with `spans` false, in spans of it.
std::vector<std::string> prose_of(const std::string& text, bool spans) {
  static const std::regex span("`[^`]*`");
  std::vector<std::string> out;
  bool code = false;
  for (const std::string& line : split(text, '\n')) {
    if (trim(line).starts_with("```")) {
      code = !code;
    } else if (!code) {
      out.push_back(spans ? line : std::regex_replace(line, span, "``"));
    }
  }
  return out;
}

// What a heading is called in a link: small letters, blanks as hyphens, no punctuation.
std::string anchor_of(const std::string& heading) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  std::string out;
  for (const char c : std::regex_replace(heading, link, "$1")) {
    const auto u = static_cast<unsigned char>(c);
    if (c == ' ')
      out += '-';
    else if (std::isalnum(u) != 0 || c == '-' || c == '_' || u >= 0x80)
      out += static_cast<char>(std::tolower(u));
  }
  return out;
}

std::set<std::string> anchors_of(const std::string& text) {
  static const std::regex heading("^#+ +(.*)$"), id("<a (id|name)=\"([^\"]+)\">");
  std::set<std::string> out;
  for (const std::string& line : prose_of(text, true)) {
    std::smatch m;
    if (std::regex_match(line, m, heading)) {
      const std::string name = anchor_of(trim(m[1].str()));
      std::string free = name;
      for (int i = 1; !out.insert(free).second; ++i) free = fmt::format("{}-{}", name, i);
    }
    for (std::sregex_iterator it(line.begin(), line.end(), id), end; it != end; ++it)
      out.insert((*it)[2]);
  }
  return out;
}

// "" or what is wrong with a link of a page.
std::string fault_of(const fs::path& page, const std::string& link) {
  static const std::regex elsewhere("^[a-z]+:.*");
  if (std::regex_match(link, elsewhere)) return "";
  const std::size_t hash = std::min(link.find('#'), link.size());
  const fs::path file = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
  if (!fs::exists(file)) return "there is no such file";
  if (hash == link.size() || file.extension() != ".md") return "";
  return anchors_of(read_file(file)).contains(link.substr(hash + 1)) ? ""
                                                                     : "there is no such heading";
}

TEST(Links, LeadSomewhere) {
  static const std::regex link(R"(\]\(([^()\s]+)\))");
  std::size_t found = 0;
  for (const fs::path& page : pages())
    for (const std::string& line : prose_of(read_file(page), false))
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it, ++found)
        EXPECT_EQ(fault_of(page, (*it)[1]), "")
            << fs::relative(page, repository).string() << ": " << (*it)[1];
  EXPECT_GT(found, 500u);
}

TEST(Links, ThatLeadNowhereAreFound) {
  const fs::path page = repository / "docs" / "README.md";
  EXPECT_EQ(fault_of(page, "suites.md"), "");
  EXPECT_EQ(fault_of(page, "suites.md#exit-codes"), "");
  EXPECT_EQ(fault_of(page, "https://example.org/x"), "");
  EXPECT_NE(fault_of(page, "suite.md"), "");
  EXPECT_NE(fault_of(page, "suites.md#exit-code"), "");
  EXPECT_EQ(anchor_of("Your text, `your` encoding_x [here](x.md)!"),
            "your-text-your-encoding_x-here");
}

// What docs/README.md does not list, a reader of the site's menu does not find.
TEST(Links, ReachEveryPage) {
  const std::string index = read_file(repository / "docs" / "README.md");
  for (const auto& item : fs::directory_iterator(repository / "docs")) {
    const std::string name = item.path().filename().string();
    if (!name.ends_with(".md") || name == "README.md") continue;
    EXPECT_NE(index.find("](" + name + ")"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace pesuite::testing
