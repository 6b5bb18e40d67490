// Training of one model on one task, from start values or from a checkpoint to the last step.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>

#include "backend/group.h"
#include "model/mixture.h"
#include "model/model.h"
#include "model/observation.h"
#include "model/optimizer.h"
#include "model/task.h"

namespace pesuite {

// Training ends where the validation loss has not fallen for a while, with the weights that had the
// lowest.
struct EarlyStop {
  int patience = 0;      // validations; 0: training goes to its end
  double min_delta = 0;  // nats that count as falling
};

struct TrainConfig {
  int length = 64;  // tokens of a training example, or of the longest
  LengthPlan lengths;
  int batch = 64;          // examples of a step
  int micro_batch = 0;     // examples of a pass, the gradient being accumulated; 0: by tokens
  int pass_tokens = 2048;  // of a pass then, usual_pass_tokens() of the backend
  std::int64_t steps = 1000;
  OptimizerConfig optimizer;
  Schedule schedule;
  std::int64_t dropout_steps = -1;  // dropout acts in the first so many steps; -1: in all
  std::int64_t log_every = 50, eval_every = 0, checkpoint_every = 0;  // steps; 0: never
  int validation_examples = 128;
  bool health = false;  // observe gradients, updates, entropy and spikes of the loss
  EarlyStop early_stop;
  int keep_periodic = 0;  // periodic checkpoints that stay beside the last one
  bool keep_best = true;
  // after a switch to another encoding these are not as at the start
  std::int64_t schedule_start = 0;   // step that the learning rate's schedule counts from
  std::int64_t optimizer_start = 0;  // step at which the moments were zero
  int began_length = 0;              // length that training began with; 0: as now

  int pass_size(int processes = 1) const;  // examples of a pass
  // At the training length: fewer where lengths are drawn.
  std::int64_t tokens_per_step() const { return std::int64_t{batch} * length; }
  // Read in steps first .. last - 1; expected, where lengths are drawn.
  double tokens_read(std::int64_t first, std::int64_t last) const;
  int first_length() const { return began_length > 0 ? began_length : length; }
};

// All that a run needs to go on bit for bit as if it had never stopped, beside the parameters and
// their moments. Data, dropout and encodings draw from counters that follow from the step.
struct TrainState {
  std::int64_t step = 0;                                  // updates done
  std::int64_t tokens = 0;                                // read
  std::int64_t cursor = 0;                                // next training example
  double flops = 0;                                       // spent, three forward passes a step
  double seconds = 0;                                     // spent on steps
  double best = std::numeric_limits<double>::infinity();  // lowest validation nats
  std::int64_t best_step = -1;
  // since the last log line
  double nats = 0, correct = 0, norm = 0;
  std::int64_t scored = 0, clipped = 0, logged_steps = 0, logged_tokens = 0;
  LossScale loss_scale;
  std::int64_t left_out = 0;  // updates since the last log line, for gradients that overflowed
  bool diverged = false;
  std::string reason;  // of the divergence
  // of early stopping: the loss that has to be undercut, validations that did not, and the end
  double to_beat = std::numeric_limits<double>::infinity();
  int stale = 0;
  bool stopped_early = false;
  std::vector<double> recent;  // losses of the last steps, where health is observed
  double spike = 0;            // the highest spike_score since the last log line
  double making = 0, waiting = 0, logged_seconds = 0;  // seconds since then
  std::vector<Observation> observations;
};

// Weights, moments and state in one safetensors file, replaced in one step. `identity` is the run's
// configuration as text; loading another run's file, or a damaged one, is an Error (data).
void save_checkpoint(const fs::path&, Model&, const TrainState&, const std::string& identity,
                     const std::map<std::string, std::string>& fields = {});  // more metadata
void load_checkpoint(const fs::path&, Model&, TrainState&, const std::string& identity);
// What another training left, to go on from under another encoding: parameters and moments pass
// over by name and shape, the others keep their start values; with `reset` no moment passes.
void branch_checkpoint(const fs::path&, Model&, TrainState&, const std::string& identity,
                       bool reset);
// Weights alone, for evaluation; the steps they were trained.
std::int64_t load_weights(const fs::path&, Model&);
// What a file carries: the identity it was saved with, and its state.
std::string checkpoint_identity(const fs::path&);
TrainState checkpoint_state(const fs::path&);
std::string checkpoint_field(const fs::path&, const char* name);  // Error (data): it has none

struct BranchPoint {
  fs::path file;
  std::int64_t target_budget = 0;  // tokens at which a decay from here ends; 0: it is no budget's
};

struct TrainPaths {  // empty: not written
  fs::path last, best;
  std::function<fs::path(std::int64_t step)> periodic;
  std::map<std::int64_t, BranchPoint> branches = {};  // by step: where other trainings go on from
};

struct TrainWatch {
  const std::atomic<bool>* stop = nullptr;  // true: write a checkpoint and return
  std::int64_t until = std::numeric_limits<std::int64_t>::max();  // this many steps: the same
  std::function<void(const TrainState&, double loss)> progress;   // after each step
  std::function<void(const std::string& line)> log;               // human-readable lines
};

// Examples first .. first + size - 1 of a split as a batch, all axes drawn as in training.
inline Batch make_batch(const Task& task, pes_split split, std::uint64_t seed, std::uint64_t first,
                        int size, int length) {
  return Mixture(task).batch(0, split, seed, first, size, length);
}

enum class TrainOutcome { finished, paused, stopped, diverged };  // paused: at `until`

// Goes on from `state` (fresh, or loaded together with the model's parameters). Validates on the
// main task, and on each other task of a mixture under coords.mix.
// Several processes share the passes of each step; the examples, their order and the loss are those
// of one process, to within the order of sums. The leading one writes the files. Error (data) where
// they did not start from the same state.
TrainOutcome train(Model&, const Mixture&, const TrainConfig&, std::uint64_t seed,
                   const std::string& identity, const TrainPaths&, const TrainWatch&, TrainState&,
                   Group&);
inline TrainOutcome train(Model& model, const Mixture& data, const TrainConfig& config,
                          std::uint64_t seed, const std::string& identity, const TrainPaths& paths,
                          const TrainWatch& watch, TrainState& state) {
  Group alone;
  return train(model, data, config, seed, identity, paths, watch, state, alone);
}

}  // namespace pesuite
