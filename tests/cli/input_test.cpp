// Numbers and names that no run could mean: a sentence and the exit code of a wrong command.
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Input : public Run {
 protected:
  void refused(const std::vector<std::string>& words, const std::string& says) {
    const Ended e = pesuite(words);
    EXPECT_EQ(e.code, 2) << fmt::format("{}", fmt::join(words, " ")) << "\n" << e.err;
    EXPECT_NE(e.err.find(says), std::string::npos) << e.err;
  }
};

TEST_F(Input, LengthsOfSuitesAreWholeTokensInReach) {
  for (const std::string bad : {"\"1e30\"", "3000000000", "\"nan\"", "\"inf\"", "0.5", "0", "-3",
                                "\"1e300x\"", "4294967328", "1.7"})
    refused({"validate", suite({"rope"}, 10,
                               fmt::format("[[eval]]\ntask = \"toylag\"\nlengths = [{}]\n", bad))},
            "lengths");
  refused({"validate", suite({"rope"}, 10, "[[eval]]\nlengths = [\"0.001x\"]\n")},
          "'lengths' holds '0.001x', which is no length of 1 to 16777216 tokens where the training "
          "length is 16");
  refused({"validate", suite({"rope"}, 10, "[[eval]]\nlengths = []\n")}, "lengths' is empty");
}

TEST_F(Input, NamesOfSuitesStayInTheirFolder) {
  const fs::path s = suite({"rope"}, 10);
  for (const std::string name : {"../../../esc", "a/b", ".hidden", "a b"})
    refused({"run", s, "--set", "name=\"" + name + "\""}, "which is to name a folder");
}

TEST_F(Input, APathIsNoNameOfAShippedSuite) {
  refused({"validate", "nowhere/smoke.toml"},
          "nowhere/smoke.toml: there is no such file; the shipped suite is called 'smoke'");
  refused({"validate", "smoke.toml"}, "there is no such file");
  EXPECT_EQ(pesuite({"validate", "suites/smoke.toml"}).code, 0) << "as documented, from anywhere";
  EXPECT_EQ(pesuite({"validate", "smoke"}).code, 0);
}

TEST_F(Input, TrainChecksItsNumbers) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--max-steps", "-5"},     {"--max-steps", "0"},    {"--lr", "-1"},
      {"--lr", "nan"},           {"--seed", "-1"},        {"--log-interval", "-1"},
      {"--eval-interval", "-2"}, {"--threads", "1000000"}};
  for (const auto& [flag, value] : bad)
    refused({"train", "--encoding", "rope", "--model-size", "nano", flag + "=" + value}, flag);
  const fs::path file = write("file", "no folder");
  refused({"train", "--encoding", "rope", "--output-dir", file.string()},
          "this is a file; give a folder");
}

TEST_F(Input, BenchChecksItsNumbers) {
  refused({"bench", "train", "--window=-1"}, "--window");
  refused({"bench", "train", "--threads=100000"}, "--threads 100000: wants at most");
}

TEST_F(Input, EvalTakesMultiplesAndNoFractions) {
  ASSERT_EQ(pesuite({"run", suite({"rope"}, 10)}).code, 0);
  fs::path checkpoint;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    if (item.path().filename() == "last.safetensors") checkpoint = item.path();
  const Ended e = pesuite({"eval", checkpoint, "--lengths", "1x,24", "--examples", "2"});
  EXPECT_EQ(e.code, 0) << e.err;
  for (const std::string l : {"5000000000", "1.7", "nan", "-1", "0x"})
    refused({"eval", checkpoint, "--lengths=" + l}, "is no length");
}

}  // namespace
}  // namespace pesuite::testing
