// NCCL on a device: a group of one process, which is all that one device can be.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/factory.h"
#include "base/error.h"
#include "tests/gpu/subject.h"

namespace pesuite::testing {
namespace {

TEST(NcclOnADevice, AddsUpNothingToWhatThereIs) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  DeviceGroup g;
  try {
    g.id = make_device_group_id();
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  const auto group = make_device_group(g);
  double values[] = {1, 2.5};
  group->sum(std::span<double>(values));
  EXPECT_EQ(values[1], 2.5);
  EXPECT_EQ(group->gather(7), std::vector<double>{7});
  const auto backend = subject(Precision::fp32);
  const Shape shape = {1 << 20};
  void* const memory = backend->allocate((1 << 20) * sizeof(float));
  backend->fill({memory, shape}, 3);
  group->begin_sum(*backend, std::span(static_cast<float*>(memory), 1 << 20));
  group->finish_sums(*backend);
  std::vector<double> found(1 << 20);
  backend->download(found.data(), View{memory, shape});
  EXPECT_EQ(found, std::vector<double>(1 << 20, 3));
  backend->release(memory);
}

// Launches return at once; what they start takes time.
TEST(Events, TimeTheWorkAndNotItsLaunch) {
  if (const std::string why = absent(); !why.empty()) GTEST_SKIP() << why;
  const auto backend = subject(Precision::fp32);
  const Shape shape = {1 << 26};
  void* const memory = backend->allocate((std::size_t{1} << 26) * sizeof(float));
  const auto fill = [&](int times) {
    return backend->elapsed([&] {
      for (int i = 0; i < times; ++i) backend->fill({memory, shape}, i);
    });
  };
  double few = fill(4), many = fill(40);
  for (int i = 0; i < 9; ++i)  // others may be using the device
    few = std::min(few, fill(4)), many = std::min(many, fill(40));
  EXPECT_GT(few, 4 * 256e6 / 20e12) << "faster than any memory";
  EXPECT_NEAR(many / few, 10, 3);
  backend->release(memory);
}

}  // namespace
}  // namespace pesuite::testing
