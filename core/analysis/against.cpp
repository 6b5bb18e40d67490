#include "analysis/against.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <pesuite/random.hpp>

#include "analysis/numbers.h"
#include "analysis/statistics.h"
#include "base/error.h"
#include "base/json_error.h"

namespace pesuite {

const char* speed_name(Speed s) {
  switch (s) {
    case Speed::faster: return "faster";
    case Speed::alike: return "alike";
    case Speed::slower: return "slower";
    case Speed::undecided: break;
  }
  return "undecided";
}

void Windows::add(const Json& printed, const std::string& program) {
  try {
    for (const Json& b : printed.at("benchmarks"))
      if (b.at("run_type") == "iteration" && b.at("run_name") != "product")
        seconds[b.at("run_name")].push_back(1e-9 * b.at("real_time").get<double>());
    memory.push_back(printed.at("context").at("peak_memory").get<double>());
  } catch (const Json::exception& e) {
    fail(Exit::data, "{} bench --json printed something else than benchmarks: {}", program,
         json_error(e));
  }
}

namespace {

// 95 % interval of the ratio of medians: windows of one round are drawn together, since what else
// runs on the machine slows both.
void add_interval(AgainstOld& a, const std::vector<double>& now, const std::vector<double>& old) {
  constexpr std::size_t fewest = 6, draws = 2000;
  const std::size_t n = std::min(now.size(), old.size());
  a.low = a.high = std::numeric_limits<double>::quiet_NaN();
  if (n < fewest) return;
  pes::Random random(pes::hash64(a.name), pes::purpose("bench"), 0);
  std::vector<double> ratios, x(n), y(n);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(n));
      x[i] = now[at], y[i] = old[at];
    }
    ratios.push_back(median(x) / median(y));
  }
  std::sort(ratios.begin(), ratios.end());
  a.low = ratios[draws / 40], a.high = ratios[draws - 1 - draws / 40];
}

Speed verdict_of(const AgainstOld& a, double margin) {
  constexpr double level = 0.05;
  if (a.p < level && a.low > 1 + margin) return Speed::slower;
  if (a.p < level && a.high < 1 / (1 + margin)) return Speed::faster;
  if (a.low >= 1 / (1 + margin) && a.high <= 1 + margin) return Speed::alike;
  return Speed::undecided;
}

}  // namespace

std::vector<AgainstOld> against_old(const Windows& now, const Windows& old, double margin) {
  std::vector<AgainstOld> out;
  std::vector<double> p;
  for (const auto& [name, seconds] : now.seconds) {
    const auto other = old.seconds.find(name);
    if (other == old.seconds.end()) continue;
    AgainstOld a;
    a.name = name, a.now = median(seconds), a.old = median(other->second);
    a.ratio = a.now / a.old;
    add_interval(a, seconds, other->second);
    p.push_back(mann_whitney(seconds, other->second));
    out.push_back(std::move(a));
  }
  p = holm(p);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].p = p[i], out[i].verdict = verdict_of(out[i], margin);
  return out;
}

}  // namespace pesuite
