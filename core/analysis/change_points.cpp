#include "analysis/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace pesuite {

namespace {

// Sum of absolute deviations from the median of values that are added one by one.
class Deviations {
 public:
  void add(double x) {
    if (below_.empty() || x <= below_.top())
      below_.push(x), sum_below_ += x;
    else
      above_.push(x), sum_above_ += x;
    if (below_.size() > above_.size() + 1)
      move(below_, sum_below_, above_, sum_above_);
    else if (above_.size() > below_.size())
      move(above_, sum_above_, below_, sum_below_);
  }
  double sum() const {
    const double odd = below_.size() > above_.size() ? below_.top() : 0;
    return std::max(0.0, sum_above_ - sum_below_ + odd);
  }

 private:
  template <class From, class To>
  static void move(From& from, double& sum_from, To& to, double& sum_to) {
    const double x = from.top();
    from.pop(), sum_from -= x;
    to.push(x), sum_to += x;
  }
  std::priority_queue<double> below_;
  std::priority_queue<double, std::vector<double>, std::greater<>> above_;
  double sum_below_ = 0, sum_above_ = 0;
};

// Price of a step in spreads of a point, by simulation of noise alone; see the header.
double price_of_step(std::size_t points) {
  if (points < 30) return 8.5;  // whose spread is hardly known
  return 7.0 + 0.5 * std::log(static_cast<double>(points) / 10);
}

}  // namespace

double median_of(std::vector<double> v) {
  if (v.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(v.begin(), middle)) / 2;
}

double spread_of(const std::vector<SeriesPoint>& points) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i)
    steps.push_back(std::abs(points[i].value - points[i - 1].value));
  if (steps.empty()) return 0;
  constexpr double normal = 1.4826;  // of a median absolute deviation
  return normal * median_of(steps) / std::sqrt(2.0);
}

std::vector<Level> levels_of(const std::vector<SeriesPoint>& points, double spread) {
  const std::size_t n = points.size();
  if (n == 0) return {};
  double scale = 0;
  for (const SeriesPoint& p : points) scale = std::max(scale, std::abs(p.value));
  const double price = price_of_step(n) * std::max(spread, 1e-12 * scale);
  std::vector<std::size_t> commits(n + 1, 0), from(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) commits[i + 1] = commits[i] + points[i].commits;
  std::vector<double> least(n + 1,
                            std::numeric_limits<double>::infinity());  // of the points before
  least[0] = -price;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isinf(least[i])) continue;
    Deviations deviations;
    std::size_t doomed = 0;  // where a step costs no more than this beginning
    for (std::size_t j = i + 1; j <= n; ++j) {
      deviations.add(points[j - 1].value);
      // from there on a segment that begins at `doomed` is never worse
      if (doomed > 0 && commits[j] - commits[doomed] >= shortest_level) break;
      if (doomed == 0 && least[i] + deviations.sum() >= least[j]) doomed = j;
      if (commits[j] - commits[i] < shortest_level && !(i == 0 && j == n)) continue;
      const double cost = least[i] + price + deviations.sum();
      if (cost < least[j]) least[j] = cost, from[j] = i;
    }
  }
  std::vector<Level> out;
  for (std::size_t end = n; end > 0; end = from[end]) {
    Level level{from[end], end, 0};
    std::vector<double> values;
    for (std::size_t k = level.begin; k < level.end; ++k) values.push_back(points[k].value);
    level.value = median_of(values);
    out.push_back(level);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace pesuite
