#include "run/waiting.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace pesuite {
namespace {

TEST(Waiting, SpinsLongWhereCoresAreFree) {
  const int quiet = spins_while_waiting(2, {2, 1}), busy = spins_while_waiting(2, {2, 2});
  EXPECT_GT(quiet, busy);
  EXPECT_GT(busy, 0) << "without any, each wait would be a call of the system";
  EXPECT_EQ(spins_while_waiting(2, {4, 3}), quiet) << "two cores are left";
  EXPECT_EQ(spins_while_waiting(2, {4, 4}), busy);
  EXPECT_EQ(spins_while_waiting(8, {2, 1}), quiet) << "more threads than cores, but all are ours";
  EXPECT_EQ(spins_while_waiting(8, {2, 2}), busy);
  EXPECT_EQ(spins_while_waiting(2, {}), quiet) << "the system says nothing";
}

TEST(Waiting, CountsCoresAndWhatRuns) {
  const Cores found = cores_of(
      "cpu  1 2 3\ncpu0 1 1 1\ncpu1 0 1 2\nprocesses 70\nprocs_running 12\nprocs_blocked 1\n");
  EXPECT_EQ(found.all, 2);
  EXPECT_EQ(found.wanted, 12);
  for (const char* text : {"", "procs_running", "procs_running x\n", "procs_running 1 2\n"})
    EXPECT_EQ(cores_of(text).wanted, 0) << text;
}

TEST(Waiting, SeesThreadsThatKeepAllCores) {
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  std::ifstream file("/proc/stat");
  const int all = cores_of(std::string{std::istreambuf_iterator<char>(file), {}}).all;
  if (all == 0) GTEST_SKIP() << "the system does not say what runs";
  for (int i = 0; i < all; ++i)  // also where this process may use but some
    others.emplace_back([&] {
      while (!done) continue;
    });
  const int spins = spins_while_waiting(0);
  done = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(spins, spins_while_waiting(2, {2, 2}));
}

}  // namespace
}  // namespace pesuite
