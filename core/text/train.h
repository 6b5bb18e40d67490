// Learns the merges of a byte-level tokenizer from text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/split.h"

namespace pesuite::text {

// How often each distinct piece occurs.
class PieceCounts {
 public:
  explicit PieceCounts(Pattern pattern) : pattern_(pattern) {}
  // Text is cut into lines, each with its line end, and each line by the pattern. What is no UTF-8
  // is replaced. A line must not be spread over two calls.
  void add(std::string_view text);
  void add(const PieceCounts& other);
  std::vector<std::pair<std::string, std::uint64_t>> sorted() const;

 private:
  Pattern pattern_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> counts_;
};

struct Trained {
  std::vector<std::string> tokens;  // the 256 bytes in the order of their signs, then the merges
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;  // ids
  std::vector<std::uint64_t> counts;                            // of each, when it was made
};
// The pair that occurs most, of equals the one with the smallest left id, then right id, becomes a
// token, until there are `vocabulary` or no pair is left (Sennrich et al. 2016). The result hangs
// on the counts alone. `progress`: merges done so far, now and then.
Trained train_merges(const PieceCounts&, std::size_t vocabulary,
                     const std::function<void(std::size_t)>& progress = {});

// The 256 bytes in the order in which GPT-2's file has them: those that print, then the others.
std::vector<unsigned char> byte_order();
// The sign that stands for a byte in files of vocabularies, as UTF-8.
std::string sign_of_byte(unsigned char);

}  // namespace pesuite::text
