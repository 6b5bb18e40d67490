// What can be written in a suite: its keys with the values they take and what they mean, as
// suite.schema.json says it.
#pragma once

#include <string>
#include <vector>

namespace pesuite {

struct SuiteKey {
  std::string name;    // "train.lengths.min"; elements of arrays are not named: "task.train_len"
  std::string values;  // "uniform | growing", "number", "table"
  std::string help;    // a sentence or two, with the default
};
// The key `at` and those below it, in the order of the schema; "": all. Error (usage) where there
// is none, with the nearest; Error (data) where the schema is not beside the program.
std::vector<SuiteKey> suite_keys(const std::string& at);

}  // namespace pesuite
