#include "analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/policies/policy.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"

namespace pesuite {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// In double: what long double adds is never seen, and costs most of the time.
using StudentsT = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

}  // namespace

double t_quantile(double share, double degrees) {
  return boost::math::quantile(StudentsT(degrees), share);
}
double t_above(double value, double degrees) {
  return boost::math::cdf(boost::math::complement(StudentsT(degrees), value));
}

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

// How many of the hypotheses that are left can be true after so many were rejected.
double left_of(std::size_t tested, std::size_t rejected, const Possible& possible) {
  std::size_t left = tested - rejected;
  if (possible.empty()) return static_cast<double>(left);
  std::size_t most = possible.size() - 1 - rejected;  // of all, tested or not
  while (most > 0 && !possible[most]) --most;
  return static_cast<double>(std::max<std::size_t>(1, std::min(left, most)));
}

}  // namespace

Possible possible_equalities(const std::vector<std::size_t>& groups) {
  const std::size_t largest = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end());
  std::vector<Possible> within(largest + 1, Possible{true});  // of one group, by its size
  for (std::size_t k = 2; k <= largest; ++k) {
    within[k].assign(k * (k - 1) / 2 + 1, false);
    for (std::size_t alike = 1; alike <= k; ++alike)  // as the last one
      for (std::size_t i = 0; i < within[k - alike].size(); ++i)
        if (within[k - alike][i]) within[k][i + alike * (alike - 1) / 2] = true;
  }
  Possible out = {true};
  for (const std::size_t k : groups) {
    Possible next(out.size() + within[k].size() - 1, false);
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t j = 0; j < within[k].size() && out[i]; ++j)
        if (within[k][j]) next[i + j] = true;
    out = std::move(next);
  }
  return out;
}

std::vector<double> holm(const std::vector<double>& p, const Possible& possible) {
  std::vector<double> out(p.size(), nothing);
  const auto order = tested_in_order(p);
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, left_of(order.size(), i, possible) * p[order[i]]);
    out[order[i]] = std::min(1.0, largest);
  }
  return out;
}

double holm_level(const std::vector<double>& p, double alpha, const Possible& possible) {
  std::size_t tested = 0, rejected = 0;
  for (const double a : holm(p, possible)) tested += a >= 0 ? 1 : 0, rejected += a < alpha ? 1 : 0;
  return alpha / (rejected < tested ? left_of(tested, rejected, possible) : 1);
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  std::vector<double> out(p.size(), nothing);
  const auto order = tested_in_order(p);
  double least = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    least = std::min(least,
                     p[order[i]] * static_cast<double>(order.size()) / static_cast<double>(i + 1));
    out[order[i]] = least;
  }
  return out;
}

double sign_test(std::size_t wins, std::size_t losses) {
  if (wins == 0) return 1;
  const boost::math::binomial_distribution<> coins(static_cast<double>(wins + losses), 0.5);
  return boost::math::cdf(boost::math::complement(coins, static_cast<double>(wins) - 1));
}

// --------------------------------------------------------------------------- over many tasks

namespace {

// Ways in which n and m different values give each U from 0 to n m: of all ways that many, by
// whether the largest value belongs to the first sample.
std::vector<double> ways_of_u(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> of(m + 1, std::vector<double>(n * m + 1, 0));  // of n - 1, j
  for (auto& row : of) row[0] = 1;
  for (std::size_t i = 1; i <= n; ++i)
    for (std::size_t j = 1; j <= m; ++j) {
      std::vector<double> with(n * m + 1, 0);
      for (std::size_t u = 0; u <= i * j; ++u) with[u] = (u >= j ? of[j][u - j] : 0) + of[j - 1][u];
      of[j] = std::move(with);
    }
  return of[m];
}

}  // namespace

double mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<double> ranks = mean_ranks(all);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double sum = std::accumulate(ranks.begin(), ranks.begin() + a.size(), 0.0);
  const double u = sum - n * (n + 1) / 2, least = std::min(u, n * m - u);
  std::map<double, double> same;
  for (const double x : all) ++same[x];
  double ties = 0;
  for (const auto& [x, count] : same) ties += count * count * count - count;
  constexpr double most_exact = 2500;  // pairs
  if (ties == 0 && n * m <= most_exact) {
    const std::vector<double> ways = ways_of_u(a.size(), b.size());
    const double below =
        std::accumulate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(least) + 1, 0.0);
    return std::min(1.0, 2 * below / std::accumulate(ways.begin(), ways.end(), 0.0));
  }
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)));
  if (!(variance > 0)) return 1;
  const double z = std::max(0.0, n * m / 2 - least - 0.5) / std::sqrt(variance);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal_distribution<>(), z));
}

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

Interval interquartile_interval(const std::vector<std::vector<double>>& of_seeds) {
  const std::size_t n = of_seeds.size();
  if (n < fewest_for_interval) return {nothing, nothing};
  const auto seeds = static_cast<double>(n);
  const auto without = [&](std::size_t left_out) {
    std::vector<double> all;
    for (std::size_t i = 0; i < n; ++i)
      if (i != left_out) all.insert(all.end(), of_seeds[i].begin(), of_seeds[i].end());
    return interquartile_mean(std::move(all));
  };
  const double centre = without(n);
  std::vector<double> partial;
  for (std::size_t i = 0; i < n; ++i) partial.push_back(without(i));
  const double mean = mean_of(partial);
  double squares = 0;
  for (const double x : partial) squares += (x - mean) * (x - mean);
  const double error = std::sqrt((seeds - 1) / seeds * squares);
  if (!(error > 0)) return {nothing, nothing};
  const double half = t_quantile(0.975, (seeds - 1) / 2) * error;  // the middle half jumps
  return {centre - half, centre + half};
}

}  // namespace pesuite
