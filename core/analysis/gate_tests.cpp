#include "analysis/gate_tests.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

namespace pesuite {

namespace {

constexpr double no_variance = 1e-24;
constexpr double by_chance = 1.25;  // about what chance alone adds to the mean ratio of 24 series

double variance_about_mean(const Differences& d) {
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / static_cast<double>(d.size());
  double sum = 0;
  for (const double x : d) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(d.size() - 1);
}

double degrees_of(const Calibrated& c) {
  return static_cast<double>(c.differences - 1);
}

}  // namespace

bool is_used(const Calibrated& c) {
  return c.differences >= fewest_calibrating && c.variance > no_variance;
}

Calibrated calibrated_by(const Differences& d, double spread) {
  if (d.size() < 2) return {0, d.size(), spread};
  return {variance_about_mean(d), d.size(), spread};
}

double enlargement(const std::vector<Differences>& all, const std::vector<Calibrated>& known) {
  double ratio = 0, expected = 0;
  for (std::size_t i = 0; i < all.size() && i < known.size(); ++i) {
    if (all[i].size() < 2 || !is_used(known[i])) continue;
    const double degrees = degrees_of(known[i]);
    ratio += variance_about_mean(all[i]) / known[i].variance;
    expected += degrees / (degrees - 2);  // the mean of an F distribution
  }
  return expected > 0 ? std::max(1.0, ratio / (by_chance * expected)) : 1;
}

std::vector<PairedTest> gate_tests(const std::vector<Differences>& all,
                                   const std::vector<Calibrated>& known) {
  const double larger = enlargement(all, known);
  std::vector<PairedTest> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Company company;
    if (i < known.size() && is_used(known[i]))
      company = {known[i].variance * larger, degrees_of(known[i]), 0};
    out.emplace_back(all[i], company);
  }
  return out;
}

Differences mean_over_series(const std::vector<Differences>& all) {
  if (all.empty()) return {};
  Differences out(all[0].size(), 0);
  for (const Differences& d : all) {
    if (d.size() != out.size()) return {};
    for (std::size_t i = 0; i < d.size(); ++i) out[i] += d[i] / static_cast<double>(all.size());
  }
  return out;
}

Discordant discordant(const std::string& before, const std::string& after) {
  Discordant out;
  if (before.size() != after.size()) return out;
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) & 15u;
  };
  for (std::size_t i = 0; i < before.size(); ++i) {
    const unsigned a = digit(before[i]), b = digit(after[i]);
    out.lost += std::popcount(a & ~b), out.won += std::popcount(b & ~a);
  }
  return out;
}

double p_lost(const Discordant& d) {
  const auto all = static_cast<double>(d.lost + d.won);
  if (all == 0) return 1;
  if (all < 25) {
    if (d.lost == 0) return 1;
    const boost::math::binomial_distribution<> coin(all, 0.5);
    return boost::math::cdf(boost::math::complement(coin, static_cast<double>(d.lost - 1)));
  }
  const double z = static_cast<double>(d.lost - d.won) / std::sqrt(all);
  return boost::math::cdf(boost::math::complement(boost::math::normal_distribution<>(), z));
}

double p_lost(const std::vector<Discordant>& seeds) {
  const boost::math::normal_distribution<> normal;
  double sum = 0, weights = 0;
  for (const Discordant& d : seeds) {
    const auto all = static_cast<double>(d.lost + d.won);
    if (all == 0) continue;
    const double p = std::clamp(p_lost(d), 1e-300, 1 - 1e-12);
    sum += std::sqrt(all) * boost::math::quantile(boost::math::complement(normal, p));
    weights += all;
  }
  return weights > 0 ? boost::math::cdf(boost::math::complement(normal, sum / std::sqrt(weights)))
                     : 1;
}

}  // namespace pesuite
