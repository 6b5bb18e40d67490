#include "ledger.h"
#include "ledger_topics.h"

namespace ledger {

namespace {

constexpr std::uint64_t whole = std::uint64_t{1} << 32;

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
          .entities = corpus::zipf(48),
          .topics = std::move(topics),
          .end = pes::probability(.15)};
}

}  // namespace ledger
