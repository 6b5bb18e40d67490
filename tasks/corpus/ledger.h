// The ledger language: its law, documents drawn from it, and a reader who knows the law and pays
// for each token exactly the information it carries. docs/tasks/ledger.md defines it.
#pragma once

#include <cstdint>
#include <pesuite/random.hpp>
#include <vector>

#include "categorical.h"

namespace ledger {

// Local ids; then entities, attributes, the values of each attribute, filler words, bracket types.
enum Token { BOS, SET, ASK, FIL, OPEN, CLOSE, END, first_entity };
// Outcomes of Law::types: SET, ASK and FIL in the order of their ids, then an event of brackets.
inline constexpr std::size_t nest = 3;

using corpus::Categorical;

struct Law {
  std::size_t attributes, values, brackets, depth;
  Categorical types, entities;
  std::vector<Categorical> topics;  // laws on the filler words
  std::uint64_t end;                // threshold of END before each filler word

  std::size_t words() const { return topics.front().size(); }
  double end_probability() const { return static_cast<double>(end) * 0x1p-32; }
  // The first id of each kind, and the number of ids.
  std::size_t entity0() const { return first_entity; }
  std::size_t attribute0() const { return entity0() + entities.size(); }
  std::size_t value0() const { return attribute0() + attributes; }
  std::size_t word0() const { return value0() + attributes * values; }
  std::size_t bracket0() const { return word0() + words(); }
  std::size_t alphabet() const { return bracket0() + brackets; }
};

enum class Mix { standard, retrieval };
Law make_law(Mix);

// The first `count` tokens of a document.
std::vector<std::int32_t> write(const Law&, pes::Random, std::size_t count);

// Reads a document from its beginning, but knows of what stands before token `start` only the kind
// of the sentence that runs there and its entity and attribute. An event counts as seen when its
// last token stands at `start` or later.
class Reader {
 public:
  Reader(const Law&, std::size_t start);

  // Probability of `token` as the next one; 0 where it cannot come. Meaningful from `start` on.
  double probability(std::size_t token) const;
  double cost(std::size_t token) const;  // in nats, infinite where it cannot come
  void read(std::size_t token);
  // Where the next token is a value that is asked for: how far before it the pair's last mention
  // ended, 0 where none was seen; -1 elsewhere.
  int recall_distance() const;

 private:
  enum class Phase { begin, type, entity, attribute, value, filler, bracket };

  double type_probability(std::size_t token) const;
  double value_probability(std::size_t token) const;
  double filler_probability(std::size_t token) const;
  double bracket_probability(std::size_t token) const;
  double open_probability() const;
  void see_word(std::size_t word);
  void see_bracket(std::size_t bracket);
  std::size_t pair() const { return entity_ * law_.attributes + attribute_; }

  const Law& law_;
  std::size_t start_, index_ = 0;  // index of the next token
  Phase phase_ = Phase::begin;
  std::size_t type_ = BOS, entity_ = 0, attribute_ = 0;  // of the sentence that runs
  std::vector<int> values_;             // [entity, attribute], unknown where no mention was seen
  std::vector<std::size_t> mentioned_;  // the same: index of the value in the last mention
  std::vector<double> topic_;           // posterior
  std::vector<double> depth_;           // posterior of the height of the stack
  std::vector<std::size_t> open_;       // seen brackets that are open
};

}  // namespace ledger
