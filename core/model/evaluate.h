// What a trained model knows at a length: nats under a named protocol for corpora, accuracy with
// chance and intervals for problems.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/observation.h"
#include "model/protocol.h"
#include "model/task.h"

namespace pesuite {

struct EvalAxis {
  std::string name;
  std::vector<double> values;
};
// The axis that every problem has: FILL tokens before the example, which push it to later positions
// and make nothing else longer. It tells "further away" from "longer".
inline constexpr const char* fill_axis = "fill";
// Another axis: solved examples before it, drawn as training draws them (few-shot).
inline constexpr const char* shots_axis = "shots";
// Neither is a task's own.
inline bool is_before(const std::string& axis) {
  return axis == fill_axis || axis == shots_axis;
}

struct EvalConfig {
  std::vector<int> lengths;         // tokens
  std::vector<Protocol> protocols;  // of corpora, and of these alone
  int examples = 64;                // documents, or examples at each length and axis value
  int limit = 0;                    // what they were cut to, by who wanted a quick look; 0: not cut
  std::vector<EvalAxis> axes;       // problems: the grid; axes not named are drawn
  int train_length = 0;
  int longest_trained = 0;  // where training went on at another length than it began with
  int fill_trained = 0;     // most FILL tokens before an example of training
  int shots_trained = 0;    // most solved examples before one
  void cut_to(int most) {   // 0: as they are
    if (most > 0 && most < examples) examples = limit = most;
  }
  bool trained_on(int length) const { return length <= std::max(train_length, longest_trained); }
  int longest() const;  // of the lengths
  WindowLengths window_lengths() const { return {longest(), train_length}; }
  // Most FILL tokens, or solved examples, that are asked for.
  int most(const char* axis) const;
  pes_split split = PES_SPLIT_TEST;
  int pass_tokens = 2048;  // of a pass, or one request; usual_pass_tokens() of the backend
};

// Throws Error (usage) when `task` cannot be evaluated so, e.g. when its documents are too short.
void check(const EvalConfig&, const Task&);
// Tokens of a document that a corpus's windows reach.
int reach(const EvalConfig&);
// Tokens that an evaluation reads at a length.
double tokens_read(const EvalConfig&, int length);
// Of one pass over them. Tokens of a corpus whose targets do not count are not classified, and the
// first of them have no last layer: see first_needed().
double evaluation_flops(const ModelConfig&, const EvalConfig&, int length, std::int64_t query_step);

// Anything that answers a batch as Model::score does, e.g. one that knows the right answers.
using Scorer = std::function<Scores(const Batch&, const StepInfo&)>;

// Observations of one length. `seed` chooses the examples; `steps` is how long the model was
// trained, for encodings that change on the way; `progress` hears the share done.
std::vector<Observation> evaluate(const Scorer&, const Task&, const EvalConfig&, int length,
                                  std::uint64_t seed, std::int64_t steps,
                                  const std::function<void(double)>& progress = {});
// The same of a model, and what of its encoding was never trained at this length.
std::vector<Observation> evaluate(Model&, const Task&, const EvalConfig&, int length,
                                  std::uint64_t seed, std::int64_t steps,
                                  const std::function<void(double)>& progress = {});

// What evaluations are made of, for those who look at models otherwise: the i-th example of a
// split, where those of a problem take turns at the points of its axes; examples as a batch; the
// step that a model is evaluated in.
Task::Request request_of(const Task&, const EvalConfig&, pes_split, std::int64_t i, int length,
                         std::uint64_t seed);
Batch batch_of(const Task&, std::span<const Task::Request>);
StepInfo evaluation_step(int size, int length, std::uint64_t seed, std::int64_t steps);

}  // namespace pesuite
