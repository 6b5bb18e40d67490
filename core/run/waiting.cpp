#include "run/waiting.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "base/text.h"

namespace pesuite {
namespace {

constexpr int long_spin = 2000, short_spin = 500;

// The quietest of a few looks: what runs for a moment takes no cores.
Cores look() {
  Cores least;
  for (int looks = 0; looks < 3; ++looks) {
    if (looks > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::ifstream file("/proc/stat");
    const Cores now = cores_of(std::string{std::istreambuf_iterator<char>(file), {}});
    if (looks == 0 || now.wanted < least.wanted) least = now;
  }
  return least;
}

}  // namespace

Cores cores_of(std::string_view stat) {
  Cores out;
  for (const std::string& line : split(stat, '\n')) {
    if (line.starts_with("cpu") && !line.starts_with("cpu ")) ++out.all;
    const std::vector<std::string> words = split(line, ' ');
    double running = 0;
    if (words.size() == 2 && words[0] == "procs_running" && parse_count(words[1], running))
      out.wanted = static_cast<int>(std::min(running, 1e6));
  }
  return out;
}

int spins_while_waiting(int threads, Cores cores) {
  return cores.wanted - 1 + threads <= std::max(cores.all, threads) ? long_spin : short_spin;
}

int spins_while_waiting(int threads) {
  return spins_while_waiting(threads > 0 ? threads : usable_cores(), look());
}

}  // namespace pesuite
