// Who beats whom: encodings compared on one task at one length, seed by seed, by the rules of
// docs/statistics.md. First the gate (who learned the task where it was trained), then pairs.
#pragma once

#include <string>
#include <vector>

#include "analysis/numbers.h"
#include "analysis/paired.h"
#include "analysis/run_data.h"
#include "analysis/statistics.h"

namespace pesuite {

// Whether an encoding learned a task where it was trained: accuracy of 95 %, or nats within 5 % of
// the optimum (of the best encoding's mean where no optimum is known), in 80 % of its seeds.
enum class Learned { yes, no, unknown };  // unknown: never evaluated at the training length
Learned learned(const TaskData&, std::size_t encoding);
// How far from it in the mean over seeds: "5.5 % from the optimum" of one that is slightly behind,
// "90.1 % from the optimum, hardly better than without context" of one that never learned the task;
// "accuracy 62.0 %, at chance"; "accuracy 97.6 %, learned in 2 of 3 seeds".
std::string learned_distance(const TaskData&, std::size_t encoding);
// Evaluated with another encoding than it trained with, so that what it does at the training length
// is no matter of training.
bool swapped_in(const TaskData&, std::size_t encoding);
// Swapped in, and what was trained had learned the task, or is not in the run.
bool lost_by_swap(const TaskData&, std::size_t encoding);
std::string learned_criterion(const TaskData&);  // "accuracy of 95 % in 80 % of the seeds"

// What is compared: a metric on a task at a length.
struct Ground {
  const TaskData* task = nullptr;
  std::string metric;    // "regret" or "nll", the score of a problem: "acc" or "em"
  std::string protocol;  // of corpora
  int length = 0;
  std::string bucket;    // of problems: "unseen" where such positions are scored apart
  bool trained = false;  // in distribution

  bool lower_is_better() const;
  bool share() const;  // accuracy or exact match, not nats
  // Smallest effect that matters: 0.02 nats (2 % of perplexity), 5 points of a share.
  double matters() const;
  std::string name() const;                     // "64 (1x)", "256 (4x), unseen positions"
  std::string effect(double difference) const;  // "0.31 nats", "12.4 points"
  std::string level(double value) const;        // "0.312", "51.1 %"
};
// All of a task: in distribution first, then by length; a corpus once for each protocol.
std::vector<Ground> grounds(const TaskData&);
// Accuracy of a problem is the mean over its settings at that length, each with the same weight.
// A seed that diverged is worse than any other: infinite, or accuracy 0. Not a number where there
// is no observation (a crash, a cell still missing).
std::vector<SeedValue> scores(const Ground&, std::size_t encoding);

enum class Verdict { first, second, tie, equivalent, untested };

// One pair at one place. Differences are first - second, seed by seed.
struct Duel {
  std::size_t first = 0, second = 0;  // encodings
  std::size_t seeds = 0;              // pairs of seeds that were compared
  std::size_t infinite = 0;           // of these, pairs with a value that is not finite
  int lost = 0;                       // seeds that only the first lost, less those of the second
  double difference = Number::none;   // mean; infinite where one of them lost more seeds
  double low = Number::none, high = Number::none;    // 95 % interval, of this pair alone
  double p = Number::none, adjusted = Number::none;  // two-sided; after Holm, see contests()
  double equivalent = Number::none;                  // p of TOST at what matters, after Holm
  double resolvable = Number::none;  // smallest difference that these seeds could have called
  std::size_t needed = 0;            // seeds that would call it with 80 % power; 0: none
  const char* test = "none";         // "paired t", "paired t, variance shared", "sign test"
  Verdict verdict = Verdict::untested;
};

struct Contest {
  Ground ground;
  std::vector<std::size_t> encodings;  // all that have a value, in suite order
  std::vector<std::size_t> ranked;     // those that passed the gate, best mean first
  // Of `ranked`: 1 + wins against it + half its ties. Who lost more seeds comes behind, called or
  // not.
  std::vector<double> ranks;
  std::vector<Duel> duels;       // of `ranked`, each pair once
  std::string unranked_because;  // why there is no ranking at all; "" where there is one

  const Duel* duel(std::size_t a, std::size_t b) const;  // null where they did not meet
};
// All of a task; Holm's and Shaffer's correction over all pairs at all lengths, for each protocol.
std::vector<Contest> contests(const TaskData&);

// The protocol whose numbers the findings speak of: the first that scores the same tokens at every
// length, else the first.
std::string main_protocol(const TaskData&);

}  // namespace pesuite
