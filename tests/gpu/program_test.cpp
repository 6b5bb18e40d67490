// The program where there is a driver, but no device that answers it, or no library of ours.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> words = {"bench",    "attention", "--lengths",     "64",
                                        "--slots",  "none",      "--repetitions", "1",
                                        "--window", "0.001",     "--threads",     "1"};

Ended with_mock_driver(const std::string& device) {
  const Scratch folder;
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--device", device});
  return Command(folder, all, {"LD_LIBRARY_PATH=" PESUITE_MOCK_FOLDER}).wait();
}

TEST(Program, RefusesADriverThatNamesNoDevice) {
  const Ended e = with_mock_driver("cuda");
  EXPECT_EQ(e.code, 6);
  EXPECT_THAT(e.err, HasSubstr("no CUDA device: the driver is missing or does not answer ("));
  EXPECT_THAT(e.err, HasSubstr("cuDNN 9."));
  EXPECT_THAT(e.err, HasSubstr("; use --device cpu"));
}

TEST(Program, ComputesOnTheCpuInstead) {
  const Ended e = with_mock_driver("auto");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, HasSubstr("note: the CPU computes: no CUDA device: the driver "));
}

TEST(Program, SaysThatItsBuildHasNoCudaPart) {
  const Scratch folder;
  fs::create_directory(folder / "bin");
  const fs::path copy = folder / "bin" / "pesuite", said = folder / "said";
  fs::copy_file(PESUITE_TEST_PROGRAM, copy);
  std::string line = "LD_LIBRARY_PATH=" PESUITE_MOCK_FOLDER
                     " PESUITE_PLUGIN_PATH=" PESUITE_TEST_PLUGINS " " +
                     copy.string();
  for (const std::string& w : words) line += " " + w;
  const int status = std::system((line + " --device cuda 2> " + said.string()).c_str());
  EXPECT_EQ(WEXITSTATUS(status), 6);
  EXPECT_THAT(slurp(said), HasSubstr("this build has no CUDA part"));
}

}  // namespace
}  // namespace pesuite::testing
