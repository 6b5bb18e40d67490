// Training one model outside a suite, with the file names of the source studies.
//
//   OUT/by-name/NAME[_vN]/{latest,best,final,step_N}.safetensors, run.json
//   OUT/by-name/.../records.jsonl         the training, for `pesuite report`
//   OUT/checkpoints/ENCODING_{best,final,step_N}.safetensors            links to the above
//   OUT/logs/{training_ENCODING_TIME.log,metrics_ENCODING_TIME.json,config_ENCODING_TIME.json}
#pragma once

#include "cell/cell.h"

namespace pesuite {

struct OneOff {
  CellConfig cell;
  std::string name;           // of the run's folder
  std::string study_name;     // SIZE_ENCODING_BUDGET_sSEED; a run of it is gone on with
  std::string encoding_name;  // in the names of files
  fs::path out;
  bool resume = false;
  int threads = 1;
  std::vector<std::string> plugin_path;
};

// The run's folder. An existing run of the name with the same critical settings (width, layers,
// heads, feed-forward width, length, vocabulary, encoding, its options, tied table, dropout) is
// reused, and needs `resume` (Error (usage) otherwise); with other settings the name gets _v1,
// _v2, ... up to _v100.
fs::path versioned_folder(const OneOff&);

// Trains to the end, or until a signal; prints the log. Returns the program's exit code.
int train_one(const OneOff&);

}  // namespace pesuite
