// The suites of the sources' studies, each with its profile `ci`, on text that is made here.
#include "pesuite/random.hpp"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Studies : public Run {
 protected:
  // Sentences of few words, which a tokenizer of 512 can cut.
  std::string prose(int document) const {
    static const std::vector<std::string> words = {
        "the",  "boat",  "river", "old",  "house", "went", "to",    "a",    "small", "garden",
        "with", "her",   "dog",   "and",  "found", "that", "every", "tree", "had",   "words",
        "of",   "light", "when",  "rain", "came",  "she",  "said",  "we",   "will",  "return"};
    std::string text;
    std::uint64_t x = pes::mix64(7, static_cast<std::uint64_t>(document));
    for (int i = 0; i < 400; ++i) {
      x = pes::mix64(x, static_cast<std::uint64_t>(i));
      text += words[x % words.size()];
      text += x % 11 == 0 ? ".\n" : " ";
    }
    return text;
  }
  void make_tokens(const std::string& folder) {
    std::string lines;
    for (int i = 0; i < 600; ++i) lines += Json{{"text", prose(i)}}.dump() + "\n";
    write("text.jsonl", lines);
    ASSERT_EQ(pesuite({"data", "train-tokenizer", "text.jsonl", "--vocabulary", "512", "-o",
                       "tokenizer.json"})
                  .code,
              0);
    const Ended e = pesuite({"data", "tokenize", "text.jsonl", "--tokenizer", "tokenizer.json",
                             "-o", folder, "--validation-share", "0.3", "--filler-share", "0.1"});
    ASSERT_EQ(e.code, 0) << e.err;
  }
  // Every cell ends well, and the report has its answer.
  void run_ci(const std::string& study, const std::string& tokens) {
    make_tokens(tokens);
    const Ended e = pesuite({"run", study, "--profile", "ci", "--progress", "none"});
    ASSERT_EQ(e.code, 0) << e.err;
    std::set<std::string> tasks;
    for (const Json& j : records("results")) {
      EXPECT_EQ(j["status"], "ok") << j;
      if (j["metric"] != "stopped_early") tasks.insert(j["task"].get<std::string>());
    }
    EXPECT_FALSE(tasks.empty());
    int reports = 0;
    for (const auto& run : fs::directory_iterator(folder_ / "results" / "runs"))
      reports += fs::exists(run.path() / "report.md") && fs::exists(run.path() / "figures") ? 1 : 0;
    EXPECT_EQ(reports, 1);
  }
};

TEST_F(Studies, S0OfPythia) {
  run_ci("s0_comparison", "slimpajama/tokens");
}
TEST_F(Studies, S1OfFineWeb) {
  run_ci("s1_exploration", "fineweb/tokens");
}
TEST_F(Studies, S3OfTinyStories) {
  run_ci("s3_tinystories", "tinystories/tokens");
}

}  // namespace
}  // namespace pesuite::testing
