// Draws from a table of probabilities.
#pragma once

#include <array>
#include <cstdint>
#include <pesuite/random.hpp>
#include <utility>
#include <vector>

namespace corpus {

// A law on 0 .. n-1 by cumulative thresholds of 2^32, so that draws are integer comparisons and
// probabilities are exact ratios.
class Categorical {
 public:
  // ends[i] is the first word of random bits beyond outcome i; the last one is 2^32.
  explicit Categorical(std::vector<std::uint64_t> ends) : ends_(std::move(ends)) {
    std::uint32_t i = 0;
    for (std::uint64_t top = 0; top < first_.size(); ++top) {
      while (ends_[i] <= top << 24) ++i;
      first_[top] = i;
    }
  }

  std::size_t size() const { return ends_.size(); }
  std::size_t draw(pes::Random& random) const {
    const std::uint32_t bits = random.bits();
    std::size_t i = first_[bits >> 24];
    while (bits >= ends_[i]) ++i;
    return i;
  }
  double p(std::size_t i) const {
    return static_cast<double>(ends_[i] - (i == 0 ? 0 : ends_[i - 1])) * 0x1p-32;
  }

 private:
  std::vector<std::uint64_t> ends_;
  std::array<std::uint32_t, 256> first_;  // outcome of the least word with these top 8 bits
};

// From shipped integers in units of 2^-16, which sum to 65536.
template <class Units>
Categorical from_units(const Units& units) {
  std::vector<std::uint64_t> ends;
  for (const std::uint16_t u : units)
    ends.push_back((ends.empty() ? 0 : ends.back()) + (std::uint64_t{u} << 16));
  return Categorical(std::move(ends));
}

// Outcome i has probability proportional to 1/(i + 1).
inline Categorical zipf(std::size_t n) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < n; ++i)
    sums.push_back((i == 0 ? 0 : sums.back()) + 1 / static_cast<double>(i + 1));
  std::vector<std::uint64_t> ends;
  for (const double sum : sums) ends.push_back(pes::probability(sum / sums.back()));
  return Categorical(std::move(ends));
}

}  // namespace corpus
