// What a model scored, target by target; sums of it over documents or examples, and the
// observations that follow from them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/evaluate.h"

namespace pesuite {

struct Scored {         // one target
  std::size_t request;  // running number
  int place;            // in its window
  std::int32_t target;
  double nats, optimum;   // optimum: NaN where it is not known
  bool correct;           // the best class is right
  std::int32_t rank;      // among the task's candidates, 1 at best; 0: not ranked
  std::int32_t distance;  // to what it hangs on, 0: not in sight; -1: it need not be recalled
};

// Runs requests of one length, FILL counted, through the model in passes; body hears of each target
// that is scored.
void score_all(const Scorer&, const Task&, int pass_tokens, int length, std::uint64_t seed,
               std::int64_t steps, const std::vector<Task::Request>&,
               const std::function<void(double)>& progress,
               const std::function<void(const Scored&)>& body);

// Sum over a document or an example, and over all of them.
struct Sums {
  double nats = 0, optimum = 0, correct = 0, bytes = 0;
  std::int64_t count = 0;
  void operator+=(const Sums& o) {
    nats += o.nats, optimum += o.optimum, correct += o.correct, bytes += o.bytes, count += o.count;
  }
};

// Mean over targets with a standard error that respects that targets of one unit go together.
struct Clustered {
  double value, standard_error;
};
Clustered mean(const std::vector<Sums>& units, double (*sum)(const Sums&));
std::int64_t units_of(const std::vector<Sums>&);    // that have targets
std::int64_t targets_of(const std::vector<Sums>&);  // of all units

// Targets that must be recalled: those that hang on nothing in sight, then those from 2^(b-1) to
// 2^b - 1 tokens behind what they hang on.
class Recalled {
 public:
  explicit Recalled(std::size_t units) : units_(units) {}
  void add(std::size_t unit, int distance, const Sums& one);
  // Calls body(sums of units, coordinates) for all of them, then by distance.
  void each(Json coords,
            const std::function<void(const std::vector<Sums>&, const Json&)>& body) const;

 private:
  std::size_t units_;
  std::vector<std::vector<Sums>> buckets_;
};

Observation observation(const char* metric, const std::string& split, const Json& coords,
                        const char* unit = nullptr);
// Nats of a group of targets; `unit` is that of their mean.
Observation loss_of(const std::vector<Sums>&, const char* unit, const std::string& split,
                    const Json& coords);
// What they cost beyond the least that anybody can pay, and that least; nothing where it is
// unknown.
void add_regret(const std::vector<Sums>&, const char* unit, const std::string& split,
                const Json& coords, std::vector<Observation>& out);
// Accuracy with its interval: Wilson's, on as many independent targets as the clustering leaves.
Observation accuracy(const std::vector<Sums>&, const char* metric, const std::string& split,
                     const Json& coords, double chance);

}  // namespace pesuite
