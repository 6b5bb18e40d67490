// Levels of series: exactness against trying all, known steps and drift, error rates by simulation.
#include "analysis/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <pesuite/random.hpp>

namespace pesuite::testing {
namespace {

enum class Noise { normal, laplace, student };  // the last: t with three degrees

double draw(pes::Random& random, Noise noise) {
  const double x = random.normal();
  if (noise == Noise::normal) return x;
  if (noise == Noise::student) {
    double squares = 0;
    for (int i = 0; i < 3; ++i) squares += std::pow(random.normal(), 2);
    return x / std::sqrt(squares / 3);
  }
  return (random.uniform() < 0.5 ? -1 : 1) * -std::log(1 - random.uniform());
}

std::vector<SeriesPoint> noise_of(std::size_t n, std::uint64_t index, Noise noise = Noise::normal) {
  pes::Random random(11, pes::purpose("change points"), index);
  std::vector<SeriesPoint> out(n);
  for (SeriesPoint& p : out) p.value = 10 + draw(random, noise);
  return out;
}

std::vector<Level> found_in(const std::vector<SeriesPoint>& p) {
  return levels_of(p, spread_of(p));
}

double cost_of(const std::vector<SeriesPoint>& p, const std::vector<Level>& levels, double price) {
  double cost = price * static_cast<double>(levels.size() - 1);
  for (const Level& l : levels)
    for (std::size_t i = l.begin; i < l.end; ++i) cost += std::abs(p[i].value - l.value);
  return cost;
}

// The least cost by trying every set of steps.
double least_cost(const std::vector<SeriesPoint>& p, double price) {
  const std::size_t n = p.size();
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t cuts = 0; cuts < (std::uint64_t{1} << (n - 1)); ++cuts) {
    std::vector<Level> levels;
    std::size_t begin = 0;
    bool allowed = true;
    for (std::size_t i = 1; i <= n; ++i) {
      if (i < n && (cuts >> (i - 1) & 1) == 0) continue;
      std::vector<double> v;
      std::size_t commits = 0;
      for (std::size_t k = begin; k < i; ++k) v.push_back(p[k].value), commits += p[k].commits;
      allowed = allowed && (commits >= shortest_level || i - begin == n);
      levels.push_back({begin, i, median_of(v)});
      begin = i;
    }
    if (allowed) best = std::min(best, cost_of(p, levels, price));
  }
  return best;
}

TEST(ChangePoints, AreTheBestOfAll) {
  for (std::uint64_t i = 0; i < 150; ++i) {
    pes::Random random(5, pes::purpose("steps"), i);
    std::vector<SeriesPoint> p = noise_of(12, 1000 + i);
    for (std::size_t k = 0; k < p.size(); ++k) {
      p[k].value += k >= 4 ? 8 * random.uniform() : 0;
      p[k].value += k >= 8 ? 8 : 0;
      p[k].commits = random.uniform() < 0.3 ? 3 : 1;
    }
    // with the price that this spread gives, which a single far step reveals
    const double spread = 0.1 + 0.3 * random.uniform();
    const std::vector<Level> levels = levels_of(p, spread);
    const double price = 8.5 * spread;
    EXPECT_NEAR(cost_of(p, levels, price), least_cost(p, price), 1e-9) << i;
  }
}

TEST(ChangePoints, AreThereWhereTheyWereMade) {
  const auto near = [](const std::vector<Level>& levels, double at) {
    return std::any_of(levels.begin(), levels.end(), [&](const Level& l) {
      return l.begin > 0 && std::abs(static_cast<double>(l.begin) - at) <= 1;
    });
  };
  int exact = 0, found = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::vector<SeriesPoint> p = noise_of(120, i);
    for (std::size_t k = 0; k < p.size(); ++k) p[k].value += (k >= 40 ? 5 : 0) - (k >= 80 ? 8 : 0);
    const std::vector<Level> levels = found_in(p);
    found += near(levels, 40) && near(levels, 80) ? 1 : 0;
    exact += levels.size() == 3 ? 1 : 0;
  }
  EXPECT_EQ(found, 100);
  EXPECT_GE(exact, 97);  // noise alone makes a step in one of a hundred
}

TEST(ChangePoints, DoNotDependOnWhereTheSeriesBegins) {
  std::vector<SeriesPoint> p = noise_of(60, 3);
  for (std::size_t k = 30; k < p.size(); ++k) p[k].value += 6;
  const std::vector<Level> whole = found_in(p);
  for (SeriesPoint& x : p) x.value = -x.value;
  const std::vector<Level> mirrored = found_in(p);
  ASSERT_EQ(whole.size(), mirrored.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i].begin, mirrored[i].begin);
}

TEST(ChangePoints, AreNotMadeByOneFarValue) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::vector<SeriesPoint> p = noise_of(100, 40 + i);
    p[50].value += 1000;
    EXPECT_EQ(found_in(p).size(), 1u) << i;
  }
}

TEST(ChangePoints, OfSlowDriftAreSteps) {
  int found = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::vector<SeriesPoint> p = noise_of(100, 500 + i);
    for (std::size_t k = 0; k < p.size(); ++k) p[k].value += 3.0 * static_cast<double>(k) / 100;
    found += found_in(p).size() > 1 ? 1 : 0;
  }
  EXPECT_GE(found, 97);  // 3 spreads over 100 commits
}

TEST(ChangePoints, OfNoiseAloneAreRare) {
  for (const Noise noise : {Noise::normal, Noise::laplace, Noise::student})
    for (const std::size_t n : {5u, 12u, 20u, 50u, 100u}) {
      int alarms = 0;
      constexpr int runs = 2000;
      for (std::uint64_t i = 0; i < runs; ++i)
        alarms += found_in(noise_of(n, i, noise)).size() > 1 ? 1 : 0;
      const double rate = static_cast<double>(alarms) / runs;
      constexpr double most = 0.0145;  // 1 % and twice the error of the simulation
      EXPECT_LE(rate, most) << static_cast<int>(noise) << " " << n;
      RecordProperty("alarms_" + std::to_string(static_cast<int>(noise)) + "_" + std::to_string(n),
                     std::to_string(rate));
    }
}

TEST(ChangePoints, AreFoundFast) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < 10; ++i) found_in(noise_of(1000, i));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count() / 10, 1.0);  // measured: 4 ms for 1000 points, 0.1 ms for 100
}

TEST(ChangePoints, OfTheSameBitsAreOneObservation) {
  // 50 commits that computed a, 50 that computed b: two draws of what may be noise
  const std::vector<SeriesPoint> p = {{1.00, 50}, {1.01, 50}};
  EXPECT_EQ(levels_of(p, 0.01).size(), 1u);
  EXPECT_EQ(levels_of(p, 0.0005).size(), 2u);
  EXPECT_EQ(levels_of(p, 0).size(), 2u);                        // nothing says that it is noise
  EXPECT_EQ(levels_of({{1.00, 50}, {1.01, 1}}, 0).size(), 1u);  // one commit alone
  EXPECT_TRUE(levels_of({}, 1).empty());
}

}  // namespace
}  // namespace pesuite::testing
