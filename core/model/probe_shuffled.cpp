// What the order of a context is worth: a model reads the tokens before the first scored one in
// another order, at positions and behind a mask that stay.
#include <pesuite/random.hpp>
#include <pesuite/tokens.hpp>

#include <algorithm>

#include "model/probes.h"

namespace pesuite {

std::vector<std::size_t> places_to_shuffle(std::span<const std::int32_t> tokens,
                                           std::span<const std::int32_t> targets,
                                           std::span<const std::int32_t> starts, bool signs_stay,
                                           int kept) {
  const auto scored = static_cast<std::size_t>(
      std::find_if(targets.begin(), targets.end(), [](std::int32_t t) { return t >= 0; }) -
      targets.begin());
  std::vector<std::size_t> out;
  if (scored == targets.size() || scored < static_cast<std::size_t>(kept)) return out;
  const std::size_t first = starts.empty() ? 0 : static_cast<std::size_t>(starts[scored]);
  for (std::size_t t = first; t < scored - static_cast<std::size_t>(kept); ++t)
    if (!signs_stay || tokens[t] >= PES_FIRST_SYMBOL) out.push_back(t);
  return out;
}

namespace {

// By what the row holds, so that no batch changes it.
void shuffle(std::span<std::int32_t> tokens, const std::vector<std::size_t>& places,
             std::uint64_t seed) {
  for (const std::int32_t t : tokens) seed = pes::mix64(seed, static_cast<std::uint64_t>(t));
  pes::Random random(seed, pes::purpose("shuffled"), 0);
  for (std::size_t n = places.size(); n > 1; --n)
    std::swap(tokens[places[n - 1]], tokens[places[random.below(static_cast<std::uint32_t>(n))]]);
}

}  // namespace

Scorer shuffled(Model& model, const Task& task, int kept, std::int64_t& moved) {
  const bool signs_stay = !task.is_corpus();
  return [&model, &moved, signs_stay, kept](const Batch& b, const StepInfo& s) {
    const Scores plain = model.score(b, s);
    Batch other = b;
    const auto n = static_cast<std::size_t>(b.length);
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.size); ++i) {
      const std::span tokens = row(other.tokens, i, n);
      const auto places = places_to_shuffle(tokens, row(other.targets, i, n),
                                            row(other.starts, i, n), signs_stay, kept);
      shuffle(tokens, places, s.seed);
      moved += places.size() > 1 ? std::ssize(places) : 0;
    }
    Scores out = model.score(other, s);
    for (std::size_t k = 0; k < out.nats.size(); ++k) out.nats[k] -= plain.nats[k];
    return out;
  };
}

}  // namespace pesuite
