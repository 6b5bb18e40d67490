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

enum class Judgement {
  holds,
  refuted,
  undecided,
  inapplicable,  // speaks of lengths beyond training on a series that did not learn
  untested       // too few seeds, or seeds that do not differ
};
// "reproduced at this size", "not reproduced at this size", "undecided", "not applicable", "not
// tested".
std::string_view judgement_name(Judgement);

struct Evidence {  // of one comparison; differences are left - right, seed by seed
  std::string text;
  std::vector<std::uint64_t> seeds;
  std::vector<double> left, right;  // of each seed; may be infinite
  double left_mean = Number::none, right_mean = Number::none;
  double difference = Number::none, low = Number::none, high = Number::none;  // 95 % interval
  double margin = 0;
  // What was tested: the difference against this number, and its one-sided bound there, which
  // misses with probability `alpha`.
  double against = Number::none, bound = Number::none, alpha = significance;
  bool from_above = false;            // "at most `bound`"; else "at least"
  double p_holds = 1, p_refuted = 1;  // one-sided
  std::string test = "none";
  std::size_t needed = 0;            // seeds that would decide with 80 % power; 0: none
  std::vector<std::string> missing;  // what was not evaluated, or whose seeds failed
  bool satisfied = false;            // by the means, margin included
};

struct Judged {
  Hypothesis hypothesis;
  Judgement judgement = Judgement::undecided;
  // Over all its comparisons, after Holm over the hypotheses, each of which asks one of the two:
  // what its means say. The other is 1.
  double p_holds = 1, p_refuted = 1;
  double alone = Number::none;  // the same before Holm
  std::vector<Evidence> evidence;
  std::vector<std::string> notes;
  bool by_swap = true;  // inapplicable: by what is swapped in for evaluation alone
};
std::vector<Judged> judge(const RunData&, const std::vector<Hypothesis>&);

}  // namespace pesuite
