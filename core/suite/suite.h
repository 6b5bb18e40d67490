// A suite: encodings, tasks, models and seeds to cross, with their training and evaluation.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encoding/extent.h"
#include "model/evaluate.h"
#include "model/preset.h"
#include "model/probes.h"
#include "model/train.h"
#include "suite/config.h"
#include "suite/filter.h"
#include "suite/gate.h"
#include "suite/hypothesis.h"

namespace pesuite {

struct Tuning {  // learning rates to choose from, and the seeds to try them with
  std::vector<double> rates;
  int knobs = 2;  // more attempts of each encoding: its own settings, then further rates
  std::vector<std::uint64_t> seeds;
};
// What an encoding trains with on a task, where that is not what the rest of the suite says.
struct Tuned {
  std::string encoding, task, model;  // ids
  double rate = 0;
  std::string expression;
};

// A task to train on beside the cell's own.
struct SuiteMix {
  Expression expression;
  double share = 0;  // of the examples
  bool same_alphabet = false;
  std::string where;
};

struct ScheduleSettings {
  ScheduleKind kind = ScheduleKind::cosine;
  Extent warmup{Extent::Unit::share, 0.03}, decay{Extent::Unit::share, 0.1};
  double floor = 0.1;
  std::vector<Extent> branches;  // of wsd: budgets that share a trunk
};

struct TrainSettings {  // as the suite says, before lengths and models turn it into steps
  OptimizerConfig optimizer;
  Tuning tuning;
  ScheduleSettings schedule;
  int batch = 64;           // examples of a step
  double batch_tokens = 0;  // or tokens of a step, where positive
  int micro_batch = 0;
  Extent budget{Extent::Unit::steps, 1000};
  std::int64_t dropout_steps = -1;
  Extent log_every{Extent::Unit::share, 0.02}, eval_every{Extent::Unit::share, 0.1},
      checkpoint_every{Extent::Unit::share, 0.1};
  int validation_examples = 128;
  bool health = false;
  EarlyStop early_stop;
  int keep_periodic = 0;
  bool keep_best = true;
  LengthPlan lengths;
  Extent lengths_over{Extent::Unit::share, 0.5};
  std::string lengths_where, fill_where, shots_where;
  std::vector<SuiteMix> mix;

  // With a training length, the cost of a token, forward, in FLOPs, and the model's parameters. The
  // budget is that of the longest branch where the schedule has some.
  TrainConfig resolve(int length, double forward_flops_per_token, double parameters) const;
};

struct EvalSettings {
  std::string task;                  // id of the task it is for; "*": all that it fits
  std::vector<std::string> lengths;  // "256" or "4x", of the training length
  std::vector<Protocol> protocols;
  int examples = 64;
  std::map<std::string, std::vector<std::string>> axes;  // values or labels
  std::vector<ProbeConfig> probes;                       // instead of the evaluation
  std::vector<std::string> offsets;                      // of the probe: lengths
  std::map<std::string, std::string> where;              // of its keys
};

// The expression that stands for the encoding of a model which was trained elsewhere.
inline constexpr std::string_view own_encoding = "own";

struct SuiteEncoding {
  std::string id, expression, where;
};
struct SuiteTask {
  std::string id;
  std::string group;  // what evaluations may call it: the id, without the budget of a branch
  std::optional<std::size_t> branch;  // of the schedule's
  std::string trained_on;  // id of the task whose models are asked this one; "": it has its own
  Expression expression;
  int train_length = 0;      // tokens; 0: the model's
  bool exact_match = false;  // is what encodings are compared by
  TrainSettings train;
  std::string where;
};
struct SuiteModel {
  std::string id, preset;
  ModelConfig config;
  int train_length = 0;  // of its preset or its folder, where a task says none
  std::string where;
  // A folder in Hugging Face's layout with a trained model, which says the rest when it is planned;
  // "": it trains here. And the encoding of that folder.
  std::string weights = {}, encoding = {};
};

// Who hears of a run while it goes on.
inline const std::vector<std::string> trackers = {"tensorboard", "wandb", "mlflow"};
struct TrackSettings {
  std::vector<std::string> to;         // of trackers
  std::string folder;                  // of files; "": trackers/NAME of the run
  std::string url;                     // of a server
  std::string collection = "pesuite";  // its experiment
  double every = 5, patience = 30;     // seconds: between looks, and after the run
};

struct Suite {
  std::string name, about;
  fs::path file;
  std::vector<SuiteEncoding> encodings;
  std::vector<SuiteTask> tasks;
  std::vector<SuiteModel> models;
  std::vector<std::uint64_t> seeds;
  std::vector<EvalSettings> evals;
  std::vector<Hypothesis> hypotheses;
  std::vector<GateRule> gates;  // none: the usual ones
  std::vector<Tuned> tuned;
  Json tuning;                  // of `tuned`, the kept tuning.json that says so; else null
  std::vector<Filter> include;  // a cell matches one of them, where there are any
  std::vector<Filter> exclude;  // and none of these
  std::vector<Filter> only;     // and all of these, from the command line
  std::string backend = "cpu";
  std::string determinism;  // level that is wanted at least; "": what the backend promises
  int limit = 0;            // examples of an evaluation, for a quick look; 0: no limit
  std::optional<Precision> precision;  // of products; none: the backend's usual one
  bool or_fp32 = false;                // where that cannot be had, or is slower
  int threads = 1;                     // of a cell
  bool recompute = false;              // activations, in the backward pass
  bool divergence_fails = false;
  // Of a cell, seconds and bytes; 0: no limit, not there: what the plan derives from its estimates.
  std::optional<double> time_limit, memory_limit;
  TrackSettings track;
  std::vector<std::string> profiles;  // that it has
  std::string profile;                // that was chosen; "": none
  Json resolved;      // the file with extends, profile and flags laid over it: a suite by itself
  std::string asked;  // the flags that it was loaded with, as they are written
  std::vector<ReadValue> values;  // each that was read, in the order of reading

  bool has_weights() const {  // a model that was trained elsewhere
    return std::any_of(models.begin(), models.end(),
                       [](const auto& m) { return !m.weights.empty(); });
  }
  // Null where the rest of the suite says it all.
  const Tuned* tuned_for(const std::string& encoding, const std::string& task,
                         const std::string& model) const;
};

// What a suite's backend and --device may be.
inline const std::vector<std::string> backend_words = {"auto", "cpu", "cuda", "reference"};

struct SuiteChoices {            // from the command line
  std::string profile;           // "": small, where the suite has one
  std::vector<std::string> set;  // "a.b=v"
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> only;
  std::string device = {};  // instead of the suite's backend
  int limit = 0;            // see Suite
};

// Puts choices into a suite, for its plan and its resolved file.
void use_tuned(Suite&, std::vector<Tuned>);

// Reads a suite with all it extends. Error (usage) with every problem of the file, one a line, each
// with file:line:column.
Suite load_suite(const fs::path& file, const SuiteChoices& = {});
// The same, with problems collected, to which make_plan() adds those that plugins find. Error when
// the file cannot be read at all.
Suite load_suite(const fs::path& file, const SuiteChoices&, Problems&);

// Where suites are looked for when a name is no file: the current folder's suites/, the program's.
fs::path find_suite(const std::string& name);
std::vector<fs::path> known_suites();

}  // namespace pesuite
