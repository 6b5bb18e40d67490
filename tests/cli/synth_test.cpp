// data synth: tasks as shards of tokens.
#include <gmock/gmock.h>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

class Synth : public Run {
 protected:
  Ended synth(const std::string& task, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"data", "synth", task, "-o", "made"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  }
  std::vector<int> document(int number, const std::string& split = "train") {
    const Ended e = pesuite(
        {"data", "inspect", "made", "--document", std::to_string(number), "--split", split});
    std::vector<int> out;
    std::istringstream in(e.out);
    for (int t = 0; in >> t;) out.push_back(t);
    return out;
  }
};

TEST_F(Synth, AnAnswerStandsBehindItsToken) {
  ASSERT_EQ(synth("parity", {"--length", "20", "--seed", "7", "--tokens", "20k"}).code, 0);
  EXPECT_THAT(pesuite({"data", "verify", "made"}).out, HasSubstr("as written"));
  for (const char* split : {"train", "val"}) {
    const std::vector<int> d = document(3, split);
    ASSERT_EQ(d.size(), 22u) << "20 tokens, the answer, the end of text";
    const int ones = static_cast<int>(std::count(d.begin(), d.end() - 2, d[0]));
    const int others = 20 - ones;
    const bool odd = (d[0] == PES_FIRST_SYMBOL + 1 ? ones : others) % 2 != 0;
    EXPECT_EQ(d[20], 10 + (odd ? 1 : 0)) << split;
    EXPECT_EQ(d[21], 12);
  }
}

TEST_F(Synth, ACorpusIsWrittenByTheDocumentAndTrains) {
  ASSERT_EQ(synth("toylag(document=128)", {"--format", "llmc", "--tokens", "20k"}).code, 0);
  const std::vector<int> d = document(0);
  ASSERT_EQ(d.size(), 129u);
  EXPECT_EQ(d[0], 32) << "the end of text stands before a document there";
  const fs::path suite = write(
      "s.toml",
      "name = \"t\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = \"micro\"\n[train]\nsteps = "
      "10\nbatch = 4\nvalidation_examples = 4\n[[encoding]]\nexpr = \"rope\"\n[[task]]\nid = "
      "\"lags\"\ntask = \"tokens\"\noptions = {path = \"made\", align = \"document\"}\ntrain_len = "
      "32\n[[eval]]\nlengths = [32, 64]\nexamples = 4\n");
  ASSERT_EQ(pesuite({"run", suite}).code, 0);
  int losses = 0;
  for (const Json& j : records("results")) {
    EXPECT_NE(j["metric"], "bpb") << "its tokens are no text";
    losses += j["metric"] == "nll" && j["coords"].contains("protocol") ? 1 : 0;
  }
  EXPECT_GT(losses, 0);
}

TEST_F(Synth, HeldOutExamplesAreNewOrItIsRefusedAndNothingStays) {
  const Ended e = synth("kback_match", {"--length", "4", "--tokens", "1M"});
  EXPECT_EQ(e.code, 5);
  EXPECT_THAT(e.err, HasSubstr("most occur in training"));
  EXPECT_THAT(e.err, HasSubstr("--validation-share 0"));
  EXPECT_FALSE(fs::exists(folder_ / "made"));
  EXPECT_FALSE(fs::exists(folder_ / "made.part"));
  ASSERT_EQ(synth("kback_match", {"--length", "4", "--validation-share", "0"}).code, 0);
  EXPECT_THAT(synth("parity").err, HasSubstr("holds shards already"));
  EXPECT_THAT(pesuite({"data", "synth", "nosuch", "-o", "x"}).err, HasSubstr("there is no task"));
  EXPECT_THAT(pesuite({"data", "synth", "parity", "-o", "x", "--tokens", "-1"}).err,
              HasSubstr("--tokens is '-1'"));
}

}  // namespace
}  // namespace pesuite::testing
