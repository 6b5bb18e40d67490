// A cell: one (encoding, task, model, seed) with everything filled in, as JSON whose hash is the
// cell's id; and the store of results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/probes.h"
#include "model/train.h"

namespace pesuite {

// Changed when the same configuration gives other numbers on purpose; breaks all series.
inline constexpr int numerics_epoch = 7;

Json to_json(const ModelConfig&);
ModelConfig model_from_json(const Json&);
Json to_json(const TrainConfig&);
TrainConfig train_from_json(const Json&);

// An evaluation of a cell at one length, stored apart from its training: adding a protocol never
// trains again, nor does a length, where no table or alphabet is made for the longest.
struct CellEval {
  int length = 0;
  int reach = 0;  // of all evaluations of the cell: a text cuts its documents by it
  EvalConfig config;
  std::optional<ProbeConfig> probe = {};  // instead of accuracies or nats
};
Json to_json(const CellEval&);
CellEval eval_from_json(const Json&);

// A task that is trained on beside the cell's own.
struct CellMix {
  std::string task;                             // expression with all its options
  std::map<std::string, std::string> identity;  // version, library, build, digest
  double share = 0;                             // of the examples
  bool same_alphabet = false;
  int max_length = 0;  // longest sequence that is trained on, by any cell that may share a trunk
};

// From `step` on training goes on under another encoding, with everything that holds then.
struct SwitchConfig {
  std::int64_t step = 0;  // training steps done before it
  std::string encoding;   // sum or pattern with all options
  int max_length = 0;     // as the cell's
  bool reset_optimizer = false;
  QkNorm qk_norm = QkNorm::off;
  int length = 0, batch = 0, micro_batch = 0;
  double lr = 0;
  Schedule schedule;
  std::int64_t schedule_start = 0;
  // Of a branch that lets the learning rate fall under the same encoding: steps of the training it
  // leaves, which is one for all budgets; 0: the trunk has as many steps as the cell.
  std::int64_t trunk_steps = 0;
};

// Everything that a cell's numbers follow from. Encodings are sums or patterns with all options.
struct CellConfig {
  std::string encoding;                // that training begins with
  std::vector<SwitchConfig> switches;  // in the order of their steps
  std::string evaluation;              // swapped in for evaluation; "": the last of training
  // of each of its encodings by name: version, library, build
  std::map<std::string, std::map<std::string, std::string>> encoding_identity;
  std::string task;
  std::map<std::string, std::string> task_identity;  // version, library, build, digest
  std::string asked;  // the task that it is evaluated on instead, of the same alphabet; "": its own
  std::map<std::string, std::string> asked_identity;
  std::vector<CellMix> mix;
  // Longest sequence that it will see, where what it begins with hangs on that; else the longest of
  // training, so that a longer evaluation does not make another cell of it.
  int max_length = 0;
  int evaluation_max_length = 0;  // of what is swapped in; 0: nothing is
  ModelConfig model;              // at the start
  TrainConfig train;              // at the start
  // A folder with weights in place of a training, and the digests of its files; "": it trains.
  std::string weights;
  std::map<std::string, std::string> weights_identity;
  std::uint64_t seed = 0;
  std::string backend = "cpu";
  Precision precision = Precision::fp32;
};
Json to_json(const CellConfig&);
CellConfig cell_from_json(const Json&);
// Of text that a checkpoint or a file holds. Error (data) when it is none, or of no model.
CellConfig read_cell(const std::string& json, const fs::path& file);
// What the cell trains on, `own` and the tasks it is mixed with, all on loan. Error (usage) where
// they cannot be mixed.
std::vector<Task> make_mixed_tasks(const Catalog&, const CellConfig&);
Mixture make_mixture(const Task& own, const std::vector<Task>& mixed, const std::vector<CellMix>&);
// The same in words: "75 % copy, 25 % toylag; lengths 4 to 64 by 2, growing in 500 steps"; "" where
// it is the cell's task at its training length alone.
std::string data_text(const CellConfig&);
std::string cell_identity(
    const CellConfig&);                    // the text that is hashed, and that checkpoints carry
std::string cell_id(const CellConfig&);    // 16 hexadecimal digits
std::string series_id(const CellConfig&);  // the same without seed and builds
// Ids of cells that are one another's but for the seed, without making their texts anew.
class IdsBySeed {
 public:
  explicit IdsBySeed(const CellConfig&);
  std::string id(std::uint64_t seed) const;  // cell_id() of it with that seed

 private:
  std::string before_, behind_;  // the seed, in the text that is hashed
};
std::string part_id(const CellEval&);  // of one evaluation, 8 digits

// What a cell trains, which those that differ in evaluation alone share: itself without
// `evaluation` and `asked`. And the training that it branches off from at its last switch; not for
// a cell without switches.
CellConfig training_of(const CellConfig&);
CellConfig trunk_of(const CellConfig&);
// What holds after the last switch.
const std::string& encoding_of(const CellConfig&);
ModelConfig model_of(const CellConfig&);
TrainConfig train_of(const CellConfig&);
std::int64_t first_step(const CellConfig&);  // of its own: the last switch's, or 0
int longest_trained(const CellConfig&);      // tokens
// What is asked for, with what an evaluation has to know of the cell's training and backend.
EvalConfig eval_config_of(const CellConfig&, EvalConfig asked = {});
double train_flops(const CellConfig&);  // of all its training, that of its trunks included
// The encodings of a sum or pattern, for the cell's model.
Composition make_encoding(const Catalog&, const std::string& sum, const CellConfig&);

// Where the results of cells lie: a folder each, named by the id, the same for every suite. Each
// file carries checksums, in its first line or, of tensors, in its metadata; what is damaged counts
// as not there, so that it is computed again. Cells from before there were checksums are read
// without.
class Store {
 public:
  explicit Store(fs::path root) : root_(std::move(root)) {}
  const fs::path& root() const { return root_; }
  fs::path cell(const std::string& id) const { return root_ / "nodes" / id.substr(0, 2) / id; }
  fs::path training(const std::string& id) const { return cell(id) / "train.jsonl"; }
  fs::path evaluation(const std::string& id, const std::string& part) const {
    return cell(id) / ("eval-" + part + ".jsonl");
  }
  fs::path maps(const std::string& id, const std::string& part) const {  // of attention
    return cell(id) / ("maps-" + part + ".safetensors");
  }
  fs::path checkpoints(const std::string& id) const { return cell(id) / "ckpt"; }
  fs::path checkpoint(const std::string& id) const { return checkpoints(id) / "last.safetensors"; }
  fs::path branch(const std::string& id, std::int64_t step) const {
    return checkpoints(id) / fmt::format("branch_{}.safetensors", step);
  }
  fs::path periodic(const std::string& id, std::int64_t step) const {
    return checkpoints(id) / fmt::format("step_{}.safetensors", step);
  }
  fs::path best(const std::string& id) const { return checkpoints(id) / "best.safetensors"; }
  fs::path status(const std::string& id) const { return cell(id) / "status.jsonl"; }
  fs::path log(const std::string& id) const { return cell(id) / "log.txt"; }

  bool has_training(const std::string& id) const;
  // A training that diverged leaves no maps.
  bool has_evaluation(const std::string& id, const CellEval&, bool diverged) const;
  bool has_branch(const std::string& id, std::int64_t step) const;
  // Without its weights a finished training is of no use.
  bool trained(const std::string& id) const;
  // {"state", "ts"} and of a failure "kind" and "reason"; null where there is none.
  Json read_status(const std::string& id) const;
  void write_status(const std::string& id, Json status) const;  // adds the time
  // Whether a cell is from before there were checksums, and giving it those of what it holds.
  bool is_old(const std::string& id) const;
  // Writes it where a cell has all its results and lost it, e.g. on a full disk.
  void keep_status(const std::string& id, const std::string& state) const;
  void adopt(const std::string& id) const;

 private:
  fs::path root_;
};
// A text of the store. Error (data) when it is damaged.
std::string read_kept(const fs::path&);
bool is_kept(const fs::path&);
std::vector<Json> read_observations(const fs::path&);

}  // namespace pesuite
