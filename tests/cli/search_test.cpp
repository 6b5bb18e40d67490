// `pesuite search` on a model trained for a moment, and what it says to mistakes.
#include <filesystem>

#include "base/json.h"
#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

class Search : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<Scratch>();
    checkpoint_ = trained("rope(base=500)");
    ASSERT_FALSE(checkpoint_.empty());
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static fs::path trained(const std::string& encoding) {
    const std::string out = "run" + std::to_string(trained_++);
    const Ended e = run({"train", "--encoding", encoding, "--model-size", "micro", "--task",
                         "toylag(document=512)", "--length", "32", "--batch-size", "8",
                         "--max-steps", "40", "--output-dir", out, "--threads", "1"});
    EXPECT_EQ(e.code, 0) << e.err;
    for (const auto& item : fs::recursive_directory_iterator(*folder_ / out))
      if (item.path().filename() == "latest.safetensors") return item.path();
    ADD_FAILURE() << "no checkpoint of " << encoding;
    return {};
  }
  static Ended run(std::vector<std::string> words) {
    return Command(*folder_, std::move(words), {}).wait();
  }
  static Ended search(std::vector<std::string> words) {
    words.insert(words.begin(), "search");
    for (const char* w : {"--examples", "2", "--population", "6", "--parents", "3", "--iterations",
                          "2", "--mutations", "3", "--crossovers", "3", "--threads", "1"})
      words.emplace_back(w);
    return run(words);
  }
  static inline std::unique_ptr<Scratch> folder_;
  static inline fs::path checkpoint_;
  static inline int trained_ = 0;
};

TEST_F(Search, WritesAFileThatTheEncodingReadsAndNeverLoses) {
  const std::vector<std::string> words = {"longrope",  "--checkpoint", checkpoint_.string(),
                                          "--length",  "128",          "--out",
                                          "found.txt", "--json"};
  const Ended e = search(words);
  ASSERT_EQ(e.code, 0) << e.err;
  const Json j = Json::parse(e.out);
  ASSERT_EQ(j["from"].size(), 4u);
  for (const Json& from : j["from"])
    EXPECT_LE(j["best"]["nats"].get<double>(), from["nats"].get<double>() + 1e-9) << from.dump();
  EXPECT_NE(j["best"]["encoding"].get<std::string>().find("base=500"), std::string::npos);
  EXPECT_EQ(e.out, search(words).out) << "a search repeats itself";
  const Ended reads = run({"train", "--encoding", "longrope(factors='found.txt')", "--model-size",
                           "micro", "--task", "toylag(document=512)", "--length", "32",
                           "--max-steps", "1", "--output-dir", "read", "--threads", "1"});
  EXPECT_EQ(reads.code, 0) << reads.err;
}

TEST_F(Search, TakesThePlaceOfWhatItExtendsInASum) {
  const Ended e = search({"longrope", "--checkpoint", trained("rope + alibi").string(), "--length",
                          "128", "--out", "summed.txt"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.out.find("longrope(factors=summed.txt) + alibi"), std::string::npos) << e.out;
  EXPECT_NE(e.out.find("yarn"), std::string::npos) << e.out;
  const Ended none = search({"longrope", "--checkpoint", trained("sinusoidal + alibi").string()});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("nothing that longrope extends"), std::string::npos) << none.err;
}

TEST_F(Search, MistakesAreSentences) {
  const auto says = [&](const std::vector<std::string>& words, int code, const char* sentence) {
    const Ended e = search(words);
    EXPECT_EQ(e.code, code) << e.err;
    EXPECT_NE(e.err.find(sentence), std::string::npos) << e.err;
  };
  says({"alibi", "--checkpoint", checkpoint_.string()}, 2, "has nothing to search; longrope has");
  says({"longrope", "--checkpoint", "nowhere"}, 5, "there is no checkpoint nowhere");
  says({"longrope"}, 2, "checkpoint");
  says({"longrope", "--checkpoint", checkpoint_.string(), "--length", "4096"}, 5, "document");
}

}  // namespace
}  // namespace pesuite::testing
