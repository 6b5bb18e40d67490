// What of this machine helps or hinders runs, a finding each.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "plugin/library.h"

namespace pesuite {

enum class Health { ok, note, problem };  // a problem keeps every run from working

struct Symptom {
  std::string what;  // what was looked at: "processor", "results"
  Health health = Health::ok;
  std::string text;    // what was found
  std::string advice;  // what to do; "" where nothing is to be done
};

// `out` is the folder of the results, which need not be there. Call before threads exist: libraries
// of devices are opened in processes of their own.
std::vector<Symptom> examine(const Catalog&, const std::vector<fs::path>& search_path,
                             const fs::path& out);

// What can compute here: "reference", "cpu" and "cuda".
struct BackendFound {
  std::string name;
  std::vector<std::string> precisions;  // "fp32"; none: it does not compute here
  std::string text;                     // what it is, or why it does not
};
std::vector<BackendFound> examine_backends();  // before threads exist, like examine()

// What of the environment's settings of OpenMP and oneDNN slows runs down or changes their numbers.
std::vector<Symptom> examine_variables(const Json& variables, int cores);

Json to_json(const std::vector<Symptom>&);

}  // namespace pesuite
