#include "base/machine.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_file_atomic(file, text);
}

TEST(Machine, IsWhatGroupsOfVersionTwoLeave) {
  const Scratch s;
  write(s / "cgroup", "0::/pods/one\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 0) << "no file says anything";
  write(s / "fs/pods/one/cpu.max", "max 100000\n");
  write(s / "fs/pods/one/memory.max", "max\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 0);
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").memory, 0);
  write(s / "fs/pods/cpu.max", "150000 100000\n");
  write(s / "fs/pods/one/memory.max", "2000000\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 1.5) << "groups above count";
  write(s / "fs/pods/one/cpu.max", "50000 100000\n");
  write(s / "fs/memory.max", "1000000\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 0.5);
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").memory, 1e6) << "in a container the root is its own";
}

TEST(Machine, IsWhatGroupsOfVersionOneLeave) {
  const Scratch s;
  write(s / "cgroup", "9:name=systemd:/\n4:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n0::/\n");
  write(s / "fs/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
  write(s / "fs/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
  write(s / "fs/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 0);
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").memory, 0);
  write(s / "fs/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "250000\n");
  write(s / "fs/memory/memory.limit_in_bytes", "3000000\n");
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 2.5);
  EXPECT_EQ(limits_of(s / "cgroup", s / "fs").memory, 3e6);
}

TEST(Machine, IsNotChangedByFilesThatSayNothing) {
  const Scratch s;
  for (const char* group : {"", "::", "x", "0::/a\nx:y"}) {
    write(s / "cgroup", group);
    for (const char* text : {"", "x", "1", "100000 0", "-5 100000", "1 2 3"}) {
      write(s / "fs/a/cpu.max", text);
      EXPECT_EQ(limits_of(s / "cgroup", s / "fs").cores, 0) << group << "; " << text;
    }
  }
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(machine_memory(), 1e8);
}

}  // namespace
}  // namespace pesuite::testing
