#include "history/trend.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pesuite {

namespace {

bool same_bits(const HistoryPoint& a, const HistoryPoint& b) {
  return std::equal(a.seeds.begin(), a.seeds.end(), b.seeds.begin(), b.seeds.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first &&
                             (x.second.value == y.second.value ||
                              (std::isnan(x.second.value) && std::isnan(y.second.value)));
                    });
}

struct States {
  std::vector<SeriesPoint> points;
  std::vector<std::size_t> first;  // point of the series at which each begins
};

States states_of(const HistorySeries& h, const std::vector<double>& values) {
  States out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const bool more = !out.first.empty() && same_bits(h.points[out.first.back()], h.points[i]);
    if (more) {
      ++out.points.back().commits;
    } else {
      out.points.push_back({values[i], 1});
      out.first.push_back(i);
    }
  }
  return out;
}

// The spread of a state's mean that the seeds show: those of one commit differ from those of the
// next by chance alone, where numerics changed and nothing else. 0: too few seeds.
double spread_of_seeds(const HistorySeries& h, const States& states) {
  std::vector<double> variances;
  for (std::size_t k = 1; k < states.first.size(); ++k) {
    std::vector<double> d;
    const auto& before = h.points[states.first[k - 1]].seeds;
    for (const auto& [seed, o] : h.points[states.first[k]].seeds)
      if (const auto it = before.find(seed);
          it != before.end() && std::isfinite(it->second.value) && std::isfinite(o.value))
        d.push_back(o.value - it->second.value);
    if (d.size() < 2) continue;
    const double n = static_cast<double>(d.size()), degrees = n - 1;
    double mean = 0, sum = 0;
    for (const double x : d) mean += x / n;
    for (const double x : d) sum += (x - mean) * (x - mean);
    // a variance lies below its expectation more often than above (Wilson and Hilferty 1931)
    const double median = std::pow(1 - 2 / (9 * degrees), 3);
    variances.push_back(sum / degrees / n / 2 / median);
  }
  return variances.empty() ? 0 : std::sqrt(median_of(variances));
}

// Differences of neighbours tell the spread only where most of them are no steps.
constexpr std::size_t enough_states = 8;

double spread_in(const HistorySeries& h, const States& states) {
  const double seeds = spread_of_seeds(h, states);
  return states.points.size() < enough_states ? seeds : std::max(seeds, spread_of(states.points));
}

Change::Way way_of(const HistorySeries& h, double size) {
  if (h.what.direction == "lower") return size > 0 ? Change::Way::worse : Change::Way::better;
  if (h.what.direction == "higher") return size < 0 ? Change::Way::worse : Change::Way::better;
  return Change::Way::neither;
}

// The last level of the run of steps in one direction that begins at level `a`.
std::size_t end_of_run(const std::vector<Level>& levels, std::size_t a) {
  const double first = levels[a + 1].value - levels[a].value;
  std::size_t b = a + 1;
  while (b + 1 < levels.size() && (levels[b + 1].value - levels[b].value) * first > 0) ++b;
  return b;
}

// Steps that count, and runs of small ones in one direction that do together.
std::vector<Change> changes_in(const HistorySeries& h, const std::vector<Level>& levels,
                               double counts) {
  std::vector<Change> out;
  const auto add = [&](std::size_t a, std::size_t b) {
    const double size = levels[b].value - levels[a].value;
    if (std::abs(size) < counts || size == 0) return;
    out.push_back({way_of(h, size), b > a + 1, levels[a].end - 1, levels[b].begin, levels[a].value,
                   levels[b].value});
    if (b > a + 1) out.back().before = levels[a + 1].begin - 1;
  };
  for (std::size_t a = 0; a + 1 < levels.size();) {
    const std::size_t b = end_of_run(levels, a);
    const double total = std::abs(levels[b].value - levels[a].value);
    double largest = 0;
    for (std::size_t k = a; k < b; ++k)
      largest = std::max(largest, std::abs(levels[k + 1].value - levels[k].value));
    if (largest < counts || (largest < 2 * counts && largest < total / 2)) {
      add(a, b);  // none of its steps stands out
    } else {
      for (std::size_t k = a; k < b; ++k) add(k, k + 1);
    }
    a = b;
  }
  for (Change& c : out) {
    if (c.way != Change::Way::worse) continue;
    c.lasts = std::none_of(levels.begin(), levels.end(), [&](const Level& l) {
      return l.begin >= c.after && std::abs(l.value - c.to) > 0 &&
             (c.size() > 0 ? l.value < c.from + counts / 2 : l.value > c.from - counts / 2);
    });
  }
  return out;
}

std::vector<Failing> failing_in(const HistorySeries& h) {
  std::vector<Failing> out;
  bool before = false, any_before = false;
  for (std::size_t i = 0; i < h.points.size(); ++i) {
    std::string status;
    for (const auto& [seed, o] : h.points[i].seeds)
      if (o.status != "ok") status = o.status;
    if (status.empty()) {
      before = false, any_before = true;
      continue;
    }
    if (!before)
      out.push_back({i, i, status, any_before});
    else
      out.back().last = i;
    before = true;
  }
  return out;
}

}  // namespace

bool Trend::open() const {
  return std::any_of(changes.begin(), changes.end(), [](const Change& c) { return c.lasts; });
}

Change::Way Trend::course(const std::string& direction) const {
  if (levels.size() < 2) return Change::Way::neither;
  const double gain = levels.back().value - levels.front().value;
  if (std::abs(gain) < counts || direction == "none") return Change::Way::neither;
  return (gain > 0) == (direction == "higher") ? Change::Way::better : Change::Way::worse;
}

Trend trend_of(const HistorySeries& h, double counts) {
  Trend out;
  out.values = values_of(h);
  const States states = states_of(h, out.values);
  std::vector<double> finite;
  for (const SeriesPoint& p : states.points) finite.push_back(p.value);
  out.counts = counts > 0       ? counts
               : finite.empty() ? 0
                                : change_that_counts(h.what.metric, median_of(finite));
  out.spread = spread_in(h, states);
  for (const Level& l : levels_of(states.points, out.spread)) {
    const std::size_t begin = out.levels.empty() ? 0 : states.first[l.begin];
    const std::size_t end = l.end < states.first.size() ? states.first[l.end] : h.points.size();
    out.levels.push_back({begin, end, l.value});
  }
  out.changes = changes_in(h, out.levels, out.counts);
  for (Change& c : out.changes)  // the last commit that has a value of the old level
    while (c.before > 0 && std::isnan(out.values[c.before])) --c.before;
  out.failing = failing_in(h);
  return out;
}

std::string range_of(const HistorySeries& h, std::size_t before, std::size_t after) {
  return h.points[before].commit.id + ".." + h.points[after].commit.id;
}

}  // namespace pesuite
