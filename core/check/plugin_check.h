// The conformance test of plugin libraries, ours and third parties': each check in a process of its
// own with a time limit, so that a plugin's error is a finding and never ends the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "check/finding.h"

namespace pesuite::checks {

struct Settings {
  int strictness = 5;                  // 1 to 10; strictness_help()
  std::vector<std::string> encodings;  // names or patterns, perhaps with options; empty: all
  std::vector<std::string> tasks;      // names or patterns; empty: all
  std::vector<std::string> checks;     // names or patterns; empty: all
  double time_limit = 30;              // seconds of computing for one check; five times that in all
  double tolerance = 1;                // factor of every tolerance
  std::uint64_t seed = 1;              // of fuzzing
  std::optional<std::uint64_t> reproduce;        // one round of fuzzing, and nothing else
  double duration = 0;                           // seconds of fuzzing each encoding; 0: rounds
  std::function<void(const Finding&)> progress;  // called with each finding
};

struct Report {
  std::filesystem::path file;
  std::vector<std::string> encodings, tasks;  // that the library has, by name
  std::vector<Finding> findings;
  std::size_t count(Outcome) const;
  bool sound() const;  // nothing failed, crashed or timed out
};

// Checks one library. To be called before threads exist. Error (usage) when a filter of the
// settings is not well formed.
Report check_library(const std::filesystem::path& file, const Settings&);

// Names, strictness and meaning of all checks: rows of a table with a heading.
std::vector<std::vector<std::string>> list_of_checks();
// "12 passed, 1 failed, ...": outcomes that occurred, passed always.
std::string summary(const std::vector<Report>&);
Json to_json(const std::vector<Report>&);
std::string junit(const std::vector<Report>&);  // as CI servers read it

}  // namespace pesuite::checks
