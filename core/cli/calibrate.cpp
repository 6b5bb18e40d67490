// calibrate: what the verdicts of a report cost in false calls, and what they find.
#include "analysis/calibrate.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"

namespace pesuite::cli {

int calibrate_verb(const std::vector<std::string>& words) {
  Arguments a("calibrate [--runs N] [--csv FILE]",
              "Puts made-up results of encodings that do not differ through the rules of reports, "
              "and prints how often a difference is called: the tables of docs/statistics.md, "
              "between its lines <!-- calibration -->.\nExit code 0, or 1 where a rate is above "
              "what that page promises.");
  a.flags()("runs", po::value<int>()->default_value(4000), "made-up runs a cell of the tables")(
      "csv", po::value<std::string>(), "file for the rates of each shape");
  if (!a.parse(words)) return 0;
  const Calibration c =
      calibrate(static_cast<std::uint64_t>(a.count("runs", 100)),
                [](const std::string& what) { fmt::print(stderr, "{}\n", what); });
  fmt::print("{}", c.text);
  if (a.has("csv")) write_file_atomic(a.text("csv"), c.csv);
  for (const std::string& f : c.faults) fmt::print(stderr, "above what is promised: {}\n", f);
  return c.faults.empty() ? 0 : static_cast<int>(Exit::regression);
}

}  // namespace pesuite::cli
