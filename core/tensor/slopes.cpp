#include "tensor/slopes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pesuite {

namespace {

double last_place(float x) {  // what a unit in the last place of x is worth
  return std::ldexp(std::numeric_limits<float>::epsilon(), std::ilogb(x));
}

template <class Number>
std::vector<float> slopes_of(const Shape& shape, const Number* table) {
  const std::int64_t rows = shape[0], N = shape[1];
  std::vector<float> slopes;
  for (std::int64_t h = 0; h < rows; ++h) {
    const auto at = [&](std::int64_t d) { return static_cast<float>(table[h * N + d]); };
    const float first = at(0);
    // From the far end, where rounding weighs least.
    const double step = N > 1 ? (double{at(N - 1)} - first) / static_cast<double>(N - 1) : 0;
    if (!std::isfinite(step) || !std::isfinite(first)) return {};
    for (std::int64_t d = 0; d < N; ++d) {
      const double off = std::abs(first + static_cast<double>(d) * step - at(d));
      if (off == 0) continue;
      if (!std::isfinite(off) || off > 2 * last_place(std::max(std::abs(at(d)), std::abs(first))))
        return {};
    }
    slopes.push_back(static_cast<float>(-step));
  }
  return slopes;
}

template <class Number>
std::int64_t first_of_last(std::int64_t N, const Number* list) {
  std::int64_t from = N - 1;
  while (from > 0 && list[from - 1] == list[from]) --from;
  return from;
}

}  // namespace

std::vector<float> linear_slopes(const Shape& shape, const double* table) {
  return slopes_of(shape, table);
}
std::vector<float> linear_slopes(const Shape& shape, const float* table) {
  return slopes_of(shape, table);
}
std::int64_t level_from(std::int64_t N, const double* list) {
  return first_of_last(N, list);
}
std::int64_t level_from(std::int64_t N, const float* list) {
  return first_of_last(N, list);
}

}  // namespace pesuite
