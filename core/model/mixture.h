// What a model is trained on: a task, or several in fixed shares, and how long its examples are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/evaluate.h"
#include "model/model.h"
#include "model/task.h"

namespace pesuite {

enum class LengthKind { fixed, uniform, growing };
const char* length_kind_name(LengthKind);

// Lengths of training examples: least, least + stride, ... up to the training length.
struct LengthPlan {
  LengthKind kind = LengthKind::fixed;  // fixed: the training length, and nothing below matters
  int least = 1, stride = 1;            // tokens
  std::int64_t over = 0;                // growing: steps until the training length is reached
  bool shorter = true;    // growing: lengths below the one that is reached are drawn too
  bool per_step = false;  // one length for all examples of a step, instead of one for each
  int fill = 0;           // of any kind: 0 to so many FILL tokens stand before each example
  int shots = 0;          // of any kind: 0 to so many solved examples do, of its length
  bool operator==(const LengthPlan&) const = default;

  // Tokens of training example `index` in `step`; follows from the arguments alone.
  int length(int longest, std::int64_t step, std::uint64_t seed, std::uint64_t index) const;
  // FILL tokens, and solved examples, before training example `index`.
  int fill_of(std::uint64_t seed, std::uint64_t index) const;
  int shots_of(std::uint64_t seed, std::uint64_t index) const;
  bool varies() const { return kind != LengthKind::fixed || fill > 0 || shots > 0; }
  // Tokens of an example with what stands before it, expected over examples.
  double mean(int longest, std::int64_t step) const;
  std::vector<int> all(int longest) const;  // ascending, at least one

 private:
  std::int64_t reached(int longest, std::int64_t step) const;  // how many of them, in this step
};

// What one process makes of the passes of a training step.
struct StepShare {
  int length_step = 1;                // batches are as long as a multiple of it
  std::size_t first = 0, stride = 1;  // the passes that are its own
};

// Tasks in fixed shares. Which one an example is of follows from its index alone, and any stretch
// of the indices holds each task by its share, to within an example or so.
class Mixture {
 public:
  Mixture(const Task& main) : parts_{{&main, 0, 1}} {}  // NOLINT: a task is a mixture of one

  // Gives `share` (0 to 1) of the examples to another task. Its symbols are those of the main task
  // (`same_alphabet`), or follow behind all others; the shared ids below PES_FIRST_SYMBOL stay.
  // Error (usage) unless all predict tokens and the main task keeps a share. Tasks are on loan.
  void add(const Task&, double share, bool same_alphabet);

  const Task& main() const { return *parts_.front().task; }
  std::size_t parts() const { return parts_.size(); }
  const Task& task(std::size_t part) const { return *parts_[part].task; }
  std::int32_t vocabulary() const { return vocabulary_ > 0 ? vocabulary_ : main().info().inputs; }
  bool separates() const {  // whether examples of any part do
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& p) { return p.task->separates(); });
  }
  std::size_t part(std::uint64_t index) const;  // of training example `index`; 0: the main task

  // An example of a part, in the mixture's alphabet.
  void sample(std::size_t part, const Task::Request&, std::span<std::int32_t> tokens,
              std::span<std::int32_t> targets, std::span<std::int32_t> positions = {},
              std::span<std::int32_t> starts = {}) const;
  // Examples first .. first + size - 1 of a part and split, axes drawn as in training.
  Batch batch(std::size_t part, pes_split, std::uint64_t seed, std::uint64_t first, int size,
              int length) const;
  // A model of the mixture in a part's own alphabet; an answer in another part's symbols is none of
  // its classes. The model is on loan.
  Scorer scorer(std::size_t part, Model&) const;

  // The training examples of a step in batches of at most `pass_tokens` tokens (or one example),
  // shortest first, so that little is padded; PAD follows the shorter ones of a batch and is never
  // scored. `tokens` grows by those of the examples, without PAD. Batches are as long as
  // a multiple of `length_step`, or as `longest`. Those of others have a size and a length alone.
  std::vector<Batch> step(const LengthPlan&, int longest, std::int64_t step, std::uint64_t seed,
                          std::uint64_t first, int size, std::int64_t pass_tokens,
                          std::int64_t& tokens, const StepShare& = {}) const;

 private:
  struct Part {
    const Task* task;
    std::int32_t shift;  // of its symbols
    double below;        // the main task's share, or its own and those added before
  };
  std::vector<Part> parts_;
  std::int32_t vocabulary_ = 0;  // 0: the main task's
  double others_ = 0;            // shares of the added ones
};

}  // namespace pesuite
