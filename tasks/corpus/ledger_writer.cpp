#include "ledger.h"

namespace ledger {

namespace {

class Writer {
 public:
  Writer(const Law& law, pes::Random random)
      : law_(law), random_(random), values_(law.entities.size() * law.attributes, unset) {}

  std::vector<std::int32_t> document(std::size_t count) {
    out_.reserve(count + 64);  // the last sentence may run over
    emit(BOS);
    const Categorical& topic = law_.topics[below(law_.topics.size())];
    while (out_.size() < count) sentence(topic);
    out_.resize(count);
    return std::move(out_);
  }

 private:
  static constexpr std::int32_t unset = -1;

  void emit(std::size_t token) { out_.push_back(static_cast<std::int32_t>(token)); }
  std::size_t below(std::size_t n) { return random_.below(static_cast<std::uint32_t>(n)); }

  void sentence(const Categorical& topic) {
    const std::size_t type = law_.types.draw(random_);
    if (type == nest) return bracket();
    emit(SET + type);
    if (SET + type == FIL) return filler(topic);
    mention(SET + type == SET);
  }
  void mention(bool redraw) {
    const std::size_t entity = law_.entities.draw(random_), attribute = below(law_.attributes);
    std::int32_t& value = values_[entity * law_.attributes + attribute];
    if (redraw || value == unset) value = static_cast<std::int32_t>(below(law_.values));
    emit(law_.entity0() + entity);
    emit(law_.attribute0() + attribute);
    emit(law_.value0() + attribute * law_.values + value);
  }
  void filler(const Categorical& topic) {
    while (!random_.event(law_.end)) emit(law_.word0() + topic.draw(random_));
    emit(END);
  }
  void bracket() {
    if (below(law_.depth) >= open_.size()) {
      open_.push_back(below(law_.brackets));
      emit(OPEN);
      emit(law_.bracket0() + open_.back());
    } else {
      emit(CLOSE);
      emit(law_.bracket0() + open_.back());
      open_.pop_back();
    }
  }

  const Law& law_;
  pes::Random random_;
  std::vector<std::int32_t> values_;  // [entity, attribute]
  std::vector<std::size_t> open_;     // bracket types, innermost last
  std::vector<std::int32_t> out_;
};

}  // namespace

std::vector<std::int32_t> write(const Law& law, pes::Random random, std::size_t count) {
  return Writer(law, random).document(count);
}

}  // namespace ledger
