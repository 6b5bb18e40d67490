#include "model/task.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "pesuite/random.hpp"

namespace pesuite {

Task::Task(const Catalog& catalog, const Expression& e, std::int32_t train_length,
           std::int32_t max_length, std::int32_t reach)
    : task_(catalog.task(e.name).descriptor), train_length_(train_length), max_length_(max_length) {
  const std::string what = fmt::format("task '{}'", e.name);
  const std::vector<std::string> values = resolve_options(card(), e.options, what);
  text_ = expression_text(card(), values);
  std::vector<const char*> pointers;
  for (const std::string& v : values) pointers.push_back(v.c_str());
  const pes_use use{sizeof(pes_use), train_length, max_length, std::max(reach, max_length)};
  created_.size = sizeof(created_);
  char error[PES_ERROR_SIZE] = "no reason given";
  if (!task_->create(&use, pointers.data(), &created_, error))
    fail(Exit::data, "{}: {}", what, error);
  try {
    if (created_.inputs < 1 || created_.outputs < 1 ||
        (created_.head == PES_LM && created_.inputs != created_.outputs))
      fail(Exit::plugin, "{} declares {} inputs and {} outputs, which cannot be", what,
           created_.inputs, created_.outputs);
    if (created_.candidates < 0 || created_.candidate_first < 0 ||
        (created_.candidate_tokens == nullptr &&
         created_.candidate_first > created_.outputs - created_.candidates) ||
        (created_.candidates > 0 && created_.head != PES_LM))
      fail(Exit::plugin, "{} declares {} candidates from token {}, which are not in its alphabet",
           what, created_.candidates, created_.candidate_first);
    for (std::int32_t c = 0; c < created_.candidates; ++c)
      candidates_.push_back(created_.candidate_tokens != nullptr ? created_.candidate_tokens[c]
                                                                 : created_.candidate_first + c);
    std::set<std::int32_t> distinct(candidates_.begin(), candidates_.end());
    if (!distinct.empty() && (distinct.size() != candidates_.size() || *distinct.begin() < 0 ||
                              *distinct.rbegin() >= created_.outputs))
      fail(Exit::plugin, "{} declares candidates that are not in its alphabet, or one twice", what);
    if (created_.separated != 0 && (created_.head != PES_LM || created_.separator < 0 ||
                                    created_.separator >= created_.inputs))
      fail(Exit::plugin,
           "{} declares that documents begin at token {}, which is not in its alphabet", what,
           created_.separator);
    if (created_.positions < 0)
      fail(Exit::plugin, "{} declares {} positions", what, created_.positions);
    if (created_.axes != nullptr)
      for (const pes_axis* const* a = created_.axes; *a != nullptr; ++a) {
        Axis axis{(*a)->name,   (*a)->unit ? (*a)->unit : "", (*a)->help ? (*a)->help : "", {}, {},
                  (*a)->trained};
        for (int i = 0; i < (*a)->count; ++i) {
          axis.values.push_back((*a)->values[i]);
          axis.labels.push_back((*a)->labels ? (*a)->labels[i]
                                             : fmt::format("{}", (*a)->values[i]));
        }
        axes_.push_back(std::move(axis));
      }
    drawn_.assign(axes_.size(), std::nan(""));
  } catch (...) {
    task_->destroy(created_.self);
    throw;
  }
}

Task::Task(Task&& o) noexcept
    : task_(o.task_),
      created_(std::exchange(o.created_, {})),
      text_(std::move(o.text_)),
      axes_(std::move(o.axes_)),
      drawn_(std::move(o.drawn_)),
      candidates_(std::move(o.candidates_)),
      train_length_(o.train_length_),
      max_length_(o.max_length_) {}
Task& Task::operator=(Task&& o) noexcept {
  std::swap(task_, o.task_);
  std::swap(created_, o.created_);
  std::swap(text_, o.text_);
  std::swap(axes_, o.axes_);
  std::swap(drawn_, o.drawn_);
  std::swap(candidates_, o.candidates_);
  std::swap(train_length_, o.train_length_);
  std::swap(max_length_, o.max_length_);
  return *this;
}
Task::~Task() {
  if (created_.self != nullptr) task_->destroy(created_.self);
}

template <class F>  // F: of a pes_request
auto Task::with(const Request& r, F body) const {
  PES_CHECK(r.axes.empty() || r.axes.size() == axes_.size());
  const double* axes = r.axes.empty() ? drawn_.data() : r.axes.data();
  const pes_request request{sizeof(pes_request), r.split, r.seed, r.index, r.length, r.start, axes};
  return body(request);
}

void Task::require_length(const Request& r) const {
  if (r.length > max_length_ && created_.document == 0)  // pes_use promises that none is longer
    fail(Exit::data, "task '{}', example {} of length {}: it was made for lengths up to {}", text_,
         r.index, r.length, max_length_);
}

void Task::mark_documents(std::span<const std::int32_t> tokens,
                          std::span<std::int32_t> starts) const {
  std::int32_t start = 0;
  for (std::size_t t = 0; t < starts.size(); ++t) {
    if (t < tokens.size() && tokens[t] == created_.separator) start = static_cast<std::int32_t>(t);
    starts[t] = start;
  }
}

std::size_t Task::put_before(const Request& r, std::span<std::int32_t> tokens) const {
  std::fill_n(tokens.begin(), r.fill, std::int32_t{PES_FILL});
  auto at = static_cast<std::size_t>(r.fill);
  Request shot = r;
  shot.split = PES_SPLIT_TRAIN, shot.length = std::min(r.length, train_length_);
  for (shot.shots = 1; shot.shots <= r.shots; ++shot.shots) {
    const std::vector<std::int32_t> text = solved(shot);
    std::copy(text.begin(), text.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at));
    at += text.size();
  }
  return at;
}

void Task::sample(const Request& r, std::span<std::int32_t> tokens, std::span<std::int32_t> targets,
                  std::span<double> optimum, std::span<std::int32_t> positions,
                  std::span<std::int32_t> distances) const {
  require_length(r);
  PES_CHECK(tokens.size() == static_cast<std::size_t>(this->tokens(r)) && r.fill >= 0 &&
            r.shots >= 0 && targets.size() == tokens.size());
  std::fill(distances.begin(), distances.end(), -1);
  if (r.fill > 0 || r.shots > 0) {
    PES_CHECK(positions.empty());
    std::fill(targets.begin(), targets.end(), -1);
    std::fill(optimum.begin(), optimum.end(), std::nan(""));
    const std::size_t at = put_before(r, tokens);
    const auto length = static_cast<std::size_t>(r.length);
    std::fill(tokens.begin() + static_cast<std::ptrdiff_t>(at + length), tokens.end(), PES_PAD);
    tokens = tokens.subspan(at, length), targets = targets.subspan(at, length);
    if (!optimum.empty()) optimum = optimum.subspan(at, length);
    if (!distances.empty()) distances = distances.subspan(at, length);
  }
  pes_example example{sizeof(pes_example),
                      tokens.data(),
                      targets.data(),
                      optimum.empty() ? nullptr : optimum.data(),
                      positions.empty() ? nullptr : positions.data(),
                      distances.empty() ? nullptr : distances.data()};
  char error[PES_ERROR_SIZE] = "no reason given";
  const bool made = with(r, [&](const pes_request& request) {
    return task_->sample(created_.self, &request, &example, error);
  });
  if (!made)
    fail(Exit::data, "task '{}', example {} of length {}: {}", text_, r.index, r.length, error);
  for (std::size_t t = 0; t < tokens.size(); ++t)
    if (tokens[t] < 0 || tokens[t] >= created_.inputs || targets[t] < -1 ||
        targets[t] >= created_.outputs)
      fail(Exit::plugin,
           "task '{}', example {} of length {}: token {} or target {} at position {} is outside "
           "its alphabet",
           text_, r.index, r.length, tokens[t], targets[t], t);
  for (std::size_t t = 0; t < positions.size(); ++t)
    if (positions[t] < 0 || positions[t] >= created_.positions)
      fail(
          Exit::plugin,
          "task '{}', example {} of length {}: token {} stands at {}, and the task's positions are "
          "0 to {}",
          text_, r.index, r.length, t, positions[t], created_.positions - 1);
  for (std::size_t t = 0; t < distances.size(); ++t)
    if (distances[t] < -1 || distances[t] > static_cast<std::int32_t>(t) + 1 ||
        (targets[t] < 0 && distances[t] >= 0))
      fail(
          Exit::plugin,
          "task '{}', example {} of length {}: the target at position {}, {}, hangs on what stands "
          "{} tokens before it, which cannot be",
          text_, r.index, r.length, t, targets[t], distances[t]);
}

// The tokens of solved example number `shots` before the example in question, without PAD.
std::vector<std::int32_t> Task::solved(Request r) const {
  r.index =
      pes::mix64(pes::mix64(r.index, pes::hash64("shot")), static_cast<std::uint64_t>(r.shots));
  r.fill = r.shots = 0;
  r.axes.clear();  // as training draws them
  const auto n = static_cast<std::size_t>(r.length);
  std::vector<std::int32_t> tokens(n), targets(n);
  sample(r, tokens, targets);
  for (std::size_t t = 0; t + 1 < n; ++t)
    if (targets[t] >= 0 && targets[t] != tokens[t + 1])
      fail(Exit::data, "task '{}': its examples do not hold their answers, so none can be shown",
           text_);
  while (!is_text() && !tokens.empty() && tokens.back() == PES_PAD) tokens.pop_back();
  return tokens;
}

std::string Task::refuses_shots(std::int32_t length) const {
  if (created_.head != PES_LM) return "answers with classes, which no example can show";
  if (!is_text() || is_corpus() || positions() > 0)  // text needs no PAD to be cut
    if (std::string why = refuses_fill(length); !why.empty()) return why;
  Request r;
  r.length = length;
  try {
    for (r.shots = 1; r.shots <= 8; ++r.shots) solved(r);
  } catch (const Error&) {
    return "has examples that do not hold their answers";
  }
  return "";
}

std::string Task::refuses_fill(std::int32_t length) const {
  if (is_corpus()) return "is a corpus, whose documents go on beyond any length";
  if (positions() > 0) return "gives its tokens positions of its own";
  if (is_text()) return "is text, which has neither FILL nor PAD";
  // a task that uses no shared ids says so nowhere, but uses those that are reserved
  std::vector<std::int32_t> tokens(length), targets(length);
  Request r;
  r.length = length;
  for (; r.index < 8; ++r.index) {
    sample(r, tokens, targets);
    for (const std::int32_t id : tokens)
      if (id > PES_FILL && id < PES_FIRST_SYMBOL)
        return "has symbols of its own in place of FILL and PAD";
  }
  return created_.inputs > PES_FILL ? "" : "has no FILL in its alphabet";
}

void Task::oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const {
  PES_CHECK(has_oracle());
  task_->oracle(created_.self, tokens.data(), static_cast<std::int32_t>(tokens.size()),
                targets.data());
}
double Task::chance(std::int32_t length) const {
  return task_->chance == nullptr ? std::nan("") : task_->chance(created_.self, length);
}
bool Task::has_chance_at() const {
  return PES_HAS(task_, chance_at) && task_->chance_at != nullptr;
}
Task::Chance Task::chance(const Request& r) const {
  if (!has_chance_at()) return {chance(r.length), std::nan("")};
  return with(r, [&](const pes_request& request) {
    Chance c{std::nan(""), std::nan("")};
    task_->chance_at(created_.self, &request, &c.accuracy, &c.exact);
    return c;
  });
}
double Task::distinct(std::int32_t length) const {
  return !PES_HAS(task_, distinct) || task_->distinct == nullptr
             ? std::nan("")
             : task_->distinct(created_.self, length);
}
bool Task::has_predict() const {
  return PES_HAS(task_, predict) && task_->predict != nullptr;
}
void Task::predict(std::span<const std::int32_t> tokens, std::int32_t start,
                   std::span<double> nats) const {
  const auto length = static_cast<std::int32_t>(tokens.size());
  PES_CHECK(has_predict() && start >= 0 && start <= length &&
            std::ssize(nats) == std::ptrdiff_t{length - start} * created_.outputs);
  task_->predict(created_.self, tokens.data(), length, start, nats.data());
}

}  // namespace pesuite
