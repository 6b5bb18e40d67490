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

}  // namespace pesuite
