#include "check/task_axes.h"

#include <pesuite/pesuite.h>

#include <array>
#include <cmath>
#include <set>
#include <span>
#include <vector>

namespace pesuite {

namespace {

using Tokens = std::span<const std::int32_t>;

constexpr int lags = 24, ids = 512;

// How far before place t `token` stands, 0 where it does not.
double back_to(Tokens tokens, std::size_t t, std::int32_t token) {
  for (std::size_t d = 0; d <= t; ++d)
    if (tokens[t - d] == token) return static_cast<double>(d + 1);
  return 0;
}

// What is looked at of an example, a number each.
std::vector<double> features(Tokens tokens, Tokens targets) {
  double scored = 0, first = -1, last = -1, target = 0, back = 0, sum = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    sum += tokens[t];
    if (targets[t] < 0) continue;
    if (first < 0) first = static_cast<double>(t);
    last = static_cast<double>(t), target += targets[t], back += back_to(tokens, t, targets[t]);
    ++scored;
  }
  const double n = std::max(1.0, scored);
  const auto different = std::set(tokens.begin(), tokens.end()).size();
  std::vector<double> out = {
      scored, first, last, target / n, back / n, sum, static_cast<double>(different)};
  std::array<double, ids> count{}, place{};
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const auto id = static_cast<std::size_t>(tokens[t]);
    if (id >= ids) continue;
    if (count[id]++ == 0) place[id] = static_cast<double>(t + 1);
  }
  out.insert(out.end(), count.begin(), count.end());
  out.insert(out.end(), place.begin(), place.end());
  for (std::size_t d = 1; d <= lags; ++d) {
    double repeats = 0;
    for (std::size_t t = d; t < tokens.size(); ++t) repeats += tokens[t] == tokens[t - d] ? 1 : 0;
    out.push_back(repeats);
  }
  return out;
}

struct Moments {  // of each feature and of its square
  std::vector<double> mean, error;
  explicit Moments(const Examples& e) {
    std::vector<double> squares;
    for (std::size_t i = 0; i < e.count; ++i) {
      std::vector<double> x = features(e.tokens_of(i), e.targets_of(i));
      const std::size_t n = x.size();
      for (std::size_t f = 0; f < n; ++f) x.push_back(x[f] * x[f]);
      mean.resize(x.size()), squares.resize(x.size());
      for (std::size_t f = 0; f < x.size(); ++f) mean[f] += x[f], squares[f] += x[f] * x[f];
    }
    const auto count = static_cast<double>(e.count);
    for (std::size_t f = 0; f < mean.size(); ++f) {
      mean[f] /= count;
      error.push_back((squares[f] / count - mean[f] * mean[f]) / count);
    }
  }
};

}  // namespace

bool differ(const Examples& a, const Examples& b) {
  constexpr double sure = 5.5;  // standard errors: never by chance, in all features together
  const Moments x(a), y(b);
  for (std::size_t f = 0; f < x.mean.size(); ++f) {
    const double error = std::sqrt(std::max(0.0, x.error[f] + y.error[f]));
    if (std::fabs(x.mean[f] - y.mean[f]) > sure * error + 1e-9 * (1 + std::fabs(x.mean[f])))
      return true;
  }
  return false;
}

}  // namespace pesuite
