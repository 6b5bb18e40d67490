// A cell: one (encoding, task, model, seed) with everything filled in, as JSON whose hash is the
// cell's id; and the work of one process that trains and evaluates it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/evaluate.h"
#include "model/train.h"

namespace pesuite {

// Changed when the same configuration gives other numbers on purpose; breaks all series.
inline constexpr int numerics_epoch = 2;

Json to_json(const ModelConfig&);
ModelConfig model_from_json(const Json&);
Json to_json(const TrainConfig&);
TrainConfig train_from_json(const Json&);

// An evaluation of a cell at one length, stored apart from its training: adding a length (up to
// the longest so far, on which tables and alphabets may depend) or a protocol never trains again.
struct CellEval {
  int length = 0;
  int reach = 0;  // of all evaluations of the cell: a text cuts its documents by it
  EvalConfig config;
};
Json to_json(const CellEval&);
CellEval eval_from_json(const Json&);

// Everything that a cell's numbers follow from.
struct CellConfig {
  std::string encoding;                                  // expression with all its options
  std::map<std::string, std::string> encoding_identity;  // version, library, build
  std::string task;
  std::map<std::string, std::string> task_identity;  // version, library, build, digest
  int max_length = 0;                                // longest sequence that it will see
  ModelConfig model;
  TrainConfig train;
  std::uint64_t seed = 0;
  std::string backend = "cpu";
  Precision precision = Precision::fp32;
};
Json to_json(const CellConfig&);
CellConfig cell_from_json(const Json&);
std::string cell_identity(
    const CellConfig&);                    // the text that is hashed, and that checkpoints carry
std::string cell_id(const CellConfig&);    // 16 hexadecimal digits
std::string series_id(const CellConfig&);  // the same without seed and builds
std::string part_id(const CellEval&);      // of one evaluation, 8 digits

// Where the results of cells lie: a folder each, named by the id, the same for every suite.
class Store {
 public:
  explicit Store(fs::path root) : root_(std::move(root)) {}
  const fs::path& root() const { return root_; }
  fs::path cell(const std::string& id) const { return root_ / "nodes" / id.substr(0, 2) / id; }
  fs::path training(const std::string& id) const { return cell(id) / "train.jsonl"; }
  fs::path evaluation(const std::string& id, const std::string& part) const {
    return cell(id) / ("eval-" + part + ".jsonl");
  }
  fs::path checkpoint(const std::string& id) const {
    return cell(id) / "ckpt" / "last.safetensors";
  }
  fs::path best(const std::string& id) const { return cell(id) / "ckpt" / "best.safetensors"; }
  fs::path status(const std::string& id) const { return cell(id) / "status.json"; }
  fs::path log(const std::string& id) const { return cell(id) / "log.txt"; }

 private:
  fs::path root_;
};

struct CellProgress {
  std::string phase;  // "train" or "eval 1024"
  std::int64_t step = 0, steps = 0;
  double loss = 0, tokens_per_second = 0;
  double share = 0;  // of the whole cell, by FLOPs
};

struct CellWatch {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const CellProgress&)> progress;
  std::function<void(const std::string&)> log;
};

enum class CellOutcome { done, diverged, stopped };

// Trains what is not trained, from its checkpoint where there is one, and evaluates what is not
// evaluated. Results appear in the store file by file, each whole or not at all.
CellOutcome run_cell(const CellConfig&, const std::vector<CellEval>&, const Store&,
                     const std::vector<std::string>& plugin_path, int threads, const CellWatch&);

}  // namespace pesuite
