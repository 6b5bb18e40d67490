// The records of a run: what the store has of its cells, and why others failed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cell/record.h"
#include "plan/plan.h"

namespace pesuite {

class RunRecords {
 public:
  // Of the run in `folder`. `notes` hears of lines that are no records.
  RunRecords(const Suite& suite, const Store& store, fs::path folder,
             std::vector<std::string>& notes);

  bool changed() const { return file_.changed(); }
  // Copies what the store has of cells, with attention maps; trunks have no records.
  void copy(const std::vector<PlannedCell>&);
  void add_failure(const PlannedCell&, const std::string& kind, const std::string& reason);
  void forget(const PlannedCell& c) { file_.forget(c.id); }
  // Takes out what nobody can vouch for: `copy` brings back what the store has. Failures are kept
  // as the store tells them. `planned`: ids of all cells of the suite.
  void repair(const std::set<std::string>& planned, const std::vector<PlannedCell>&);
  // Ids of cells with a failure, ascending, and forgetting it.
  std::vector<std::string> failed_cells() { return file_.failed_cells(); }
  void forget_failure(const std::string& id) { file_.forget(id, "failure"); }

 private:
  void collect(const PlannedCell&, std::vector<RecordFile::Part>&) const;
  void copy_maps(const PlannedCell&, const CellEval&, const std::string& part) const;

  const Suite& suite_;
  const Store& store_;
  fs::path folder_;
  RecordFile file_;
};

}  // namespace pesuite
