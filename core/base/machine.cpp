#include "base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace pesuite {
namespace {

// "" where there is none.
std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return trim(std::string{std::istreambuf_iterator<char>(in), {}});
}
// 0: no number, "max" or -1, which is no limit.
double number_of(const std::string& text) {
  double number = 0;
  return parse_count(text, number) ? number : 0;
}

void lower(double& limit, double to) {
  if (to > 0 && (limit == 0 || to < limit)) limit = to;
}

// Version 2 has "150000 100000" in one file, version 1 each in its own.
void look(Limits& limits, const fs::path& group) {
  const std::vector<std::string> both = split(text_of(group / "cpu.max"), ' ');
  if (both.size() == 2 && number_of(both[1]) > 0)
    lower(limits.cores, number_of(both[0]) / number_of(both[1]));
  if (const double period = number_of(text_of(group / "cpu.cfs_period_us")); period > 0)
    lower(limits.cores, number_of(text_of(group / "cpu.cfs_quota_us")) / period);
  lower(limits.memory, number_of(text_of(group / "memory.max")));
  // of version 1, whose "no limit" is a number larger than any memory
  if (const double bytes = number_of(text_of(group / "memory.limit_in_bytes")); bytes < 0x1p60)
    lower(limits.memory, bytes);
}

}  // namespace

Limits limits_of(const fs::path& cgroup, const fs::path& mounted) {
  Limits limits;
  // "0::/a/b" of version 2, "4:cpu,cpuacct:/a/b" of version 1; in a container the path may be the
  // host's, and then the folder's root is our own
  for (const std::string& line : split(text_of(cgroup), '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path root = controllers.empty() ? mounted : mounted / controllers;
    fs::path own = fs::path(line.substr(second + 1)).relative_path();
    for (look(limits, root); !own.empty(); own = own.parent_path()) look(limits, root / own);
  }
  return limits;
}

Limits own_limits() {
  return limits_of("/proc/self/cgroup", "/sys/fs/cgroup");
}

int usable_cores() {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const double quota = own_limits().cores;
  return quota > 0 ? std::max(1, static_cast<int>(std::min<double>(cores, quota))) : cores;
}

double machine_memory() {
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double limit = own_limits().memory;
  return limit > 0 ? std::min(all, limit) : all;
}

}  // namespace pesuite
