// A stretch of training as a user writes it: 300, "300 steps", "3%", "20M tokens", "1e15 FLOPs", or
// "20N tokens", of N parameters of the model without its encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pesuite {

struct Extent {
  enum class Unit { steps, share, tokens, flops, per_parameter } unit = Unit::steps;
  double value = 0;

  // `steps` are those of the whole training, for shares; a step reads `tokens` and costs `flops`.
  std::int64_t in_steps(std::int64_t steps, double tokens, double flops, double parameters) const;
  std::string text() const;  // as parse_extent() reads it
};
std::string short_text(const Extent&);  // for names: 300steps, 20M, 20N, 1e15FLOPs
std::optional<Extent> parse_extent(std::string_view text);

inline constexpr int longest_length = 1 << 24;  // tokens, of any sequence
// A length as a user writes it: "256", "1k", or "4x" of the training length, in whole tokens.
// Nothing where the text is no length, or is not in least .. longest_length.
std::optional<int> parse_length(std::string_view text, int train_length, int least = 1);
// The same, or a range of lengths with both ends: "1..20", every second one "1..20:2", "1x..4x:1x".
// Ascending; nothing where it is none, falls, or has more than most_lengths.
std::optional<std::vector<int>> parse_lengths(std::string_view text, int train_length,
                                              int least = 1);
inline constexpr int most_lengths = 4096;  // of a range
// Whether parse_lengths() can read it for some training length.
bool is_lengths(std::string_view text);
bool is_range(std::string_view text);

}  // namespace pesuite
