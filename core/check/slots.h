// Whether what a hook left has the shape that was wanted, and what is usually behind it where not.
#pragma once

#include <string>

#include "encoding/encoding.h"

namespace pesuite::checks {

// A clause such as "it left the slot bias [7, 7, 4], which does not broadcast to [2, 4, 7, 7]; axes
// 0 and 2 are swapped"; "" where all slots fit. `batch` and `length` are those of the step.
std::string misfit(Tape&, const ModelShape&, int batch, int length, const Attention&);
// The same of the embedding that embed() returned.
std::string misfit(const Shape& embedding, const Shape& wanted);

}  // namespace pesuite::checks
