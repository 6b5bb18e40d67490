// The results that stand in docs/ are what their records say.
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

TEST_F(Run, ResultsInTheDocumentationAreWhatTheirRecordsSay) {
  int runs = 0;
  for (const auto& item : fs::directory_iterator(fs::path(PESUITE_TEST_DIR) / "../docs/results")) {
    if (!fs::exists(item.path() / "records.jsonl")) continue;
    ++runs;
    const fs::path copy = folder_ / item.path().filename();
    fs::create_directories(copy);
    for (const auto& file : fs::directory_iterator(item.path()))
      if (fs::is_regular_file(file) && file.path().filename() != "report.md")
        fs::copy(file.path(), copy);
    const Ended e = pesuite({"report", copy.string()});
    ASSERT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(slurp(copy / "report.md"), slurp(item.path() / "report.md"))
        << "'pesuite report docs/results/" << item.path().filename().string()
        << "' writes another report";
  }
  EXPECT_GE(runs, 1);
}

}  // namespace
}  // namespace pesuite::testing
