// Whether a task's examples follow the law that it predicts.
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

// Compares the optimum of examples 0 .. count-1 as `request` describes them with Task::predict. Of
// corpora: documents from their beginning, and their second halves as windows alone. The latter
// count for `wrong` only: their reader may know less than can be known.
LawFinding examine_law(const Task&, Task::Request request, std::size_t count);

}  // namespace pesuite
