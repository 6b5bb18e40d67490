// The machine, the build and the settings that a run happened under.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/json.h"
#include "plugin/library.h"

namespace pesuite {

Json environment(const Catalog&);

// env.json of a run: an entry for each start, and in it what computed the cells. Several processes
// may write it, if each holds a lock of their own meanwhile.
class EnvironmentFile {
 public:
  // Adds an entry to those of earlier starts. `start` has what environment() says and how the run
  // was asked for.
  EnvironmentFile(fs::path file, Json start);
  // Notes what computed a cell; each cell counts once for it.
  void add_cell(const std::string& cell, const Json& computed_by);

 private:
  void write(const Json& starts) const;
  fs::path file_;
  Json own_;                                            // entry
  std::size_t place_ = 0;                               // of it among all
  std::map<std::string, std::set<std::string>> cells_;  // by what computed them
};

std::string program_version();  // "pesuite 0.1.0"
std::string build_date();       // of the commit that is built, "2026-11-23"; "" where unknown
std::string build_summary();    // "pesuite 0.1.0 (commit abc1234, g++ 12.2.0, Release)"

}  // namespace pesuite
