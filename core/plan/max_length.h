// Which encodings and tasks are others where longer sequences are to come: those with a table or an
// alphabet for the longest, or a factor that follows from it. The interface does not say, so both
// are made for two lengths and compared.
#pragma once

#include "encoding/composition.h"
#include "model/task.h"

namespace pesuite {

// `longest` is that of `shape`; `least` another that would do for training.
bool hangs_on_max_length(const Catalog&, const Sum&, ModelShape shape, int least);
bool hangs_on_max_length(const Catalog&, const Expression& task, int train_length, int longest,
                         int least, int reach);

}  // namespace pesuite
