#include "run/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

Json prefix_of(std::vector<double> losses, const char* precision = "fp32") {
  return Json::array({{{"encoding", "e"},
                       {"task", "t"},
                       {"model", "m"},
                       {"precision", precision},
                       {"asked", true},
                       {"losses", losses},
                       {"norms", {1.0, 1.0}},
                       {"cursor", 160},
                       {"evaluated", {2.5}}}});
}

TEST(Prefix, MayDifferByRounding) {
  const PrefixCheck same = check_prefix(prefix_of({3, 2}), prefix_of({3, 2}));
  EXPECT_EQ(same.compared, 1u);
  EXPECT_TRUE(same.same_bits);
  const PrefixCheck close = check_prefix(prefix_of({3, 2}), prefix_of({3, 2.0000003}));
  EXPECT_FALSE(close.same_bits);
  EXPECT_TRUE(close.violations.empty());
}

TEST(Prefix, NamesTheFirstNumberThatIsAnother) {
  const PrefixCheck off = check_prefix(prefix_of({3, 2}), prefix_of({3, 2.001}));
  ASSERT_EQ(off.violations.size(), 1u);
  EXPECT_THAT(off.violations[0], HasSubstr("e on t (m, fp32): loss of step 2 is 2.001, was 2"));
  EXPECT_TRUE(
      check_prefix(prefix_of({3, 2}, "bf16"), prefix_of({3, 2.0001}, "bf16")).violations.empty())
      << "that is rounding there";
  EXPECT_FALSE(
      check_prefix(prefix_of({3, 2}, "bf16"), prefix_of({3, 2.001}, "bf16")).violations.empty());
  Json now = prefix_of({3, 2});
  now[0]["evaluated"][0] = 2.6;
  EXPECT_THAT(check_prefix(prefix_of({3, 2}), now).violations.at(0),
              HasSubstr("nats of evaluation 1"));
  now = prefix_of({3, 2});
  now[0]["cursor"] = 152;
  EXPECT_THAT(check_prefix(prefix_of({3, 2}), now).violations.at(0),
              HasSubstr("152 examples are read"));
}

TEST(Prefix, FailuresCountUnlessAMachineLacksThePrecision) {
  Json now = prefix_of({3, 2});
  now[0]["failed"] = "crashed";
  EXPECT_THAT(check_prefix(prefix_of({3, 2}), now).violations.at(0), HasSubstr("it fails now"));
  EXPECT_TRUE(check_prefix(now, prefix_of({3, 2})).violations.empty());
  now[0]["asked"] = false;
  EXPECT_TRUE(check_prefix(prefix_of({3, 2}), now).violations.empty());
  EXPECT_EQ(check_prefix(prefix_of({3, 2}), prefix_of({3, 2}, "bf16")).compared, 0u);
}

}  // namespace
}  // namespace pesuite::testing
