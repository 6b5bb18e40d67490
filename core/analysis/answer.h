// What a run answers: which encoding keeps what it had at the training length, and to which length.
#pragma once

#include <vector>

#include "analysis/contest.h"

namespace pesuite {

enum class LengthVerdict {
  holds,         // no loss that matters is shown at every length up to `length`
  fails,         // a loss that matters is shown from `length` on
  undecided,     // neither; `needed` seeds would decide with 80 % power
  inapplicable,  // not learned at the training length
  untested       // too few seeds, or seeds that do not differ
};

struct LengthChange {  // from the training length to a longer one
  int length = 0;
  std::vector<double> seeds;   // loss: rise of nats, or fall of accuracy; may be infinite
  double mean = Number::none;  // of `seeds`
  // One-sided, that the loss lies on this side of what matters: of this test alone, and after Holm.
  double alone = Number::none, p = Number::none;
};

struct LengthAnswer {
  std::size_t encoding = 0;
  Learned learned = Learned::unknown;
  double start = Number::none, end = Number::none;  // mean at the training and the longest length
  std::vector<LengthChange> changes;                // by ascending length
  LengthVerdict verdict = LengthVerdict::untested;
  int length = 0;          // see LengthVerdict
  std::size_t needed = 0;  // 0: not known
  bool within = false;     // no seed lost what matters at any length

  double loss() const { return changes.back().mean; }  // at the longest length
};

struct TaskAnswer {
  const TaskData* task = nullptr;
  Ground ground;                        // at the longest length
  std::vector<int> lengths;             // beyond the training length
  std::vector<LengthAnswer> encodings;  // by verdict, then by loss at the longest length
  bool at_chance = false;               // of every encoding at the longest length
};

// The paired t of each encoding, Holm over lengths and encodings. No encodings
// where the task was not evaluated both at its training length and beyond.
TaskAnswer answer_of(const TaskData&);

}  // namespace pesuite
