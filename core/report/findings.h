// What a run shows, in sentences that follow from its records by the rules of docs/statistics.md:
// a difference is called with its interval and p, a tie with the difference that could have been
// seen.
#pragma once

#include <string>
#include <vector>

#include "analysis/contest.h"
#include "report/tables.h"

namespace pesuite {

std::string p_text(double p);  // "p = 0.013", "p < 0.001"

// Of one task, a sentence each, under its main protocol.
std::vector<std::string> task_findings(const RunData&, const TaskData&,
                                       const std::vector<Contest>&);
// Every pair at every length and protocol; for the page, who beats whom under the main protocol.
TableFile duel_table(const RunData&, const TaskData&, const std::vector<Contest>&);

// Over tasks: ranks with Friedman's test and the critical difference, reciprocal ranks, scores.
struct Standing {
  std::size_t encoding = 0;
  double rank = Number::none,
         family_rank = Number::none;  // means over tasks; over families of them
  double reciprocal = Number::none;   // mean of 1 / place by mean score
  double score = Number::none;        // interquartile mean, chance = 0, best = 1
  Interval score_interval{Number::none, Number::none};
  std::size_t runs = 0;  // scores that went into it
};
struct Across {
  std::vector<const TaskData*> tasks;  // blocks: those with a ranking
  std::vector<Standing> standings;     // best mean rank first
  double chi_square = Number::none, p = Number::none, critical = Number::none;
  std::vector<std::vector<std::size_t>> groups;  // encodings that do not differ, largest groups
  std::vector<std::string> left_out;             // sentences: who is not ranked, and why
  // Chance-normalised scores out of distribution of each encoding, a list a ground.
  std::map<std::size_t, std::vector<std::vector<double>>> scores;
};
Across across_tasks(const RunData&, const std::vector<std::vector<Contest>>& of_tasks);
std::vector<std::string> across_findings(const RunData&, const Across&);
TableFile across_table(const RunData&, const Across&);  // no blocks where there is nothing to rank
// What is right on problems whose tasks the suite gives a weight, in range and beyond; no blocks
// where none has one.
TableFile weighted_table(const RunData&);

}  // namespace pesuite
