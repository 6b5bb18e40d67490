// Whether what a task predicts is the law that its examples follow.
#pragma once

#include <cstddef>
#include <string>

#include "model/task.h"

namespace pesuite {

struct LawFinding {
  std::string
      wrong;  // a sentence, or "": each row is a law, the optimum what it says of the target
  // Nats that examples cost beyond the entropy of their rows, a target, with the standard error
  // over examples: 0 within it, if they follow the law.
  double excess = 0, standard_error = 0;
  bool follows() const;  // within 3 standard errors
};

// Compares the optimum of examples 0 .. count-1 as `request` describes them with Task::predict: of
// corpora of documents from their beginning, and of their second halves as windows without the
// first, which count for `wrong` only: their reader may start from less than can be known.
LawFinding examine_law(const Task&, Task::Request request, std::size_t count);

}  // namespace pesuite
