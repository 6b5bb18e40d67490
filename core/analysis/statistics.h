// The statistics behind findings: intervals, paired tests over seeds, corrections for many
// comparisons, ranks over tasks. Pure functions of numbers; docs/statistics.md says which is used
// where and why.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval.h"

namespace pesuite {

inline constexpr double significance = 0.05;  // level of every call, after its correction

// Exact 95 % interval of a proportion, k of n (Clopper and Pearson 1934); [0, 1] for n = 0.
Interval clopper_pearson(std::size_t k, std::size_t n, double confidence = 0.95);

// Adjusted p-values (Holm 1979), in the given order. NaN, "not tested", stays and counts nothing.
std::vector<double> holm(const std::vector<double>& p);
// The level that a test which Holm did not reject would have had to reach, the others as they are.
double holm_level(const std::vector<double>& p, double alpha = 0.05);

// Exact sign test: chance of at least `wins` of wins + losses fair coins; ties are left out.
double sign_test(std::size_t wins, std::size_t losses);

// --------------------------------------------------------------------- paired test over seeds

// Differences of two series, one a seed, finite.
using Differences = std::vector<double>;

// The variance that a family of series shares: the median of its variances divided by what the
// median of chi-square makes of them (after Smyth 2004). Series of one seed say nothing; NaN where
// none says anything.
double prior_variance(const std::vector<Differences>& family);

// Whether a variance is 0 but for rounding: such differences say nothing of their spread.
inline bool no_spread(double variance) {
  return variance < 1e-24;
}

// Moderated paired t: the variance of these differences drawn towards that of their family, which
// counts as `prior_degrees` more observations. With prior_variance NaN or 0 it is the plain paired
// t.
class PairedTest {
 public:
  PairedTest(const Differences&, double prior_variance, double prior_degrees = 4);

  std::size_t seeds() const { return n_; }
  // Without any spread nothing is tested: equal differences of a few seeds are no certainty.
  bool possible() const { return degrees_ >= 1 && n_ >= 2 && !no_spread(deviation_ * deviation_); }
  double mean() const { return mean_; }
  double deviation() const { return deviation_; }  // moderated, of one difference
  double degrees() const { return degrees_; }
  double p_above(double margin) const;  // one-sided, of H0: true difference <= margin
  double p_below(double margin) const;  // of H0: true difference >= margin
  double p_two_sided() const;
  double p_equivalent(double margin) const;  // TOST, of H0: |true difference| >= margin
  Interval interval(double confidence = 0.95) const;
  // Smallest |mean| that is significant at a two-sided level with this spread and these seeds.
  double resolvable(double alpha = 0.05) const;
  // Seeds at which the present mean and spread reject H0: |true difference| <= margin at a
  // two-sided level; 0: none up to 1000.
  std::size_t seeds_needed(double margin, double alpha = 0.05) const;

 private:
  double upper_tail(double t, double degrees) const;
  std::size_t n_ = 0;
  double mean_ = 0, deviation_ = 0, degrees_ = 0, prior_degrees_ = 0;
};

// The moderated test of one pair within its family; where its own variance is larger than the
// family's explains (F test at 0.05), the family is not its own, and it is tested by its own alone.
struct FamilyTest {
  PairedTest test;
  const char* name;  // "moderated paired t", "paired t"
};
FamilyTest test_in_family(const Differences&, double prior_variance, double prior_degrees = 4);

// ------------------------------------------------------------------------------- bootstrap

// With fewer seeds a bootstrap covers far too little, and the paired t decides.
inline constexpr std::size_t bootstrap_seeds = 10;

struct Bootstrap {
  std::vector<double> draws;  // ascending
  double mean = 0;
  Interval interval(double confidence) const;  // percentile
  // 2 min(P(d <= 0), P(d >= 0)), with one added above and below.
  double p_two_sided() const;
};
inline constexpr std::size_t bootstrap_draws = 10000;
// Resamples seeds, then the units (sequences, documents) within each; of the mean over seeds of
// the means over units. `key` names the random stream.
Bootstrap hierarchical_bootstrap(const std::vector<std::vector<double>>& units, std::uint64_t key,
                                 std::size_t draws = bootstrap_draws);
// The same where of each seed only its mean and that mean's standard error are known: the second
// level draws from a normal law. Errors that are NaN count as 0.
Bootstrap hierarchical_bootstrap(const std::vector<double>& means,
                                 const std::vector<double>& standard_errors, std::uint64_t key,
                                 std::size_t draws = bootstrap_draws);

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
// 95 % interval of the interquartile mean of all values, resampled within each stratum (task).
Interval stratified_interval(const std::vector<std::vector<double>>& strata, std::uint64_t key,
                             std::size_t draws = 2000);

}  // namespace pesuite
