// Which tables count as lines.
#include "tensor/slopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t N = 4096;

std::vector<float> line(double slope, double constant) {
  std::vector<float> table;
  for (std::int64_t d = 0; d < N; ++d)
    table.push_back(static_cast<float>(constant - slope * static_cast<double>(d)));
  return table;
}
std::vector<float> slopes(const std::vector<float>& table, std::int64_t rows = 1) {
  return linear_slopes({rows, static_cast<std::int64_t>(table.size()) / rows}, table.data());
}
float shifted(float x, int places) {
  for (; places > 0; --places) x = std::nextafter(x, std::numeric_limits<float>::infinity());
  return x;
}

TEST(LinearSlopes, AreFoundUpToRoundingAndAConstant) {
  for (const double slope : {0.0, 0.5, 0.1, 1.0 / 3, -0.7, 1e-6, 300.0})
    for (const double constant : {0.0, 7.0, -1e3}) {
      const auto found = slopes(line(slope, constant));
      ASSERT_EQ(found.size(), 1u) << constant << " - " << slope << " d";
      EXPECT_NEAR(found[0], slope, 1e-6 * std::abs(slope) + 2e-7 * std::abs(constant) / N);
    }
}

TEST(LinearSlopes, AreOfEachRow) {
  std::vector<float> table = line(0.25, 0);
  const std::vector<float> other = line(0.125, 1);
  table.insert(table.end(), other.begin(), other.end());
  EXPECT_THAT(slopes(table, 2), ElementsAre(0.25f, 0.125f));
  table.back() += 1;
  EXPECT_THAT(slopes(table, 2), IsEmpty()) << "one row that is none";
}

TEST(LinearSlopes, AreNotThoseOfWhatIsNearlyALine) {
  for (const std::size_t place : {1u, 3u, 100u, 2047u, 4094u}) {
    std::vector<float> table = line(0.1, 0);
    table[place] = shifted(static_cast<float>(-0.1 * static_cast<double>(place)), 3);
    EXPECT_THAT(slopes(table), IsEmpty()) << "3 units in the last place, at " << place;
    table = line(0.25, 0);
    table[place] = shifted(table[place], 2);
    EXPECT_THAT(slopes(table), ElementsAre(0.25f)) << "2 units, at " << place;
  }
  for (const std::size_t place : {0u, 4095u}) {
    std::vector<float> table = line(0.25, 1);
    table[place] += 0.01f;
    EXPECT_THAT(slopes(table), IsEmpty()) << "at " << place;
  }
  for (const float none : {std::numeric_limits<float>::infinity(), std::nanf("")})
    for (const std::size_t place : {0u, 7u, 4095u}) {
      std::vector<float> table = line(0.25, 0);
      table[place] = none;
      EXPECT_THAT(slopes(table), IsEmpty());
    }
}

TEST(LinearSlopes, OfDoublesAreOfWhatTheyAreRoundedTo) {
  std::vector<double> table;
  for (std::int64_t d = 0; d < N; ++d) table.push_back(-0.3 * static_cast<double>(d));
  EXPECT_THAT(linear_slopes({1, N}, table.data()), ElementsAre(0.3f));
}

TEST(LevelFrom, IsTheFirstOfTheEqualNumbersAtTheEnd) {
  const auto from = [](const std::vector<double>& list) {
    return level_from(static_cast<std::int64_t>(list.size()), list.data());
  };
  EXPECT_EQ(from({7}), 0);
  EXPECT_EQ(from({2, 2, 2}), 0);
  EXPECT_EQ(from({2, 2, 3}), 2) << "one alone";
  EXPECT_EQ(from({3, 3, 1, 3, 3, 3}), 3);
  EXPECT_EQ(from({1, std::nan(""), std::nan("")}), 2) << "no number is equal to itself there";
}

}  // namespace
}  // namespace pesuite::testing
