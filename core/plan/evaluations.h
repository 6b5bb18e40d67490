// What the [[eval]] entries of a suite ask for, in tokens and values.
#pragma once

#include "model/evaluate.h"
#include "plan/facts.h"

namespace pesuite {

// Lengths or other extents, "96" or "2x" of the training length, ascending and each once. Error
// (usage), the end of a sentence, for other text.
std::vector<int> in_tokens(const std::vector<std::string>& texts, int train_length, int least = 1);
// What stands before the examples: FILL tokens, as numbers or multiples as lengths are, and solved
// examples. Ascending; 0 alone where nothing is asked for. Error (usage) for what is no number.
std::vector<int> fills(const EvalSettings&, int train_length);
std::vector<int> shots(const EvalSettings&);

// Error (usage) for an axis or a value that the task does not have.
EvalConfig eval_config(const EvalSettings&, const std::vector<int>& lengths, int train_length,
                       const TaskFacts&);

// Those of the lengths at which the task has an example at every point of the axes: who asks for
// 1..20 does not say that it has. All of them for corpora.
std::vector<int> lengths_with_examples(const Task&, const EvalConfig&);
// Error, by the task, where it lacks one.
void check_examples(const Task&, const EvalConfig&);

// Error (usage) for a probe of answers that the task does not give.
void check_answers(const EvalSettings&, const TaskFacts&);
// Adds each probe of an entry at each length. `e` is what they have in common, `longest` the
// longest sequence of the suite. Error (usage) for one that fits none of the lengths.
void add_probes(std::vector<CellEval>&, const EvalSettings&, const std::vector<int>& lengths,
                const ModelConfig&, int longest, CellEval e);

}  // namespace pesuite
