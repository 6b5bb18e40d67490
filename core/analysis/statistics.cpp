#include "analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <pesuite/random.hpp>

#include "base/error.h"

namespace pesuite {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double variance_of(const std::vector<double>& x) {  // with n - 1; needs two
  const double mean = mean_of(x);
  double sum = 0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size() - 1);
}

double middle(std::vector<double> x) {  // the median; sorts
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 == 1 ? x[half] : (x[half - 1] + x[half]) / 2;
}

// Quantile of sorted values, between neighbours by a straight line.
double quantile_of(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace

Interval clopper_pearson(std::size_t k, std::size_t n, double confidence) {
  PES_CHECK(k <= n);
  const double tail = (1 - confidence) / 2;
  const auto good = static_cast<double>(k), bad = static_cast<double>(n - k);
  const auto quantile = [](double a, double b, double p) {
    return boost::math::quantile(boost::math::beta_distribution<>(a, b), p);
  };
  return {k == 0 ? 0 : quantile(good, bad + 1, tail),
          k == n ? 1 : quantile(good + 1, bad, 1 - tail)};
}

namespace {

std::vector<std::size_t> tested_in_order(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!std::isnan(p[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<double> out(p.size(), nothing);
  const auto order = tested_in_order(p);
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(order.size() - i) * p[order[i]]);
    out[order[i]] = std::min(1.0, largest);
  }
  return out;
}

double holm_level(const std::vector<double>& p, double alpha) {
  const auto adjusted = holm(p);
  std::size_t left = 0;
  for (const double a : adjusted) left += a >= alpha ? 1 : 0;
  return alpha / static_cast<double>(std::max<std::size_t>(1, left));
}

double sign_test(std::size_t wins, std::size_t losses) {
  if (wins == 0) return 1;
  const boost::math::binomial_distribution<> coins(static_cast<double>(wins + losses), 0.5);
  return boost::math::cdf(boost::math::complement(coins, static_cast<double>(wins) - 1));
}

// --------------------------------------------------------------------- paired test over seeds

double prior_variance(const std::vector<Differences>& family) {
  std::vector<double> all;
  for (const Differences& d : family) {
    if (d.size() < 2) continue;
    const auto degrees = static_cast<double>(d.size() - 1);
    const boost::math::chi_squared_distribution<> chi(degrees);
    all.push_back(variance_of(d) * degrees / boost::math::quantile(chi, 0.5));
  }
  return all.empty() ? nothing : middle(std::move(all));
}

PairedTest::PairedTest(const Differences& d, double prior_variance, double prior_degrees)
    : n_(d.size()),
      mean_(d.empty() ? nothing : mean_of(d)),
      prior_degrees_(std::isnan(prior_variance) || no_spread(prior_variance) ? 0 : prior_degrees) {
  const double own = n_ == 0 ? 0 : static_cast<double>(n_ - 1);
  degrees_ = prior_degrees_ + own;
  if (degrees_ <= 0) return;
  const double sum = (prior_degrees_ > 0 ? prior_degrees_ * prior_variance : 0) +
                     (n_ < 2 ? 0 : own * variance_of(d));
  deviation_ = std::sqrt(sum / degrees_);
}

double PairedTest::upper_tail(double t, double degrees) const {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return boost::math::cdf(
      boost::math::complement(boost::math::students_t_distribution<>(degrees), t));
}

double PairedTest::p_above(double margin) const {
  if (!possible()) return nothing;
  const double distance = mean_ - margin;
  if (deviation_ == 0) return distance > 0 ? 0 : 1;
  return upper_tail(distance / (deviation_ / std::sqrt(static_cast<double>(n_))), degrees_);
}

double PairedTest::p_below(double margin) const {
  if (!possible()) return nothing;
  const double distance = margin - mean_;
  if (deviation_ == 0) return distance > 0 ? 0 : 1;
  return upper_tail(distance / (deviation_ / std::sqrt(static_cast<double>(n_))), degrees_);
}

double PairedTest::p_two_sided() const {
  return possible() ? std::min(1.0, 2 * std::min(p_above(0), p_below(0))) : nothing;
}

double PairedTest::p_equivalent(double margin) const {
  return possible() ? std::max(p_above(-margin), p_below(margin)) : nothing;
}

double PairedTest::resolvable(double alpha) const {
  if (!possible()) return nothing;
  const boost::math::students_t_distribution<> t(degrees_);
  return boost::math::quantile(t, 1 - alpha / 2) * deviation_ / std::sqrt(static_cast<double>(n_));
}

Interval PairedTest::interval(double confidence) const {
  const double half = resolvable(1 - confidence);
  return {mean_ - half, mean_ + half};
}

std::size_t PairedTest::seeds_needed(double margin, double alpha) const {
  const double distance = std::abs(mean_) - margin;
  if (!possible() || !(distance > 0)) return 0;
  for (std::size_t n = 2; n <= 1000; ++n) {
    const auto seeds = static_cast<double>(n);
    const double error = deviation_ / std::sqrt(seeds);
    if (error == 0 || upper_tail(distance / error, prior_degrees_ + seeds - 1) < alpha / 2)
      return n;
  }
  return 0;
}

FamilyTest test_in_family(const Differences& d, double prior_variance, double prior_degrees) {
  if (d.size() >= 2 && prior_variance > 0) {
    const boost::math::fisher_f_distribution<> f(static_cast<double>(d.size() - 1), prior_degrees);
    if (variance_of(d) / prior_variance > boost::math::quantile(f, 0.95))
      return {PairedTest(d, nothing), "paired t"};
  }
  return {PairedTest(d, prior_variance, prior_degrees), "moderated paired t"};
}

// ------------------------------------------------------------------------------- bootstrap

Interval Bootstrap::interval(double confidence) const {
  const double tail = (1 - confidence) / 2;
  return {quantile_of(draws, tail), quantile_of(draws, 1 - tail)};
}

double Bootstrap::p_two_sided() const {
  const auto below = std::upper_bound(draws.begin(), draws.end(), 0.0) - draws.begin();
  const auto above = draws.end() - std::lower_bound(draws.begin(), draws.end(), 0.0);
  const auto least = static_cast<double>(std::min(below, above));
  return std::min(1.0, 2 * (least + 1) / static_cast<double>(draws.size() + 1));
}

namespace {

constexpr std::uint32_t bootstrap_purpose = pes::purpose("bootstrap");

// Means over n seeds drawn with replacement; `within` draws one seed's mean.
template <class Within>
Bootstrap bootstrap(std::size_t n, double mean, std::uint64_t key, std::size_t draws,
                    Within within) {
  PES_CHECK(n > 0 && draws > 0);
  Bootstrap out;
  out.mean = mean;
  pes::Random random(key, bootstrap_purpose, 0);
  for (std::size_t i = 0; i < draws; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k)
      sum += within(random.below(static_cast<std::uint32_t>(n)), random);
    out.draws.push_back(sum / static_cast<double>(n));
  }
  std::sort(out.draws.begin(), out.draws.end());
  return out;
}

}  // namespace

Bootstrap hierarchical_bootstrap(const std::vector<std::vector<double>>& units, std::uint64_t key,
                                 std::size_t draws) {
  std::vector<double> means;
  for (const auto& u : units) means.push_back(mean_of(u));
  return bootstrap(units.size(), mean_of(means), key, draws,
                   [&](std::uint32_t seed, pes::Random& random) {
                     const std::vector<double>& u = units[seed];
                     double sum = 0;
                     for (std::size_t i = 0; i < u.size(); ++i)
                       sum += u[random.below(static_cast<std::uint32_t>(u.size()))];
                     return sum / static_cast<double>(u.size());
                   });
}

Bootstrap hierarchical_bootstrap(const std::vector<double>& means,
                                 const std::vector<double>& standard_errors, std::uint64_t key,
                                 std::size_t draws) {
  PES_CHECK(means.size() == standard_errors.size());
  return bootstrap(means.size(), mean_of(means), key, draws,
                   [&](std::uint32_t seed, pes::Random& random) {
                     const double error = standard_errors[seed];
                     return means[seed] + (error > 0 ? error * random.normal() : 0.0);
                   });
}

// --------------------------------------------------------------------------- over many tasks

std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double v : values) {
    double below = 0, equal = 0;
    for (const double o : values) below += o < v ? 1 : 0, equal += o == v ? 1 : 0;
    ranks.push_back(below + (equal + 1) / 2);
  }
  return ranks;
}

Friedman friedman(const std::vector<std::vector<double>>& ranks) {
  PES_CHECK(!ranks.empty() && ranks[0].size() >= 2);
  const std::size_t k = ranks[0].size();
  const auto n = static_cast<double>(ranks.size()), width = static_cast<double>(k);
  Friedman out;
  out.mean_ranks.assign(k, 0);
  double squares = 0;
  for (const auto& block : ranks)
    for (std::size_t i = 0; i < k; ++i) {
      out.mean_ranks[i] += block[i] / n;
      squares += block[i] * block[i];
    }
  const double expected = (width + 1) / 2;
  double between = 0;
  for (const double r : out.mean_ranks) between += (r - expected) * (r - expected);
  const double spread = squares - n * width * expected * expected;  // 0 where all blocks tie
  if (spread <= 1e-12) {
    out.p = nothing;
    return out;
  }
  out.chi_square = (width - 1) * n * n * between / spread;
  out.p = boost::math::cdf(
      boost::math::complement(boost::math::chi_squared_distribution<>(width - 1), out.chi_square));
  return out;
}

double nemenyi_quantile(std::size_t k, double alpha) {
  PES_CHECK(k >= 2);
  const boost::math::normal_distribution<> normal;
  // P(range <= q) = k int phi(x) (Phi(x) - Phi(x - q))^(k - 1) dx, x the largest.
  const auto within = [&](double q) {
    const auto density = [&](double x) {
      return boost::math::pdf(normal, x) *
             std::pow(boost::math::cdf(normal, x) - boost::math::cdf(normal, x - q),
                      static_cast<double>(k - 1));
    };
    return static_cast<double>(k) * boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
                                        density, -9.0, 9.0 + q, 8, 1e-10);
  };
  const auto [low, high] =
      boost::math::tools::bisect([&](double q) { return within(q) - (1 - alpha); }, 0.01, 20.0,
                                 boost::math::tools::eps_tolerance<double>(30));
  return (low + high) / 2 / std::sqrt(2.0);
}

double critical_difference(std::size_t k, std::size_t n, double alpha) {
  const auto width = static_cast<double>(k);
  return nemenyi_quantile(k, alpha) * std::sqrt(width * (width + 1) / (6 * static_cast<double>(n)));
}

double interquartile_mean(std::vector<double> values) {
  if (values.empty()) return nothing;
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(values.size() / 4);
  return mean_of({values.begin() + cut, values.end() - cut});
}

Interval stratified_interval(const std::vector<std::vector<double>>& strata, std::uint64_t key,
                             std::size_t draws) {
  pes::Random random(key, bootstrap_purpose, 1);
  std::vector<double> means;
  for (std::size_t i = 0; i < draws; ++i) {
    std::vector<double> all;
    for (const auto& s : strata)
      for (std::size_t k = 0; k < s.size(); ++k)
        all.push_back(s[random.below(static_cast<std::uint32_t>(s.size()))]);
    means.push_back(interquartile_mean(std::move(all)));
  }
  std::sort(means.begin(), means.end());
  return {quantile_of(means, 0.025), quantile_of(means, 0.975)};
}

}  // namespace pesuite
