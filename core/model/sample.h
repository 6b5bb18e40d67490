// Text continued token by token: how the next one is drawn, and the loop that reads it behind a
// cache.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/cache.h"

namespace pesuite {

struct Sampling {
  double temperature = 1;  // of the softmax; 0: always the likeliest token, the first of equals
  int top_k = 0;           // of so many likeliest tokens (Fan et al. 2018); 0: of all
  double top_p = 1;  // of the fewest likeliest that hold this probability (Holtzman et al. 2020)
};
// Error (usage) where one of them is out of its range.
void check(const Sampling&);
// A token by its probability; `u` in [0, 1) decides. Where logits are no numbers: Error (internal).
std::int32_t draw(std::span<const double> logits, const Sampling&, double u);

struct Continuation {
  std::vector<std::int32_t> tokens;
  bool ended = false;  // with an end token, which is not among them
};
struct Generating {
  Sampling sampling;
  int tokens = 64;         // at most, of each
  std::vector<std::int32_t> ends = {};  // tokens that end one
  std::uint64_t seed = 0;  // prompt i draws from the stream (seed, i), whatever else there is
  int batch = 8;           // prompts that are continued side by side, at most
  // Called with each token as soon as it is drawn.
  std::function<void(std::size_t prompt, std::int32_t token)> each = {};
};
struct GenerationTime {  // seconds, and tokens read or drawn in them
  double reading = 0, drawing = 0;
  std::int64_t read = 0, drawn = 0;
  int rereads = 0;
};
// Error (usage) for an empty prompt, or a token that the model does not have.
std::vector<Continuation> generate(Model&, std::span<const std::vector<std::int32_t>> prompts,
                                   const Generating&, GenerationTime* = nullptr);

}  // namespace pesuite
