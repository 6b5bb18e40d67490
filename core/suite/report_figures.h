// The figures of a report: which there are and what they show.
#pragma once

#include <string>
#include <vector>

#include "suite/figure.h"
#include "suite/report_data.h"

namespace pesuite {

// Perplexity, and regret where the optimum is known, against length; one of each a protocol.
std::vector<Figure> length_figures(const RunData&, const TaskData&, const std::string& protocol);
// Nats or regret by tokens of context at the longest length; none where the protocol gives all
// targets about the same context.
std::vector<Figure> position_figures(const RunData&, const TaskData&, const std::string& protocol);
// Validation nats, or accuracy of problems, against training steps.
std::vector<Figure> curve_figures(const RunData&, const TaskData&);
// Accuracy of problems by setting.
std::vector<Figure> accuracy_figures(const RunData&, const TaskData&);

}  // namespace pesuite
