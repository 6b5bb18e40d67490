// Confidence intervals, and that of a proportion.
#pragma once

namespace pesuite {

struct Interval {
  double low, high;
};
// 95 % Wilson interval of a proportion p of n (Wilson 1927).
Interval wilson(double p, double n);

}  // namespace pesuite
