// calibrate: what the verdicts of a report cost in false calls, and what they find.
#include "analysis/calibrate.h"

#include <fmt/format.h>

#include "analysis/gate_simulation.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"

namespace pesuite::cli {

namespace {

void say_progress(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
}

int end_with(const std::vector<std::string>& faults) {
  for (const std::string& f : faults) fmt::print(stderr, "not as promised: {}\n", f);
  return faults.empty() ? 0 : static_cast<int>(Exit::regression);
}

}  // namespace

int calibrate_verb(const std::vector<std::string>& words) {
  Arguments a("calibrate [--gate] [--runs N] [--csv FILE]",
              "Puts made-up results of encodings that do not differ through the rules of reports, "
              "and prints how often a difference is called: the tables of docs/statistics.md, "
              "between its lines <!-- calibration -->.\n"
              "--gate: the same of the gate against regressions, beside other rules: the tables of "
              "docs/regressions.md, between its lines <!-- gate -->.\nExit code 0, or 1 where a "
              "rate is above "
              "what that page promises.");
  a.flags()("runs", po::value<int>()->default_value(4000), "made-up runs a cell of the tables")(
      "csv", po::value<std::string>(), "file for the rates of each shape")(
      "gate", po::bool_switch(), "of the gate against regressions instead");
  if (!a.parse(words)) return 0;
  const auto runs = static_cast<std::uint64_t>(a.count("runs", 100));
  if (a.flag("gate")) {
    const GateSimulation s = simulate_gate(runs, say_progress);
    fmt::print("{}", s.text);
    return end_with(s.faults);
  }
  const Calibration c = calibrate(runs, say_progress);
  fmt::print("{}", c.text);
  if (a.has("csv")) write_file_atomic(a.text("csv"), c.csv);
  return end_with(c.faults);
}

}  // namespace pesuite::cli
