// Evaluation of a corpus: nats of documents under a protocol.
#pragma once

#include <functional>
#include <vector>

#include "model/evaluate.h"

namespace pesuite {

// Of all targets that count, then by tokens of context and by what must be recalled.
void evaluate_corpus(const Scorer&, const Task&, const EvalConfig&, const Protocol&, int length,
                     std::uint64_t seed, std::int64_t steps,
                     const std::function<void(double)>& progress, std::vector<Observation>& out);

}  // namespace pesuite
