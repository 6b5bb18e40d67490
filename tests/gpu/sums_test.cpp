// Sums over many terms in a fixed order, by one kernel or two: as many outputs and terms as lanes,
// chunks and blocks have, one more and one less.
#include <gtest/gtest.h>

#include "tests/gpu/subject.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

Values summed(Backend& b, const Values& x, const Values& before, bool add) {
  const Out from{b.allocate(x.data.size() * b.element_size()), x.shape};
  Out to{b.allocate(before.data.size() * b.element_size()), before.shape};
  b.upload(from, x.data.data());
  b.upload(to, before.data.data());
  to.add = add;
  b.sum(to, from.view(), 0);
  Values all{before.shape, std::vector<double>(before.data.size())};
  b.download(all.data.data(), to.view());
  b.release(from.data), b.release(to.data);
  return all;
}

TEST(Sums, AgreeWithTheReference) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const auto reference = open_backend("reference", {});
  for (const std::int64_t outputs : {1, 7, 8, 31, 33, 300})
    for (const std::int64_t terms : {1, 15, 17, 32, 33, 63, 64, 65, 255, 511, 512, 513, 3000})
      for (const bool add : {false, true}) {
        const Values x = random_values({terms, outputs}, 1), before = random_values({outputs}, 2);
        const std::string name = std::to_string(terms) + " terms of " + std::to_string(outputs);
        const Values actual = summed(*subject(Precision::fp32), x, before, add);
        expect_close(actual, summed(*reference, x, before, add), 5e-6, name);
        EXPECT_EQ(actual.data, summed(*subject_backwards(), x, before, add).data) << name;
      }
}

TEST(Sums, OfFewTermsAreOneKernel) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  if (launches() < 0) GTEST_SKIP() << "a device does not count them";
  const auto kernels = [](std::int64_t terms) {
    const auto b = subject(Precision::fp32);
    const long before = launches();
    summed(*b, random_values({terms, 4096}, 1), random_values({4096}, 2), false);
    return launches() - before;
  };
  const long none = kernels(1) - 1;
  EXPECT_EQ(kernels(256) - none, 1);
  EXPECT_EQ(kernels(2000) - none, 2);
}

}  // namespace
}  // namespace pesuite::testing
