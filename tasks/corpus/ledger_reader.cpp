#include <cmath>
#include <numeric>

#include "ledger.h"

namespace ledger {

namespace {

constexpr int unknown = -1;

// The height of the stack long after the start: Binomial(depth, 1/2), the stationary law.
std::vector<double> stationary_depth(std::size_t depth) {
  std::vector<double> law{std::ldexp(1.0, -static_cast<int>(depth))};
  for (std::size_t d = 0; d < depth; ++d)
    law.push_back(law.back() * static_cast<double>(depth - d) / static_cast<double>(d + 1));
  return law;
}

void normalize(std::vector<double>& law) {
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& p : law) p /= sum;
}

double one_of(std::size_t n) {
  return 1 / static_cast<double>(n);
}
double indicator(bool condition) {
  return condition ? 1 : 0;
}

}  // namespace

Reader::Reader(const Law& law, std::size_t start)
    : law_(law),
      start_(start),
      values_(law.entities.size() * law.attributes, unknown),
      mentioned_(values_.size()),
      topic_(law.topics.size(), one_of(law.topics.size())),
      depth_(stationary_depth(law.depth)) {
  if (start > 0) return;
  depth_.assign(law.depth + 1, 0);
  depth_[0] = 1;  // BOS is seen, and nothing is open there
}

double Reader::cost(std::size_t token) const {
  return 0 - std::log(probability(token));
}

double Reader::probability(std::size_t token) const {
  switch (phase_) {
    case Phase::begin: return indicator(token == BOS);
    case Phase::type: return type_probability(token);
    case Phase::entity: {
      const std::size_t e = token - law_.entity0();  // wraps around below entity0
      return e < law_.entities.size() ? law_.entities.p(e) : 0;
    }
    case Phase::attribute:
      return token - law_.attribute0() < law_.attributes ? one_of(law_.attributes) : 0;
    case Phase::value: return value_probability(token);
    case Phase::filler: return filler_probability(token);
    case Phase::bracket: return bracket_probability(token);
  }
  return 0;
}

double Reader::type_probability(std::size_t token) const {
  switch (token) {
    case SET:
    case ASK:
    case FIL: return law_.types.p(token - SET);
    case OPEN: return law_.types.p(nest) * open_probability();
    case CLOSE: return law_.types.p(nest) * (1 - open_probability());
    default: return 0;
  }
}

double Reader::open_probability() const {
  double p = 0;
  for (std::size_t d = 0; d < law_.depth; ++d)
    p += depth_[d] * static_cast<double>(law_.depth - d) / static_cast<double>(law_.depth);
  return p;
}

double Reader::value_probability(std::size_t token) const {
  const std::size_t v = token - law_.value0() - attribute_ * law_.values;
  if (v >= law_.values) return 0;
  const int known = values_[pair()];
  return type_ == SET || known == unknown ? one_of(law_.values)
                                          : indicator(v == static_cast<std::size_t>(known));
}

int Reader::recall_distance() const {
  if (phase_ != Phase::value || type_ != ASK) return -1;
  return values_[pair()] == unknown ? 0 : static_cast<int>(index_ - mentioned_[pair()]);
}

double Reader::filler_probability(std::size_t token) const {
  if (token == END) return law_.end_probability();
  const std::size_t w = token - law_.word0();
  if (w >= law_.words()) return 0;
  double p = 0;
  for (std::size_t z = 0; z < topic_.size(); ++z) p += topic_[z] * law_.topics[z].p(w);
  return (1 - law_.end_probability()) * p;
}

double Reader::bracket_probability(std::size_t token) const {
  const std::size_t b = token - law_.bracket0();
  if (b >= law_.brackets) return 0;
  return type_ == OPEN || open_.empty() ? one_of(law_.brackets) : indicator(b == open_.back());
}

void Reader::read(std::size_t token) {
  const bool seen = index_++ >= start_;
  switch (phase_) {
    case Phase::begin: phase_ = Phase::type; break;
    case Phase::type:
      type_ = token;
      phase_ = token == FIL                      ? Phase::filler
               : token == OPEN || token == CLOSE ? Phase::bracket
                                                 : Phase::entity;
      break;
    case Phase::entity:
      entity_ = token - law_.entity0();
      phase_ = Phase::attribute;
      break;
    case Phase::attribute:
      attribute_ = token - law_.attribute0();
      phase_ = Phase::value;
      break;
    case Phase::value:
      if (seen) {
        values_[pair()] = static_cast<int>(token - law_.value0() - attribute_ * law_.values);
        mentioned_[pair()] = index_ - 1;
      }
      phase_ = Phase::type;
      break;
    case Phase::filler:
      if (token == END)
        phase_ = Phase::type;
      else if (seen)
        see_word(token - law_.word0());
      break;
    case Phase::bracket:
      if (seen) see_bracket(token - law_.bracket0());
      phase_ = Phase::type;
      break;
  }
}

void Reader::see_word(std::size_t word) {
  for (std::size_t z = 0; z < topic_.size(); ++z) topic_[z] *= law_.topics[z].p(word);
  normalize(topic_);
}

// Moves the law of the height: from d the stack grows with probability (D - d)/D, else it shrinks.
void Reader::see_bracket(std::size_t bracket) {
  const std::size_t D = law_.depth;
  std::vector<double> moved(D + 1, 0);
  for (std::size_t d = 0; d <= D; ++d) {
    if (type_ == OPEN && d < D) moved[d + 1] = depth_[d] * static_cast<double>(D - d);
    if (type_ == CLOSE && d > 0) moved[d - 1] = depth_[d] * static_cast<double>(d);
  }
  depth_ = std::move(moved);
  normalize(depth_);
  if (type_ == OPEN)
    open_.push_back(bracket);
  else if (!open_.empty())
    open_.pop_back();
}

}  // namespace ledger
