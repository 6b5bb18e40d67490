#include "ledger.h"
#include "ledger_topics.h"

namespace ledger {

namespace {

constexpr std::uint64_t whole = std::uint64_t{1} << 32;

// P(entity e) proportional to 1/(e + 1).
Categorical zipf(std::size_t n) {
  std::vector<double> sums;
  for (std::size_t e = 0; e < n; ++e)
    sums.push_back((e == 0 ? 0 : sums.back()) + 1 / static_cast<double>(e + 1));
  std::vector<std::uint64_t> ends;
  for (const double sum : sums) ends.push_back(pes::probability(sum / sums.back()));
  return Categorical(std::move(ends));
}

}  // namespace

Law make_law(Mix mix) {
  const double ask_end = mix == Mix::standard ? .40 : .57;
  std::vector<Categorical> topics;
  for (const auto& units : topic_words) topics.push_back(corpus::from_units(units));
  return {.attributes = 4,
          .values = 16,
          .brackets = 8,
          .depth = 4,
          .types = Categorical(
              {pes::probability(.12), pes::probability(ask_end), pes::probability(.90), whole}),
          .entities = zipf(48),
          .topics = std::move(topics),
          .end = pes::probability(.15)};
}

}  // namespace ledger
