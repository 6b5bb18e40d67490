// Kept runs, as the documentation tells of them: what each encoding was measured to do, beside what
// papers claim.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "plugin/measured.h"

namespace pesuite::cli {

struct Written {  // an encoding of a suite
  std::string expression;
  std::vector<std::string> names;  // of what is evaluated
  std::string trained;             // what training began with, where that is another; else ""
  double factor = 0;               // of an extension; 0: none
};
struct KeptRun {
  RunData data;
  std::map<std::string, Written> written;                // by id
  const Written& encoding(const std::string& id) const;  // Error (data) where the suite has none
};

// Those below a folder, docs/results, by name.
std::vector<KeptRun> kept_runs(const fs::path& folder);
Measured measured_in(std::vector<KeptRun>&);

// Rows "hypothesis | verdict | numbers" of one run, as its part of docs/results.md has them.
std::string claims_table(const Measured&, const std::string& suite);
// The page with what a judge says of each line "  `EXPR`: ...": those below one heading are judged
// together, on the run whose report stands there. Error (data) for a line that cannot be judged.
std::string with_verdicts(const std::string& page, std::vector<KeptRun>&);

// What was measured of an encoding, for its page.
std::string measured_markdown(const Json& card, const Measured&);
// Two tables for a terminal: a row a task of a run, a row a claim that names it.
std::string measured_rows_text(const std::string& encoding, const Measured&);

}  // namespace pesuite::cli
