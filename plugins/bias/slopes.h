// Slopes of a linear bias for H heads, Press et al. 2021, section 3.
#pragma once

#include <cmath>
#include <cstdint>

// 2^(-largest (h+1)/H) for a power of two. Otherwise the slopes of the next lower power, then every
// other slope of the next higher one; MPT's rule, written differently, gives the same.
inline double published_slope(std::int64_t h, std::int64_t heads, double largest = 8) {
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  const bool lower = h < power;
  const auto n = static_cast<double>(lower ? h + 1 : 2 * (h - power) + 1);
  return std::exp2(-largest * n / static_cast<double>(lower ? power : 2 * power));
}
