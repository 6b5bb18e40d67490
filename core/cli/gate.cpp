#include "cli/gate.h"

#include <fmt/format.h>

#include "analysis/run_data.h"
#include "base/error.h"
#include "run/environment.h"
#include "run/prefix.h"
#include "run/run.h"
#include "suite/suite.h"

namespace pesuite::cli {

void keep_calibration(const fs::path& file, Baseline& b, const GateCalibration& c,
                      const std::string& kind, const Json& prefix) {
  for (const auto& [name, calibrated] : c.series) b.measured.calibration[name] = calibrated;
  b.measured.mean_calibration = c.means;
  b.measured.calibrated_by = kind;
  b.false_alarms = c.false_alarms;
  b.prefix = prefix;
  b.history.push_back({utc_timestamp(), who_is_it(), "calibrated",
                       fmt::format("{} that differ in {}", counted(c.pairs, "pair"), kind)});
  write_baseline(file, b);
}

Json prefix_of_run(const fs::path& run, const std::vector<std::string>& plugin_path,
                   std::vector<std::string>& notes) {
  try {
    const RunData data = read_run(run);
    const Catalog catalog = open_catalog(plugin_search_path(plugin_path));
    const Json here = environment(catalog);
    if (data.starts.empty() || data.starts.back().value("pesuite", Json()) != here.at("pesuite")) {
      notes.push_back(
          "another build of pesuite recorded this run: the baseline has no golden prefix, until "
          "'pesuite regress calibrate' or 'baseline accept' of a run of this build writes one");
      return nullptr;
    }
    Problems problems;
    SuiteChoices one_seed;
    one_seed.seeds = {*data.seeds.begin()};
    const Suite suite = load_suite(run / "suite.resolved.toml", one_seed, problems);
    const Plan plan = make_plan(suite, plugin_path, Store(run / "none"), problems);
    return run_prefix(plan, plugin_path, default_jobs(1));
  } catch (const Error& e) {
    notes.push_back(fmt::format("the baseline has no golden prefix: {}", e.what()));
    return nullptr;
  }
}

}  // namespace pesuite::cli
