// Verdicts on the hypotheses of a run, from its records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_data.h"
#include "base/json.h"
#include "suite/hypothesis.h"

namespace pesuite {

// Of a recorded run: those of its suite, which was checked when it ran, and its names. What cannot
// be read any more is a note of the run.
std::vector<Hypothesis> hypotheses_of(RunData&);
SuiteNames names_of(const RunData&);

enum class Judgement { holds, refuted, undecided };
std::string_view judgement_name(Judgement);

struct Evidence {  // of one comparison; differences are left - right, seed by seed
  std::string text;
  std::vector<std::uint64_t> seeds;
  std::vector<double> left, right;  // of each seed; may be infinite
  double left_mean = Number::none, right_mean = Number::none;
  double difference = Number::none, low = Number::none, high = Number::none;  // 95 % interval
  double margin = 0;
  double p_holds = 1, p_refuted = 1;  // one-sided
  std::string test = "none";
  std::size_t needed = 0;            // seeds at which this mean and spread would decide; 0: none
  std::vector<std::string> missing;  // what was not evaluated, or whose seeds failed
  bool satisfied = false;            // by the means, margin included
};

struct Judged {
  Hypothesis hypothesis;
  Judgement judgement = Judgement::undecided;
  double p_holds = 1, p_refuted = 1;  // over all its comparisons, after Holm over the hypotheses
  std::vector<Evidence> evidence;
  std::vector<std::string> notes;
};
std::vector<Judged> judge(const RunData&, const std::vector<Hypothesis>&);

}  // namespace pesuite
