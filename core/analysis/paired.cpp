#include "analysis/paired.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/statistics.h"

namespace pesuite {

namespace {

constexpr double not_tested = std::numeric_limits<double>::quiet_NaN();
constexpr double few_seeds = 5;     // below it they may agree by luck
constexpr double rounding = 1e-24;  // a variance below it is 0

using Plain = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
double trigamma(double x) {
  return boost::math::trigamma(x, Plain());
}
double digamma(double x) {
  return boost::math::digamma(x, Plain());
}

double mean_over(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double variance_over(const std::vector<double>& x) {  // with n - 1; needs two
  const double mean = mean_over(x);
  double sum = 0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size() - 1);
}

// trigamma(y) = x (Smyth 2004, appendix).
double inverse_trigamma(double x) {
  if (x > 1e7) return 1 / std::sqrt(x);
  if (x < 1e-6) return 1 / x;
  double y = 0.5 + 1 / x;
  for (int i = 0; i < 50; ++i) {
    const double t = trigamma(y);
    const double step = t * (1 - t / x) / boost::math::polygamma(2, y, Plain());
    y += step;
    if (-step < 1e-8 * y) break;
  }
  return y;
}

}  // namespace

Differences made_finite(const std::vector<double>& all, double least) {
  double largest = least;
  for (const double x : all)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  Differences out;
  for (const double x : all) out.push_back(std::isfinite(x) ? x : x > 0 ? largest : -largest);
  return out;
}

namespace {

struct Scatter {           // of one contrast
  double variance, log;    // the log's expected bias taken off
  double degrees, chance;  // variance that chance alone gives such a log
};

// Those of contrasts that say something of their spread; equal differences do not.
std::vector<Scatter> scatters_of(const std::vector<Differences>& all) {
  std::vector<Scatter> out;
  double known = 0, bias = 0, chance = 0;  // on `known` degrees
  for (const Differences& d : all) {
    const double variance = d.size() < 2 ? 0 : variance_over(d);
    const double own = static_cast<double>(d.size()) - 1;
    if (variance >= rounding && own != known)
      known = own, bias = std::log(own / 2) - digamma(own / 2), chance = trigamma(own / 2);
    out.push_back({variance, variance < rounding ? 0 : std::log(variance) + bias, own, chance});
  }
  return out;
}

// Of all but the one at `left_out`.
Company company_without(std::size_t left_out, const std::vector<Scatter>& all,
                        std::size_t encodings, const Sharing& sharing) {
  std::vector<double> variances, logs;
  double degrees = 0, chance = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == left_out || all[i].variance < rounding) continue;
    variances.push_back(all[i].variance), logs.push_back(all[i].log);
    degrees += all[i].degrees, chance += all[i].chance;
  }
  Company out;
  if (variances.empty()) return out;
  const auto n = static_cast<double>(variances.size());
  degrees /= n, chance /= n;
  // Seeds may agree by luck, few of them most of all, where results have two peaks.
  const bool few = degrees < few_seeds - 1;
  const auto at =
      variances.begin() + static_cast<std::ptrdiff_t>((variances.size() - 1) / (few ? 2 : 4));
  std::nth_element(variances.begin(), at, variances.end());
  const double of_two = 0.75;  // the lower of two would cost power, and less holds the level
  out.floor = (few || variances.size() > 2 ? 1 : of_two) * *at;
  if (encodings < 4 || logs.size() < 2) return out;
  const auto free = static_cast<double>(encodings - 1);
  const double caution =
      std::max(std::pow(sharing.few_encodings / free, 1.5), sharing.few_seeds / (degrees + 1));
  const double beyond = variance_over(logs) * (1 + caution) - chance;
  out.degrees = sharing.most * free * degrees;
  if (beyond > 0) out.degrees = std::min(out.degrees, 2 * inverse_trigamma(beyond));
  out.variance = std::exp(mean_over(logs) + digamma(out.degrees / 2) - std::log(out.degrees / 2));
  return out;
}

}  // namespace

Company company_of(const std::vector<Differences>& others, std::size_t encodings,
                   const Sharing& sharing) {
  return company_without(others.size(), scatters_of(others), encodings, sharing);
}

PairedTest test_alone(const Differences& d, const std::vector<Differences>& others, double value,
                      double there) {
  std::vector<double> variances;
  for (const Differences& o : others)
    if (o.size() > 1) variances.push_back(variance_over(o));
  const bool few = static_cast<double>(d.size()) < few_seeds;
  if (d.size() < 2 || (variances.empty() && few)) return PairedTest({});
  Company company;
  std::sort(variances.begin(), variances.end());
  if (!variances.empty()) company.floor = variances[variances.size() / (few ? 2 : 4)];
  constexpr double most = 0.999;  // at 1 itself no seed varies
  const double now = std::min(value, most);
  const double more = now > 0 ? there * (1 - there) / (now * (1 - now)) : 1;
  return PairedTest(d, company, variance_over(d) * std::max(1.0, more));
}

PairedTest::PairedTest(const Differences& d, const Company& company, double evaluation)
    : n_(d.size()), mean_(d.empty() ? not_tested : mean_over(d)), prior_degrees_(company.degrees) {
  if (n_ < 2) return;
  const auto own = static_cast<double>(n_ - 1);
  degrees_ = prior_degrees_ + own;
  const double variance =
      (prior_degrees_ * std::max(company.variance, evaluation) + own * variance_over(d)) / degrees_;
  const double least = std::max({variance, company.floor, evaluation});
  deviation_ = least < rounding ? 0 : std::sqrt(least);
}

const char* PairedTest::why_not() const {
  return n_ < fewest_seeds ? "too few seeds" : "the seeds do not differ";
}

double PairedTest::upper_tail(double distance) const {
  if (!possible()) return not_tested;
  const double t = distance / (deviation_ / std::sqrt(static_cast<double>(n_)));
  return t_above(t, degrees_);
}

double PairedTest::p_above(double margin) const {
  return upper_tail(mean_ - margin);
}
double PairedTest::p_below(double margin) const {
  return upper_tail(margin - mean_);
}
double PairedTest::p_two_sided() const {
  return possible() ? std::min(1.0, 2 * std::min(p_above(0), p_below(0))) : not_tested;
}
double PairedTest::p_equivalent(double margin) const {
  return possible() ? std::max(p_above(-margin), p_below(margin)) : not_tested;
}

double PairedTest::resolvable(double alpha) const {
  if (!possible()) return not_tested;
  return t_quantile(1 - alpha / 2, degrees_) * deviation_ / std::sqrt(static_cast<double>(n_));
}

Interval PairedTest::interval(double confidence) const {
  const double half = resolvable(1 - confidence);
  return {mean_ - half, mean_ + half};
}

std::size_t PairedTest::seeds_needed(double number, double alpha) const {
  const double distance = std::abs(mean_ - number);
  if (!possible() || !(distance > 0)) return 0;
  const boost::math::normal_distribution<> normal;  // needs fewer than Student's t
  const double least =
      (boost::math::quantile(normal, 1 - alpha / 2) + boost::math::quantile(normal, wanted_power)) *
      deviation_ / distance;
  if (least * least > 1000) return 0;
  std::size_t n = std::max(fewest_seeds, static_cast<std::size_t>(least * least));
  for (; n <= 1000; ++n) {
    const auto seeds = static_cast<double>(n);
    const double degrees = prior_degrees_ + seeds - 1;
    if (distance * std::sqrt(seeds) / deviation_ >=
        t_quantile(1 - alpha / 2, degrees) + t_quantile(wanted_power, degrees))
      return n;
  }
  return 0;
}

std::vector<PairedTest> tests_of(const std::vector<Differences>& all, std::size_t encodings,
                                 const std::vector<double>& evaluation) {
  std::vector<PairedTest> out;
  const std::vector<Scatter> scatters = scatters_of(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    out.emplace_back(all[i], company_without(i, scatters, encodings, {}),
                     i < evaluation.size() ? evaluation[i] : 0);
  return out;
}

}  // namespace pesuite
