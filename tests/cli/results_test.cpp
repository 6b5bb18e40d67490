// The results that stand in docs/ are what their records say.
#include <gmock/gmock.h>

#include <regex>

#include "base/text.h"
#include "tests/cli/fixture.h"
#include "tests/precision.h"

namespace pesuite::testing {
namespace {

const fs::path docs = fs::path(PESUITE_TEST_DIR) / "../docs";

TEST_F(Run, ResultsInTheDocumentationAreWhatTheirRecordsSay) {
  int runs = 0;
  for (const auto& item : fs::directory_iterator(docs / "results")) {
    if (!fs::exists(item.path() / "records.jsonl")) continue;
    ++runs;
    const fs::path copy = folder_ / item.path().filename();
    fs::create_directories(copy);
    for (const auto& file : fs::directory_iterator(item.path()))
      if (fs::is_regular_file(file) && file.path().extension() != ".md")
        fs::copy(file.path(), copy);
    const fs::path resolved = item.path() / "suite.resolved.toml";
    std::vector<std::string> words = {"validate", resolved.string()};
    if (!has_bf16()) {  // the suites that want it are refused, and by that sentence
      const bool wanted = slurp(resolved).find("precision = 'bf16'") != std::string::npos;
      const Ended refused = pesuite(words);
      EXPECT_EQ(refused.err.find("needs AVX-512") != std::string::npos, wanted) << refused.err;
      words.insert(words.end(), {"--set", "defaults.precision=fp32"});
    }
    const Ended suite = pesuite(words);
    if (slurp(resolved).find("real_text/tokens") == std::string::npos) {
      EXPECT_EQ(suite.code, 0) << suite.err;
    } else {  // its text is not kept here, and nothing else may be wrong
      EXPECT_EQ(suite.code, 5);
      EXPECT_NE(suite.err.find("there is no folder 'real_text/tokens'"), std::string::npos)
          << suite.err;
    }
    const Ended e = pesuite({"report", copy.string()});
    ASSERT_EQ(e.code, 0) << e.err;
    for (const char* page : {"report.md", "details.md"})
      EXPECT_EQ(slurp(copy / page), slurp(item.path() / page))
          << "'pesuite report docs/results/" << item.path().filename().string()
          << "' writes another " << page;
  }
  EXPECT_GE(runs, 1);
}

// Longer ones are read twice. Quotations of claims and lists of names do not count.
TEST(Results, SpeakInSentencesOfAtMost25Words) {
  const std::regex no_prose(R"re((\n(\||#|!\[|>|- )[^\n]*)|`[^`]*`|\]\([^)]*\)|\([^)]*\))re");
  const std::regex sentence(R"re([^.;:]+([.;:](?=\s)|$))re");
  int sentences = 0;
  for (const auto& item : fs::directory_iterator(docs / "results")) {
    std::istringstream paragraphs(
        std::regex_replace(slurp(item.path() / "report.md"), no_prose, ""));
    for (std::string line; std::getline(paragraphs, line);)
      for (std::sregex_iterator m(line.begin(), line.end(), sentence), end; m != end; ++m) {
        ++sentences;
        EXPECT_LE(split(trim((*m)[0].str()), ' ').size(), 25u) << item.path() << ": " << (*m)[0];
      }
  }
  EXPECT_GT(sentences, 100);
}

// `pesuite report` makes the rest again from the records.
TEST(Results, KeepNoPageAndNoFigureThatTheirReportsDoNotShow) {
  int figures = 0;
  for (const auto& item : fs::recursive_directory_iterator(docs / "results")) {
    const fs::path& file = item.path();
    EXPECT_NE(file.extension(), ".html") << file;
    if (file.extension() != ".svg") continue;
    ++figures;
    const fs::path folder = file.parent_path().parent_path();
    EXPECT_NE((slurp(folder / "report.md") + slurp(folder / "details.md"))
                  .find("figures/" + file.filename().string()),
              std::string::npos)
        << file;
  }
  EXPECT_GE(figures, 100);
}

TEST(Results, LinkNothingThatIsNotThere) {
  const std::regex link(R"re(\]\(([^)#]+)[^)]*\))re");
  int links = 0;
  for (const auto& item : fs::directory_iterator(docs / "results")) {
    const std::string text = slurp(item.path() / "report.md") + slurp(item.path() / "details.md");
    for (std::sregex_iterator m(text.begin(), text.end(), link), end; m != end; ++m, ++links)
      EXPECT_TRUE(fs::exists(item.path() / (*m)[1].str())) << item.path() / "report.md"
                                                           << ": " << (*m)[1];
  }
  EXPECT_GT(links, 200);
}

// What pages of tasks say that a command prints, it prints.
TEST_F(Run, ExamplesOnPagesOfTasksAreWhatTheProgramPrints) {
  const std::regex shown(
      R"re(`pesuite info task ('[^']+'|[a-z_]+) --example --length (\d+)`[^\n]*\n\n```\n([^`]+)```)re");
  int examples = 0;
  for (const auto& page : fs::directory_iterator(docs / "tasks")) {
    const std::string text = slurp(page.path());
    for (std::sregex_iterator m(text.begin(), text.end(), shown), end; m != end; ++m) {
      ++examples;
      std::string task = (*m)[1];
      task.erase(std::remove(task.begin(), task.end(), '\''), task.end());
      const Ended e = pesuite({"info", "task", task, "--example", "--length", (*m)[2]});
      ASSERT_EQ(e.code, 0) << e.err;
      std::istringstream lines((*m)[3]);
      for (std::string line; std::getline(lines, line);)
        EXPECT_NE(e.out.find(line), std::string::npos) << page.path() << ": " << line;
    }
  }
  EXPECT_GE(examples, 20);
}

// docs/suites.md tells of every key that a suite may have, by the last of its names.
TEST_F(Run, KeysOfSuitesStandInTheirPage) {
  const std::string page = slurp(docs / "suites.md");
  const Ended list = pesuite({"validate", "--keys"});
  ASSERT_EQ(list.code, 0) << list.err;
  const std::vector<std::string> lines = split(list.out, '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string key = lines[i].substr(0, lines[i].find(' '));
    const std::string last = key.substr(key.rfind('.') + 1);
    const std::regex told("(^|[^a-z_])" + last + "([^a-z_]|$)");
    EXPECT_TRUE(std::regex_search(page, told)) << key;
  }
  EXPECT_GT(lines.size(), 100u);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells = split(line, '|');
  for (std::string& c : cells) c = trim(c);
  return cells;
}

// Whether a table of `report` has a row with these cells under these headings.
bool quotes(const std::vector<std::string>& report, const std::vector<std::string>& headings,
            const std::vector<std::string>& cells) {
  std::vector<std::size_t> columns;  // of `headings` in the table that is read
  std::string last;
  for (const std::string& line : report) {
    if (line.starts_with("|---")) {
      const std::vector<std::string> all = cells_of(last);
      columns.clear();
      for (const std::string& h : headings)
        columns.push_back(std::find(all.begin(), all.end(), h) - all.begin());
      if (std::find(columns.begin(), columns.end(), all.size()) != columns.end()) columns.clear();
    } else if (line.starts_with("| ") && !columns.empty()) {
      const std::vector<std::string> row = cells_of(line);
      bool equal = true;
      for (std::size_t i = 0; i < columns.size() && equal; ++i)
        equal = columns[i] < row.size() && row[columns[i]] == cells.at(i);
      if (equal) return true;
    }
    last = line;
  }
  return false;
}

// What follows says what it is, so that no comparison passes for a verdict that it has not: see
// "Verdicts" in docs/results.md.
const std::regex label(R"re(\*(Claim|Setting|Not all was fixed beforehand|Tested after the run|)re"
                       R"re(Measured, not tested|Reading, not tested)\*)re");
const std::regex measure(R"re((\d+\.\d+|\d+(?= %)))re");  // "84.5", "80 %"

std::vector<std::string> measures_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::sregex_iterator m(text.begin(), text.end(), measure), end; m != end; ++m)
    out.push_back((*m)[1]);
  return out;
}

// A sentence, then its comparison with a verdict, which `pesuite docs --check` compares; so that no
// number stands there which the judge has not computed.
void check_tested(const std::string& list) {
  const std::regex item(
      R"re(\* ([^`]+)\n  `[^`]+`: (reproduced at this size|not reproduced at )re"
      R"re(this size|undecided|not applicable|not tested)[^\n]*\([^\n]*\)(\n|$))re");
  std::string rest = list;
  for (std::smatch m; !rest.empty(); rest = m.suffix()) {
    ASSERT_TRUE(std::regex_search(rest, m, item, std::regex_constants::match_continuous)) << rest;
    std::string sentence =
        std::regex_replace(m[1].str(), std::regex(R"re(\d[\d.]*x|\([^)]*\))re"), "");
    EXPECT_THAT(measures_in(sentence), ::testing::IsEmpty()) << sentence;
  }
}

TEST(Results, SayWhatIsTestedAndWhatIsNot) {
  std::string kind, report;
  int sections = 0, tested = 0, measured = 0;
  std::string text = slurp(docs / "results.md");
  const std::regex blank("\n\n+"), link(R"re(\]\((results/[a-z0-9_]+/)report\.md\))re");
  text = text.substr(text.find("\n## ", text.find("\n## Verdicts") + 1));
  for (std::sregex_token_iterator b(text.begin(), text.end(), blank, -1), end; b != end; ++b) {
    const std::string block = trim(b->str());
    if (block.starts_with("## ")) kind.clear(), ++sections;
    if (block.empty() || std::string("#|!<").find(block[0]) != std::string::npos) continue;
    std::smatch m;
    if (std::regex_search(block, m, link))
      report = slurp(docs / m[1].str() / "report.md") + slurp(docs / m[1].str() / "details.md");
    if (std::regex_search(block, m, label, std::regex_constants::match_continuous))
      kind = m[1];
    else
      EXPECT_TRUE(block.starts_with("* ") && !kind.empty()) << "says not what it is: " << block;
    if (kind == "Tested after the run" && block.starts_with("* ")) check_tested(block), ++tested;
    if (kind == "Reading, not tested") {
      EXPECT_THAT(measures_in(block), ::testing::IsEmpty()) << block;
    }
    if (kind != "Measured, not tested") continue;
    for (const std::string& number :
         measures_in(std::regex_replace(block, std::regex(R"re(\d[\d.]*x)re"), ""))) {
      ++measured;
      const std::regex whole("(^|[^0-9.])" + std::regex_replace(number, std::regex("\\."), "\\.") +
                             "([^0-9.]|$)");
      EXPECT_TRUE(std::regex_search(report, whole)) << number << " is not in the report: " << block;
    }
  }
  EXPECT_GE(sections, 14);
  EXPECT_GE(tested, 10);
  EXPECT_GE(measured, 8);
}

// Rows of tables under a heading stand in the report, or its details, that the text above them
// links to, in the columns of the same headings; of a hypothesis, the verdict. Rows that begin with
// "|" and no space are not quoted, nor is the table of findings.
TEST(Results, AreQuotedFromTheirReports) {
  std::istringstream text(slurp(docs / "results.md"));
  const std::regex link(R"re(\]\((results/[a-z0-9_]+/report\.md)\))re"),
      claim(R"re(([A-Z]\d+[a-z]?): .*)re");
  std::vector<std::string> report, headings;  // its lines; of the table that is read
  int rows = 0, verdicts = 0;
  for (std::string line, last; std::getline(text, line); last = line) {
    std::smatch m;
    if (line.starts_with("## ")) report.clear();
    if (std::regex_search(line, m, link)) {
      const fs::path page = docs / m[1].str();
      report = split(slurp(page) + slurp(page.parent_path() / "details.md"), '\n');
    }
    const bool rule = line.starts_with("|---") || line.starts_with("| ---");
    if (rule) headings = cells_of(last);
    const bool heading = rule || last.empty() || last.starts_with("<!--");
    if (!line.starts_with("| ") || heading) continue;
    if (headings.at(1) == "finding") continue;  // how they were run
    ASSERT_FALSE(report.empty()) << "a table under no link to a report: " << line;
    const std::vector<std::string> cells = cells_of(line);
    const std::string first = cells.at(1);
    if (!std::regex_match(first, m, claim)) {
      ++rows;
      EXPECT_TRUE(std::find(report.begin(), report.end(), line) != report.end() ||
                  quotes(report, headings, cells))
          << line;
      continue;
    }
    ++verdicts;
    const auto judged = std::find_if(report.begin(), report.end(), [&](const std::string& l) {
      return l.starts_with("| **" + m[1].str() + "**");
    });
    ASSERT_NE(judged, report.end()) << line;
    EXPECT_NE(judged->find("| " + cells.at(2) + " |"), std::string::npos) << line << "\n"
                                                                          << *judged;
  }
  EXPECT_GE(rows, 7);
  EXPECT_GE(verdicts, 4);
}

}  // namespace
}  // namespace pesuite::testing
