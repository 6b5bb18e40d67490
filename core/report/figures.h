// The figures of a report: which there are and what they show.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "report/figure.h"
#include "report/findings.h"

namespace pesuite {

// What the answer says, of one to three tasks: the value at the training length, and the change
// from it over length, a panel a task. None where tasks are more, or nothing was asked about
// length.
std::vector<Figure> answer_figures(const RunData&);
// How far each encoding keeps what it has at the training length.
std::vector<Figure> effective_figures(const RunData&, const TaskData&);
// What is lost or right at the longest length against tokens per second in training, a figure a
// task.
std::vector<Figure> cost_figures(const RunData&);
// Perplexity, and regret where the optimum is known, against length; one of each a protocol.
std::vector<Figure> length_figures(const RunData&, const TaskData&, const std::string& protocol);
// Nats or regret by tokens of context at the longest length; none where the protocol gives all
// targets about the same context.
std::vector<Figure> position_figures(const RunData&, const TaskData&, const std::string& protocol);
// Of tokens that must be recalled: regret or error by how far back that stands which they hang on.
std::vector<Figure> recall_figures(const RunData&, const TaskData&);
// Validation nats, or accuracy of problems, against training steps.
std::vector<Figure> curve_figures(const RunData&, const TaskData&);
// Accuracy of problems by setting.
std::vector<Figure> accuracy_figures(const RunData&, const TaskData&);
// Exact match, accuracy and ranking of candidates, those that are recorded, by length and by each
// axis of at least three values, a panel an encoding.
std::vector<Figure> map_figures(const RunData&, const TaskData&);
// Every seed's accuracy at every length, from three seeds on.
std::vector<Figure> strip_figures(const RunData&, const TaskData&);
// Attention maps of the first seed that has any.
std::vector<Figure> attention_figures(const RunData&, const TaskData&);
// Training length against evaluation length, where tasks differ in the training length alone.
std::vector<Figure> ladder_figures(const RunData&);
// Mean ranks with the critical difference; performance profiles.
std::vector<Figure> across_figures(const RunData&, const Across&);

}  // namespace pesuite
