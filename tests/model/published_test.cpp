// Published checkpoints on the reference backend against plain loops in double.
#include "hf/checkpoint.h"

#include <gtest/gtest.h>

#include "tests/model/published_forward.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

const Catalog& catalog() {
  static const Catalog all = open_catalog({PESUITE_TEST_PLUGINS});
  return all;
}

// The largest difference of a logit, relative to the largest logit.
double apart(const fs::path& folder, const std::vector<std::int32_t>& tokens) {
  hf::Checkpoint c(catalog(), folder, open_backend("reference", {.threads = 1}),
                   static_cast<int>(tokens.size()));
  std::vector<double> found;
  Inspection look;
  look.logits = [&](const std::vector<double>& all) { found = all; };
  c.score(tokens, look);
  const Rows wanted = PublishedForward(folder).logits(tokens);
  double difference = 0, largest = 0;
  std::size_t i = 0;
  for (std::size_t t = 0; t < wanted.size(); ++t)
    for (const double x : wanted[t]) {
      if (i == found.size()) break;  // an inspection sees the first rows
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - found[i++]));
    }
  EXPECT_GE(i, std::min<std::size_t>(wanted.size(), Inspection::logit_rows) * wanted[0].size());
  return difference / largest;
}

TEST(Published, ReferenceIsPlainLoopsInDouble) {
  int compared = 0;
  for (const auto& item : fs::directory_iterator(fs::path(PESUITE_TEST_DIR) / "checkpoints")) {
    if (!fs::exists(item.path() / "expected.json")) continue;
    const Json runs = Json::parse(read_file(item.path() / "expected.json")).at("runs");
    for (const Json& run : runs)
      for (const Json& ids : run.at("input_ids")) {
        EXPECT_LE(apart(item.path(), ids.get<std::vector<std::int32_t>>()), 1e-10)
            << item.path().filename() << ", " << ids.size() << " tokens";
        ++compared;
      }
  }
  EXPECT_GE(compared, 29);
}

}  // namespace
}  // namespace pesuite::testing
