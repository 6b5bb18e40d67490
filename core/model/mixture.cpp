#include "model/mixture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "pesuite/random.hpp"

namespace pesuite {

const char* length_kind_name(LengthKind kind) {
  constexpr const char* names[] = {"fixed", "uniform", "growing"};
  return names[static_cast<int>(kind)];
}

std::int64_t LengthPlan::reached(int longest, std::int64_t step) const {
  const std::int64_t all = std::max(0, longest - least) / stride + 1;
  return kind == LengthKind::growing && step < over ? std::min(all, 1 + step * all / over) : all;
}

double LengthPlan::mean(int longest, std::int64_t step) const {
  double own = longest;
  if (kind != LengthKind::fixed) {
    own = std::min(longest, least + stride * static_cast<int>(reached(longest, step) - 1));
    if (kind == LengthKind::uniform || shorter) own = (std::min(longest, least) + own) / 2;
  }
  return fill / 2.0 + (1 + shots / 2.0) * own;
}

int LengthPlan::fill_of(std::uint64_t seed, std::uint64_t index) const {
  if (fill == 0) return 0;
  pes::Random random(seed, pes::purpose("fill"), index);
  return random.below(static_cast<std::uint32_t>(fill + 1));
}

int LengthPlan::shots_of(std::uint64_t seed, std::uint64_t index) const {
  if (shots == 0) return 0;
  pes::Random random(seed, pes::purpose("shots"), index);
  return random.below(static_cast<std::uint32_t>(shots + 1));
}

std::vector<int> LengthPlan::all(int longest) const {
  if (kind == LengthKind::fixed || least >= longest) return {longest};
  std::vector<int> out;
  for (int length = least; length <= longest; length += stride) out.push_back(length);
  return out;
}

int LengthPlan::length(int longest, std::int64_t step, std::uint64_t seed,
                       std::uint64_t index) const {
  if (kind == LengthKind::fixed) return longest;
  std::int64_t chosen = reached(longest, step) - 1;
  if (kind == LengthKind::uniform || shorter) {
    pes::Random random(seed, pes::purpose("length"),
                       per_step ? static_cast<std::uint64_t>(step) : index);
    chosen = random.below(static_cast<std::uint32_t>(chosen + 1));
  }
  return std::min(longest, least + stride * static_cast<int>(chosen));
}

void Mixture::add(const Task& task, double share, bool same_alphabet) {
  if (main().info().head != PES_LM || task.info().head != PES_LM)
    fail(Exit::usage,
         "'{}' and '{}' cannot be mixed: only tasks that predict tokens can, and one of them "
         "predicts classes",
         main().text(), task.text());
  for (const Task* each : {&main(), &task})
    if (each->positions() > 0)
      fail(Exit::usage,
           "'{}' and '{}' cannot be mixed: the first gives its tokens positions of its own, which "
           "mean nothing to the other",
           each->text(), (each == &task ? main() : task).text());
  others_ += share;
  if (!(share > 0) || others_ >= 1)
    fail(Exit::usage,
         "task '{}' has no share of the examples left: the shares of the tasks mixed with it add "
         "up to {}, and must stay below 1",
         main().text(), others_);
  const std::int32_t inputs = task.info().inputs;
  const std::int32_t shift = same_alphabet ? 0 : vocabulary() - PES_FIRST_SYMBOL;
  vocabulary_ = std::max(vocabulary(), inputs + shift);
  parts_.push_back({&task, shift, others_});
  parts_.front().below = 1 - others_;
}

// The golden ratio's multiples modulo 1 fill [0, 1) evenly from any index on (Weyl 1916); in 64-bit
// integers they are exact.
std::size_t Mixture::part(std::uint64_t index) const {
  const double at = static_cast<double>((index * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
  for (std::size_t p = 1; p < parts_.size(); ++p)
    if (at < parts_[p].below) return p;
  return 0;
}

void Mixture::sample(std::size_t part, const Task::Request& r, std::span<std::int32_t> tokens,
                     std::span<std::int32_t> targets, std::span<std::int32_t> positions,
                     std::span<std::int32_t> starts) const {
  const Task& task = *parts_[part].task;
  task.sample(r, tokens, targets, {}, positions);
  if (task.separates() && !starts.empty()) task.mark_documents(tokens, starts);
  if (parts_[part].shift == 0) return;
  for (const auto ids : {tokens, targets})
    for (std::int32_t& id : ids)
      if (id >= PES_FIRST_SYMBOL) id += parts_[part].shift;
}

Batch Mixture::batch(std::size_t part, pes_split split, std::uint64_t seed, std::uint64_t first,
                     int size, int length) const {
  const auto n = static_cast<std::size_t>(length), rows = static_cast<std::size_t>(size);
  Batch b;
  b.size = size, b.length = length;
  b.tokens.resize(n * rows);
  b.targets.resize(n * rows);
  if (task(part).positions() > 0) b.positions.resize(n * rows);
  if (task(part).separates()) b.starts.resize(n * rows);
  for (std::size_t i = 0; i < rows; ++i)
    sample(part, {split, seed, first + i, length, -1, {}, 0}, row(b.tokens, i, n),
           row(b.targets, i, n), row(b.positions, i, n), row(b.starts, i, n));
  return b;
}

Scorer Mixture::scorer(std::size_t part, Model& model) const {
  const std::int32_t shift = parts_[part].shift;
  return [&model, shift](const Batch& own, const StepInfo& s) {
    if (shift == 0) return model.score(own, s);
    const auto shifted = [](std::int32_t id, std::int32_t by) {
      return id >= PES_FIRST_SYMBOL ? id + by : id;
    };
    Batch b = own;
    for (auto* ids : {&b.tokens, &b.targets})
      for (std::int32_t& id : *ids) id = shifted(id, shift);
    for (std::int32_t& id : b.candidates) id = shifted(id, shift);
    Scores scores = model.score(b, s);
    for (std::int32_t& best : scores.best)
      best = best < PES_FIRST_SYMBOL ? best : best < PES_FIRST_SYMBOL + shift ? -1 : best - shift;
    return scores;
  };
}

std::vector<Batch> Mixture::step(const LengthPlan& plan, int longest, std::int64_t step,
                                 std::uint64_t seed, std::uint64_t first, int size,
                                 std::int64_t pass_tokens, std::int64_t& tokens,
                                 const StepShare& share) const {
  const auto count = static_cast<std::size_t>(size);
  std::vector<Task::Request> requests(count);
  std::vector<int> lengths(count);  // with what stands before the examples
  for (std::size_t i = 0; i < count; ++i) {
    Task::Request& r = requests[i];
    r.split = PES_SPLIT_TRAIN, r.seed = seed, r.index = first + i;
    r.length = plan.length(longest, step, seed, r.index);
    r.fill = plan.fill_of(seed, r.index);
    r.shots = plan.shots_of(seed, r.index);
    lengths[i] = task(part(r.index)).tokens(r);
    tokens += lengths[i];
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  const auto padded = [&](int length) {
    const int up = (length + share.length_step - 1) / share.length_step * share.length_step;
    return std::max(length, std::min(up, longest));
  };
  std::vector<Batch> out;
  for (std::size_t done = 0; done < count;) {
    std::size_t end = done + 1;
    const auto fits = [&](std::size_t last) {
      return static_cast<std::int64_t>(last - done + 1) * padded(lengths[order[last]]) <=
             pass_tokens;
    };
    while (end < count && fits(end)) ++end;
    const auto n = static_cast<std::size_t>(padded(lengths[order[end - 1]])), rows = end - done;
    Batch b;
    b.size = static_cast<int>(rows), b.length = static_cast<int>(n);
    const auto at = std::exchange(done, end);
    if (out.size() % share.stride != share.first) {
      out.push_back(std::move(b));
      continue;
    }
    b.tokens.assign(n * rows, PES_PAD);
    b.targets.assign(n * rows, -1);
    if (main().positions() > 0) b.positions.resize(n * rows);
    if (separates()) b.starts.resize(n * rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const Task::Request& r = requests[order[at + i]];
      const int length = lengths[order[at + i]];
      const auto own = [&](std::vector<std::int32_t>& all) {  // without the PAD behind it
        const auto whole = row(all, i, n);
        return whole.first(std::min(whole.size(), static_cast<std::size_t>(length)));
      };
      sample(part(r.index), r, own(b.tokens), own(b.targets), own(b.positions),
             row(b.starts, i, n));
    }
    out.push_back(std::move(b));
  }
  return out;
}

}  // namespace pesuite
