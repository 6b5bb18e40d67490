// What of the machine this process may use: its cores, less what the affinity and the limits of its
// cgroups (of both versions: containers, pods, batch jobs) withhold.
#pragma once

#include "base/file.h"

namespace pesuite {

int usable_cores();       // at least 1; of a cgroup's time for 1.5 cores, 1
double machine_memory();  // bytes

// The least of what a process's cgroups, and those above them, leave it.
struct Limits {
  double cores = 0;   // whose time; 0: no limit
  double memory = 0;  // bytes; 0: no limit
};
// `cgroup` is /proc/self/cgroup, `mounted` /sys/fs/cgroup.
Limits limits_of(const fs::path& cgroup, const fs::path& mounted);
Limits own_limits();

}  // namespace pesuite
