#include "base/interval.h"

#include <algorithm>
#include <cmath>

namespace pesuite {

Interval wilson(double p, double n) {
  constexpr double z = 1.959963984540054;
  const double scale = 1 + z * z / n;
  const double centre = (p + z * z / (2 * n)) / scale;
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale;
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace pesuite
