// A task of a plugin, created with options for one use.
#pragma once

#include <pesuite/pesuite.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "encoding/expression.h"
#include "plugin/library.h"

namespace pesuite {

struct Axis {
  std::string name, unit, help;
  std::vector<double> values;
  std::vector<std::string> labels;  // as many as values
  int trained = 0;                  // the first ones, which occur in training
};

class Task {
 public:
  // Error (plugin, usage) when there is no such task or it refuses the options. Lengths in tokens;
  // `reach`: of a corpus's documents, what evaluation windows reach; 0: max_length.
  Task(const Catalog&, const Expression&, std::int32_t train_length, std::int32_t max_length,
       std::int32_t reach = 0);
  Task(Task&&) noexcept;
  Task& operator=(Task&&) noexcept;
  ~Task();

  const pes_card& card() const { return *task_->card; }
  const pes_task_created& info() const { return created_; }
  const std::string& text() const { return text_; }  // name with its non-default options
  const std::vector<Axis>& axes() const { return axes_; }
  bool is_corpus() const { return created_.document > 0; }
  bool is_text() const { return created_.token_bytes != nullptr; }  // no id is PAD or FILL
  const std::vector<std::int32_t>& candidates() const { return candidates_; }  // possible answers
  bool ranks(std::int32_t target) const {                                      // is it one of them?
    return std::find(candidates_.begin(), candidates_.end(), target) != candidates_.end();
  }

  struct Request {
    pes_split split = PES_SPLIT_TRAIN;
    std::uint64_t seed = 0, index = 0;
    std::int32_t length = 0;
    std::int64_t start = -1;        // corpora; -1: drawn
    std::vector<double> axes;       // empty: all drawn
    std::int32_t fill = 0;          // FILL tokens before the example, beside its length
    std::int32_t shots = 0;         // solved training examples behind FILL and before the example
    std::int32_t first_scored = 0;  // corpora: targets before this place do not count
  };
  // Tokens that a request takes. Those of a solved example are at most the training length.
  std::int32_t tokens(const Request& r) const {
    return r.fill + r.shots * std::min(r.length, train_length_) + r.length;
  }
  // Fills tokens and targets, one of each of tokens(request), and optimum, positions and distances
  // where they are not empty. Error (data) when the task says that there is no such example, or
  // breaks its promises.
  void sample(const Request&, std::span<std::int32_t> tokens, std::span<std::int32_t> targets,
              std::span<double> optimum = {}, std::span<std::int32_t> positions = {},
              std::span<std::int32_t> distances = {}) const;
  // Why FILL cannot stand before its examples of this length, as the end of a sentence; "": it can.
  std::string refuses_fill(std::int32_t length) const;
  // Why solved examples cannot, likewise.
  std::string refuses_shots(std::int32_t length) const;
  // Tokens stand where the task says, at 0 .. positions() - 1; 0: at their places.
  std::int32_t positions() const { return created_.positions; }
  // Whether tokens see their own document alone; then mark_documents() says where, in a row of
  // tokens, that of each begins; `starts` may go on behind the last one.
  bool separates() const { return created_.separated != 0; }
  void mark_documents(std::span<const std::int32_t> tokens, std::span<std::int32_t> starts) const;
  bool has_oracle() const { return task_->oracle != nullptr; }
  void oracle(std::span<const std::int32_t> tokens, std::span<std::int32_t> targets) const;
  double chance(std::int32_t length) const;  // NaN where unknown
  struct Chance {
    double accuracy, exact;  // of targets, of whole examples; NaN where unknown
  };
  Chance chance(const Request&) const;         // at its length and axes
  bool has_chance_at() const;                  // does it know more than chance(length)?
  double distinct(std::int32_t length) const;  // log10; NaN where unknown
  bool has_predict() const;                    // is the law of its targets known?
  // Nats of every possible target at each token from `start` on, of a document's beginning or an
  // example: nats is [tokens - start, outputs]. Infinite where a target cannot come.
  void predict(std::span<const std::int32_t> tokens, std::int32_t start,
               std::span<double> nats) const;

 private:
  template <class F>
  auto with(const Request&, F body) const;
  std::vector<std::int32_t> solved(Request) const;
  void require_length(const Request&) const;
  // FILL and solved examples; the number of their tokens.
  std::size_t put_before(const Request&, std::span<std::int32_t> tokens) const;

  const pes_task* task_;
  pes_task_created created_{};
  std::string text_;
  std::vector<Axis> axes_;
  std::vector<double> drawn_;  // values of axes that say so
  std::vector<std::int32_t> candidates_;
  std::int32_t train_length_, max_length_;
};

}  // namespace pesuite
