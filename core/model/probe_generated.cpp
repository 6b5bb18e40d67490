// Answers that a model writes itself, token by token behind a cache, where an evaluation shows it
// the right beginning of each.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "model/cache.h"
#include "model/probes.h"

namespace pesuite {

namespace {

using Places = std::vector<std::size_t>;  // of a row's scored tokens

Places scored_places(std::span<const std::int32_t> targets) {
  Places out;
  for (std::size_t t = 0; t < targets.size(); ++t)
    if (targets[t] >= 0) out.push_back(t);
  return out;
}

// -log softmax(logits)[target]
double nats_of(std::span<const double> logits, std::int32_t target) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - top);
  return top + std::log(sum) - logits[static_cast<std::size_t>(target)];
}

// Rows of a batch whose answers stand at the same places, side by side behind one cache.
void write_answers(Model& model, const Batch& b, const Places& places,
                   const std::vector<std::size_t>& rows, Scores& out) {
  const auto length = static_cast<std::size_t>(b.length);
  Cache cache(model, static_cast<int>(rows.size()), b.length);
  std::vector<std::int32_t> written(rows.size(), -1);  // at the place before `read`; -1: given
  std::size_t read = 0;
  for (const std::size_t place : places) {
    std::vector<std::int32_t> tokens;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t t = read; t <= place; ++t)
        tokens.push_back(t == read && written[r] >= 0 ? written[r]
                                                      : b.tokens[rows[r] * length + t]);
    const std::vector<double> logits = model.read(cache, tokens);
    const std::size_t classes = logits.size() / rows.size();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto of = std::span(logits).subspan(r * classes, classes);
      const std::size_t at = rows[r] * length + place;
      written[r] = static_cast<std::int32_t>(std::max_element(of.begin(), of.end()) - of.begin());
      out.place.push_back(static_cast<std::int64_t>(at));
      out.best.push_back(written[r]);
      out.nats.push_back(nats_of(of, b.targets[at]));
    }
    read = place + 1;
  }
}

}  // namespace

std::string refuses_generation(bool corpus, bool answers_in_tokens, bool has_positions) {
  const char* why = corpus               ? "is a corpus, which has no answers"
                    : !answers_in_tokens ? "is answered by classes"
                    : has_positions      ? "gives tokens positions of its own"
                                         : nullptr;
  if (why == nullptr) return {};
  return fmt::format(
      "probe 'generated': the task {}; it wants a problem that is answered in tokens, such as "
      "passkey or niah",
      why);
}

Scorer generated(Model& model, const Task& task) {
  const std::string why =
      refuses_generation(task.is_corpus(), task.info().head == PES_LM, task.positions() > 0);
  if (!why.empty()) fail(Exit::usage, "{}", why);
  return [&model](const Batch& b, const StepInfo&) {
    std::map<Places, std::vector<std::size_t>> by_places;
    const auto n = static_cast<std::size_t>(b.length);
    for (std::size_t r = 0; r < static_cast<std::size_t>(b.size); ++r)
      by_places[scored_places(std::span(b.targets).subspan(r * n, n))].push_back(r);
    Scores out;
    for (const auto& [places, rows] : by_places) write_answers(model, b, places, rows, out);
    return out;
  };
}

}  // namespace pesuite
