// A stretch of training as a user writes it: 300, "300 steps", "3%", "20M tokens", "1e15 FLOPs".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pesuite {

struct Extent {
  enum class Unit { steps, share, tokens, flops } unit = Unit::steps;
  double value = 0;

  // `steps` are those of the whole training, for shares; a step reads `tokens` and costs `flops`.
  std::int64_t in_steps(std::int64_t steps, double tokens, double flops) const;
  std::string text() const;  // as parse_extent() reads it
};
std::optional<Extent> parse_extent(std::string_view text);

inline constexpr int longest_length = 1 << 24;  // tokens, of any sequence
// A length as a user writes it: "256", "1k", or "4x" of the training length, in whole tokens.
// Nothing where the text is no length, or is not in least .. longest_length.
std::optional<int> parse_length(std::string_view text, int train_length, int least = 1);

}  // namespace pesuite
