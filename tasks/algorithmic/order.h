// Laws of sorted items.
#pragma once

#include "written.h"

namespace algorithmic {

inline double log10_factorial(int n) {
  return std::lgamma(n + 1.0) / std::log(10);
}
inline double log10_choose(int n, int k) {
  return k < 0 || k > n ? -pes::infinity
                        : log10_factorial(n) - log10_factorial(k) - log10_factorial(n - k);
}

// [rank][v]: P(the item number `rank` of n sorted ones is number v of `count` symbols). Of distinct
// items `rank` are smaller and n - 1 - rank larger. Of repeated ones more than `rank` are at most
// v.
using OrderLaw = std::vector<std::vector<double>>;
inline OrderLaw distinct_order_law(int n, int count) {
  OrderLaw law(n, std::vector<double>(count));
  for (int rank = 0; rank < n; ++rank)
    for (int v = 0; v < count; ++v)
      law[rank][v] =
          std::pow(10, log10_choose(v, rank) + log10_choose(count - 1 - v, n - 1 - rank) -
                           log10_choose(count, n));
  return law;
}
inline OrderLaw repeated_order_law(int n, int count) {
  OrderLaw at_most(n, std::vector<double>(count, 1));
  for (int v = 0; v < count - 1; ++v) {
    const double p = (v + 1.0) / count;
    double sum = 0;  // P(more than `rank` of n are at most v)
    for (int rank = n - 1; rank >= 0; --rank) {
      const int k = rank + 1;
      sum += std::pow(10, log10_choose(n, k) + k * std::log10(p) + (n - k) * std::log10(1 - p));
      at_most[rank][v] = sum;
    }
  }
  for (auto& of_rank : at_most)
    for (int v = count - 1; v > 0; --v) of_rank[v] -= of_rank[v - 1];
  return at_most;
}

// log10 of the probability of the likeliest sorted sequence of n items: of distinct ones all are
// alike, of repeated ones the most even.
inline double log10_likeliest_order(int n, int count, bool repeats) {
  if (!repeats) return -log10_choose(count, n);
  const int each = n / count, more = n % count;
  return log10_factorial(n) - (count - more) * log10_factorial(each) -
         more * log10_factorial(each + 1) - n * std::log10(count);
}

}  // namespace algorithmic
