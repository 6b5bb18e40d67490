// Metrics of one cell that follow from its records over several lengths: use of context,
// extrapolation ratio, effective length, area under the length curve. Definitions:
// docs/statistics.md.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_data.h"

namespace pesuite {

// An accuracy on the scale where chance is 0 and all right is 1, cut at -0.1 and 1.
double above_chance(double accuracy, double chance);

// A cell's score at each length: regret (nats where no optimum is known) under a protocol, or
// accuracy, the mean over settings. Lengths where it has none are absent.
struct LengthCurve {
  struct Point {
    int length = 0;
    double score = 0, chance = 0;  // chance of accuracies at this length, of nats 0
    bool unseen = false;           // training had no examples of this length
  };
  bool lower_is_better = false;
  std::vector<Point> points;  // ascending lengths from the training length on
};
LengthCurve length_curve(const TaskData&, const CellData&, const std::string& protocol);

// U = (nats(short) - nats(long)) / (optimum(short) - optimum(long)): 1 uses all that the longer
// context offers, 0 nothing, below 0 is hurt by it. NaN where the optimum gains less than 0.005
// nats, or nothing is known. For protocols with the same targets at every length; elsewhere a loss
// that falls may say no more than that fewer tokens stand at the start of a window.
double context_use(const TaskData&, const CellData&, const std::string& protocol, int longer);
// exp(nats(length) - nats(training length)).
double extrapolation_ratio(const TaskData&, const CellData&, const std::string& protocol,
                           int length);

// The longest length up to which every length evaluated is at or above `accuracy`, or at most
// `slack` nats above the score at the training length; 0: not even that one.
int effective_length(const LengthCurve&, const LengthSettings& = {});
// The smallest length, in training lengths, whose accuracy above the chance of that length is below
// half of that at the training length; infinite where none is, NaN for curves of nats and where
// chance is not known.
double half_life(const LengthCurve&, int train_length);
// Mean of the score over the lengths, from the training length to the longest. By `log2`: over
// log2(length), by trapezia. By other weights: the weighted mean of the lengths evaluated, where
// own numbers go on with their last.
double area_under_curve(const LengthCurve&, const LengthSettings& = {});
// Mean of the score over the lengths that training never had, each counting the same; NaN where
// there is none (Deletang et al. 2022, arXiv:2207.02098, score so over lengths 41 to 500).
double mean_over_unseen(const LengthCurve&);

}  // namespace pesuite
