// Which documents are copies of others, or nearly.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pesuite::data {

// MinHash of the runs of five words of a document (Broder 1997), by one permutation in bins whose
// empty ones borrow from the next (Shrivastava and Li 2014). The share of equal values estimates
// the share of runs that two documents have in common of those that either has (Jaccard).
using Sketch = std::array<std::uint16_t, 24>;
Sketch sketch_of(std::string_view text);
inline constexpr double near_share = 0.8;  // from so many equal values on, documents are near

std::uint64_t content_hash(std::string_view text);  // XXH3

// A set of hashes in one table: 16 bytes each or less.
class HashSet {
 public:
  bool insert(std::uint64_t);  // true: it was not there
  std::size_t size() const { return size_; }

 private:
  void grow();
  std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1 << 10);
  std::size_t size_ = 0;
  bool has_zero_ = false;
};

// For each document whether an earlier one is near it. Of documents with equal bands (three values)
// only the first few are compared, so that time stays near linear.
std::vector<bool> near_earlier(const std::vector<Sketch>&);
// For each document of group > 0 whether one of a smaller group is near it.
std::vector<bool> near_other(const std::vector<Sketch>&, const std::vector<std::uint8_t>& group);

}  // namespace pesuite::data
