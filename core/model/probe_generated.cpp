// Answers that a model writes itself, token by token behind a cache, where an evaluation shows it
// the right beginning of each.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

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
class Answers {
 public:
  Answers(Model& model, const Batch& b, Places places, std::vector<std::size_t> rows)
      : batch_(b),
        places_(std::move(places)),
        rows_(std::move(rows)),
        written_(rows_.size(), -1),
        cache_(std::make_unique<Cache>(model, static_cast<int>(rows_.size()), b.length)) {}

  Cache& cache() const { return *cache_; }
  bool done() const { return next_ == places_.size(); }
  // Of each row, those before the next answer that the cache does not hold.
  std::vector<std::int32_t> unread() const {
    std::vector<std::int32_t> tokens;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t t = read_; t <= places_[next_]; ++t)
        tokens.push_back(t == read_ && written_[r] >= 0 ? written_[r] : batch_.tokens[at(r, t)]);
    return tokens;
  }
  // From logits of what was unread.
  void write(std::span<const double> logits, Scores& out) {
    const std::size_t classes = logits.size() / rows_.size();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto of = logits.subspan(r * classes, classes);
      const std::size_t place = at(r, places_[next_]);
      written_[r] = static_cast<std::int32_t>(std::max_element(of.begin(), of.end()) - of.begin());
      out.place.push_back(static_cast<std::int64_t>(place));
      out.best.push_back(written_[r]);
      out.nats.push_back(nats_of(of, batch_.targets[place]));
    }
    read_ = places_[next_++] + 1;
  }
  std::size_t rows() const { return rows_.size(); }

 private:
  std::size_t at(std::size_t row, std::size_t t) const {
    return rows_[row] * static_cast<std::size_t>(batch_.length) + t;
  }

  const Batch& batch_;
  Places places_;
  std::vector<std::size_t> rows_;
  std::vector<std::int32_t> written_;  // the latest of each row; -1: none
  std::size_t next_ = 0, read_ = 0;    // place of an answer, and tokens that the cache holds
  std::unique_ptr<Cache> cache_;
};

// One more token of each: what only the latest answer separates from the next is read at once.
void write_next(Model& model, std::vector<Answers>& all, Scores& out) {
  std::vector<Answers*> together;
  std::vector<Cache*> caches;
  std::vector<std::int32_t> tokens;
  for (Answers& a : all) {
    if (a.done()) continue;
    const std::vector<std::int32_t> unread = a.unread();
    if (a.cache().length() == 0 || unread.size() > a.rows()) {
      a.write(model.read(a.cache(), unread), out);
      continue;
    }
    together.push_back(&a);
    caches.push_back(&a.cache());
    tokens.insert(tokens.end(), unread.begin(), unread.end());
  }
  if (together.empty()) return;
  const std::vector<double> logits = model.read(caches, tokens);
  const std::size_t classes = logits.size() / tokens.size();
  std::size_t row = 0;
  for (Answers* a : together) {
    a->write(std::span(logits).subspan(row * classes, a->rows() * classes), out);
    row += a->rows();
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
    std::vector<Answers> all;
    for (const auto& [places, rows] : by_places) all.emplace_back(model, b, places, rows);
    Scores out;
    while (!std::ranges::all_of(all, &Answers::done)) write_next(model, all, out);
    return out;
  };
}

}  // namespace pesuite
