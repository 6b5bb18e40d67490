// Encodings over several tasks: ranks, reciprocal ranks, chance-normalised scores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/contest.h"

namespace pesuite {

// Over tasks: ranks with Friedman's test and the critical difference, reciprocal ranks, scores.
struct Standing {
  std::size_t encoding = 0;
  double rank = Number::none,
         family_rank = Number::none;                // means over tasks; over families of them
  double reciprocal = Number::none;                 // mean of 1 / place by mean score
  std::map<std::string, double> family_reciprocal;  // the same over the tasks of a family
  double score = Number::none;                      // interquartile mean, chance = 0, best = 1
  Interval score_interval{Number::none, Number::none};
  std::size_t runs = 0;  // scores that went into it
};
inline constexpr std::size_t fewest_tasks = 5;  // with fewer the critical difference means nothing
struct Across {
  std::vector<const TaskData*> tasks;  // blocks: those with a ranking
  std::vector<Standing> standings;     // best mean rank first
  double chi_square = Number::none, p = Number::none, critical = Number::none;
  // Encodings that do not differ, largest groups; below five tasks, where no order is tested, all.
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::string> left_out;  // sentences: who is not ranked, and why
  // Chance-normalised scores out of distribution of each encoding, a list a ground.
  std::map<std::size_t, std::vector<std::vector<double>>> scores;
  std::map<std::size_t, std::map<std::uint64_t, std::vector<double>>> by_seed;  // the same
};
Across across_tasks(const RunData&, const std::vector<std::vector<Contest>>& of_tasks);

}  // namespace pesuite
