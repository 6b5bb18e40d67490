// The statistics behind findings: intervals, corrections for many comparisons, ranks over tasks
// (paired.h has the test over seeds). Pure functions of numbers; docs/statistics.md says which is
// used where and why.
#pragma once

#include <vector>

#include "base/interval.h"

namespace pesuite {

// Student's t: the value below which a share of it lies, and the share above a value.
double t_quantile(double share, double degrees);
double t_above(double value, double degrees);

// Exact 95 % interval of a proportion, k of n (Clopper and Pearson 1934); [0, 1] for n = 0.
Interval clopper_pearson(std::size_t k, std::size_t n, double confidence = 0.95);

// How many hypotheses of a family can be true at once: true at those counts. Empty: any number.
using Possible = std::vector<bool>;
// Of "a equals b" for all pairs within each group of encodings, of the given sizes (Shaffer 1986):
// where one of three pairs differs, so does a second.
Possible possible_equalities(const std::vector<std::size_t>& groups);
// Adjusted p-values (Holm 1979; with `possible` its first step-down of Shaffer 1986), in the given
// order. NaN, "not tested", stays; without `possible` it counts nothing.
std::vector<double> holm(const std::vector<double>& p, const Possible& possible = {});
// The level that a test which was not rejected would have had to reach, the others as they are.
double holm_level(const std::vector<double>& p, double alpha = 0.05, const Possible& = {});

// Adjusted p-values under which the expected share of false ones among those called is at most
// their level (Benjamini and Hochberg 1995), in the given order; NaN stays and counts nothing.
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

// Exact sign test: chance of at least `wins` of wins + losses fair coins; ties are left out.
double sign_test(std::size_t wins, std::size_t losses);

// Two-sided p of the rank-sum test of two samples (Mann and Whitney 1947): exact where no values
// are equal, else by the normal approximation, corrected for ties and continuity. NaN where one is
// empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

// --------------------------------------------------------------------------- over many tasks

// Ranks 1.. of values, the smallest first; equal values share their mean rank.
std::vector<double> mean_ranks(const std::vector<double>& values);

// Friedman's test over blocks (tasks) of k ranks each, corrected for ties; chi-square with k - 1
// degrees of freedom. p is NaN where all blocks rank all equal.
struct Friedman {
  std::vector<double> mean_ranks;
  double chi_square = 0, p = 0;
};
Friedman friedman(const std::vector<std::vector<double>>& ranks);

// Quantile of the range of k standard normal variables divided by sqrt 2 (Nemenyi 1963), and the
// distance of mean ranks over n tasks below which they do not differ (Demsar 2006, section 3.2.2).
double nemenyi_quantile(std::size_t k, double alpha = 0.05);
double critical_difference(std::size_t k, std::size_t n, double alpha = 0.05);

// Mean of the middle half: floor(n / 4) values are left out at each end. NaN for none.
double interquartile_mean(std::vector<double> values);
// 95 % interval of the interquartile mean of all values by leaving out one whole seed at a time
// (jackknife, t on (n - 1) / 2 degrees): one model gives the values of all its lengths. `of_seeds`
// holds those of each seed. NaN below `fewest_for_interval` seeds and where the seeds do not
// differ.
inline constexpr std::size_t fewest_for_interval = 5;
Interval interquartile_interval(const std::vector<std::vector<double>>& of_seeds);

}  // namespace pesuite
