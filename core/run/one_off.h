// Training one model outside a suite, with the file names of the source studies.
//
//   OUT/by-name/NAME[_vN]/{latest,best,final,step_N}.safetensors, run.json
//   OUT/by-name/.../ready_for_decay_BUDGET.safetensors    where the decay of a budget begins
//   OUT/by-name/.../decay_BUDGET/                         the run that decays from there
//   OUT/by-name/.../records.jsonl         the training, for `pesuite report`
//   OUT/checkpoints/ENCODING_{best,final,step_N}.safetensors            links to the above
//   OUT/logs/{training_ENCODING_TIME.log,metrics_ENCODING_TIME.json,config_ENCODING_TIME.json}
#pragma once

#include <map>

#include "cell/cell.h"

namespace pesuite {

struct OneOff {
  CellConfig cell;
  std::string name;           // of the run's folder
  std::string study_name;     // SIZE_ENCODING_BUDGET_sSEED; a run of it is gone on with
  std::string size;           // preset of the model
  std::string encoding_name;  // in the names of files
  fs::path out;
  bool resume = false;
  int threads = 1;
  bool recompute = false;  // activations, in the backward pass
  // Warm-up, stable, decay (Hu et al. 2024). Of a trunk: its budgets in tokens, by the step at
  // which their decay begins. Of a decay: the checkpoint ready_for_decay_BUDGET that it goes on
  // from; its folder stands beside that file.
  std::map<std::int64_t, std::int64_t> budgets = {};
  fs::path from;
  std::vector<std::string> plugin_path;
};

// The run's folder. An existing run of the name with the same critical settings (width, layers,
// heads, feed-forward width, length, vocabulary, encoding, its options, tied table, dropout) is
// reused, and needs `resume` (Error (usage) otherwise); with other settings the name gets _v1,
// _v2, ... up to _v100. A decay's folder is decay_BUDGET, which goes on with its own length alone.
fs::path versioned_folder(const OneOff&);

std::string budget_name(std::int64_t tokens);  // of files: "1.2B"

// Trains to the end, or until a signal; prints the log. Returns the program's exit code.
int train_one(const OneOff&);

}  // namespace pesuite
