// The one test of paired differences over seeds: findings, ranks, hypotheses and the answer all
// use it, and `pesuite calibrate` measures its error rates (docs/statistics.md).
#pragma once

#include <vector>

#include "base/interval.h"

namespace pesuite {

inline constexpr double significance = 0.05;  // level of every call, after its correction
inline constexpr double wanted_power = 0.8;   // of the seeds that a report asks for

// Fewer seeds are shown and not tested: by simulation no rule with two of them holds its level.
inline constexpr std::size_t fewest_seeds = 3;

// No smaller p is printed: there the test is not exact enough to say it.
inline double smallest_p(std::size_t seeds) {
  return seeds < 20 ? 0.01 : 0.001;
}

// Differences of two series, one a seed, finite.
using Differences = std::vector<double>;

// Differences that may be infinite, made finite: an infinite one counts as large as the largest
// finite one, and at least `least`. So what diverged is worse than all else, and its size, which is
// not known, hides nothing.
Differences made_finite(const std::vector<double>&, double least);

// What other contrasts say of the variance of one.
struct Company {
  double variance = 0;  // prior variance,
  double degrees = 0;   // and how many observations it is worth; 0: nothing is shared
  double floor = 0;     // the variance is taken to be at least this
};
// How far the spread of the others' log variances is believed: it is enlarged by 1 +
// max((few_encodings / (K - 1))^1.5, few_seeds / n), and the prior is worth at most `most` (K -
// 1)(n - 1) observations. Contrasts between few encodings are few and not independent; a few seeds
// say little of tails.
struct Sharing {
  double few_encodings = 5, few_seeds = 2, most = 0.5;
};
// Fitted as limma's squeezeVar does (Smyth 2004), from contrasts other than the tested one. Below
// four encodings nothing is shared: one that varies much would make the level of a pair wrong.
Company company_of(const std::vector<Differences>& others, std::size_t encodings,
                   const Sharing& = {});

class PairedTest {
 public:
  // `evaluation` is the variance that the evaluation alone gives a difference.
  explicit PairedTest(const Differences&, const Company& = {}, double evaluation = 0);

  std::size_t seeds() const { return n_; }
  // Equal differences of a few seeds are no certainty: without any spread nothing is tested.
  bool possible() const { return n_ >= fewest_seeds && deviation_ > 0; }
  const char* why_not() const;  // of a test that is not possible
  const char* name() const { return prior_degrees_ > 0 ? "paired t, variance shared" : "paired t"; }
  double mean() const { return mean_; }
  double deviation() const { return deviation_; }  // of one difference, as tested
  double degrees() const { return degrees_; }
  double p_above(double margin) const;  // one-sided, of H0: true difference <= margin
  double p_below(double margin) const;  // of H0: true difference >= margin
  double p_two_sided() const;
  double p_equivalent(double margin) const;           // TOST, of H0: |true difference| >= margin
  Interval interval(double confidence = 0.95) const;  // two-sided; NaN where nothing is tested
  // Smallest |mean| that is significant at a two-sided level with this spread and these seeds.
  double resolvable(double alpha = significance) const;
  // Seeds with which a true difference like the present mean is told from `number` at a two-sided
  // level with 80 % power; 0: none up to 1000.
  std::size_t seeds_needed(double number, double alpha = significance) const;

 private:
  double upper_tail(double distance) const;
  std::size_t n_ = 0;
  double mean_ = 0, deviation_ = 0, degrees_ = 0, prior_degrees_ = 0;
};

// Each contrast in the company of the others. `evaluation`: of each, or empty.
std::vector<PairedTest> tests_of(const std::vector<Differences>&, std::size_t encodings,
                                 const std::vector<double>& evaluation = {});

// Of differences of one encoding's accuracy, mean `value`, with itself or a number; `there`: that
// mean where the tested bound is true. Accuracies near 1 are skew, and seeds that all did well hide
// how much they vary: as in Wilson's interval the variance is that expected there, if that is more.
// And few seeds may all lie on one of two peaks, which only other encodings tell: it is at least
// their lower quartile (below 5 seeds their median; below 5 without others nothing is tested).
PairedTest test_alone(const Differences&, const std::vector<Differences>& others, double value,
                      double there);

}  // namespace pesuite
