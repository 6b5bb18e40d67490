// What a run has recorded, sorted for tables and figures: encodings in suite order, and for each
// task the numbers of each (encoding, seed). From the records alone; the suite, the plan and the
// environment beside them add order and context where they are there.
#pragma once

#include <compare>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pesuite {

namespace fs = std::filesystem;

struct Number {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  double value = none;  // infinite where the record says "inf"
  std::string right;    // which examples were, where recorded: see Observation
  double standard_error = none, low = none, high = none, chance = none;
  std::int64_t n = 0, count = 0;  // independent units, scored targets
};

using AxisValues = std::vector<std::pair<std::string, double>>;

// What was measured and where; seeds and encodings apart.
struct Place {
  std::string metric, protocol;
  int length = 0;
  AxisValues axes;
  std::string bucket;    // "seen", "unseen", "recall" or ""
  int from = 0, to = 0;  // tokens of context, of "recall" tokens back, [from, to); 0, 0: all
  auto operator<=>(const Place&) const = default;
};

// A (length, axis values) at which a problem was evaluated.
struct Setting {
  int length = 0;
  AxisValues axes;
  bool trained = false;               // in distribution, by the records' split
  bool seen = false, unseen = false;  // positions that were scored apart
};

struct CellData {  // one (encoding, seed) of a task
  std::string id, path;
  std::string series;         // hash of its settings, without seed and builds
  std::string status = "ok";  // or "diverged", or the kind of a failure
  std::string reason;
  std::map<Place, Number> evals;
  std::map<Place, Number> probes;  // numbers of probes; layer, head, band, offset as axes
  std::map<std::string, std::map<std::int64_t, double>> curves;  // "val nll", by step
  // What training told of itself, by step: "grad_norm", "loss_spike", "entropy"; of each part of
  // the model "update_ratio layer 0".
  std::map<std::string, std::map<std::int64_t, double>> health;
  std::map<std::string, double> costs;  // by metric
  double train_seconds = 0;
  int longest_trained = 0;  // of its evaluations' lengths, as their split says; 0: not known
  std::int64_t steps = 0, tokens = 0;
  double flops = 0;  // of training; 0: not recorded

  const Number* find(const Place&) const;  // null where nothing was recorded
};

struct MapsFile {  // attention of one cell's example
  fs::path file;
  std::size_t encoding = 0;
  std::uint64_t seed = 0;
  int length = 0;
};

struct Prediction {  // of one example
  std::size_t encoding = 0;
  std::uint64_t seed = 0;
  int length = 0, example = 0;
  double right = 0;                 // share of its targets
  std::string read, wanted, found;  // tokens
};

struct TaskData {  // one (task, model, training length)
  std::string task, model, expression, version;
  std::map<std::size_t, std::string>
      encoded;         // expression of each encoding here: tasks may tune it
  std::string family;  // of the task's card where the plan says so, else plugin_name()
  int train_length = 0;
  bool corpus = false, problem = false;  // neither where no evaluation was recorded
  std::vector<std::string> protocols;    // in suite order
  // Ascending, of each protocol, as read_run() found them; else lengths_of() looks at all cells.
  std::map<std::string, std::vector<int>> protocol_lengths;
  std::vector<int> lengths;            // ascending
  std::vector<Setting> settings;       // of problems: trained first, then by length
  std::vector<std::uint64_t> seeds;    // ascending
  std::vector<std::size_t> encodings;  // those with a record, in suite order
  std::map<std::pair<std::size_t, std::uint64_t>, CellData> cells;  // by encoding and seed
  std::map<std::string, std::map<double, std::string>> labels;      // of axis values
  double weight = 0;           // in a score over tasks, as the suite says
  std::string score = "acc";   // of problems, by which encodings are compared; "em" likewise
  std::string training;        // "1200 steps of 64 sequences, ..." where the plan says so
  std::vector<MapsFile> maps;  // in the order of the plan
  std::vector<Prediction> predictions;

  const CellData* cell(std::size_t encoding, std::uint64_t seed) const;
  bool has(const std::string& metric) const;  // anywhere in its evaluations
  std::string plugin_name() const;            // "copy" of "copy(items=10)"
  // "2x", "1.5x": a length in training lengths.
  std::string multiple(int length) const;
  std::string label(const std::string& axis, double value) const;  // "start", else the number
  // Encodings that were trained on at a longer length, by that length.
  std::map<int, std::vector<std::size_t>> trained_further() const;
  std::string name(const Setting&) const;  // "256 (4x), window start"
};

// How one says over which lengths an encoding holds, by the suite's [effective_length].
struct LengthSettings {
  double accuracy = 0.95;  // reached at every length up to the effective one
  double slack = 0.02;     // nats that may be lost against the training length
  // Of lengths in a mean over them: log2, equal, rising, falling, or own numbers.
  std::string weights = "log2";
  std::vector<double> own;
};

struct RunData {
  std::string suite, about, folder;
  std::vector<std::string> encodings;    // ids in suite order
  std::vector<std::string> expressions;  // of each; "" where nothing was recorded
  std::vector<std::string> plugins;      // "rotary 1.0.0, build 1234abcd"
  std::vector<std::map<std::string, std::string>> versions;  // of each: of its parts, by name
  std::vector<TaskData> tasks;                               // in suite order
  std::set<std::string> models, backends, precisions, determinisms, paths;
  std::set<std::uint64_t> seeds;
  std::string last_record;             // time stamp
  std::vector<Json> starts;            // of the run, by env.json; none where it is not there
  std::size_t cells = 0, planned = 0;  // with records; in the plan, 0 where there is none
  Json tuning;                         // tuning.json: learning rates tried and chosen; or null
  Json hypotheses;                     // [[hypothesis]] of the suite as JSON; null for none
  Json gates;                          // [[gate]], likewise
  bool references = false;             // references.bib is there
  bool trained_elsewhere = false;      // its models were, and seeds do not apply
  std::string caution;  // a sentence that readers need before all numbers; "" for none
  int epoch = 0;        // of its numerics, as the plan has it; 0: not known
  LengthSettings length_settings;
  std::vector<std::string> notes;
  // Names of the report's files that are taken, and by what.
  mutable std::map<std::string, std::string> file_names;

  bool several_models() const { return models.size() > 1; }
};

// Error (data) when the folder holds no record.
RunData read_run(const fs::path& folder);

}  // namespace pesuite
