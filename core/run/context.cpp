#include "run/context.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "plan/trainings.h"
#include "run/cell_log.h"

namespace pesuite {

Plan plan_of_all(const Suite& suite, const Plan& plan, const RunOptions& options,
                 const Store& store) {
  if (suite.only.empty()) return plan;
  Suite whole = suite;
  whole.only.clear();
  try {
    return make_plan(whole, options.plugin_path, store);
  } catch (const Error&) {
    return plan;  // what is left out cannot run, and need not
  }
}

void write_run_context(const Suite& suite, const Plan& whole, const fs::path& run,
                       const Store& store) {
  write_file_atomic(
      run / "suite.resolved.toml",
      fmt::format("# What this run was asked for, whole: no other file is needed.\n# From {}{}{}\n",
                  suite.file.string(), suite.asked.empty() ? "" : " with ", suite.asked) +
          to_toml(suite.resolved));
  write_file_atomic(run / "plan.json", to_json(whole, suite).dump(1) + "\n");
  std::vector<PlannedCell> all = whole.cells;
  all.insert(all.end(), whole.trunks.begin(), whole.trunks.end());
  refresh_all(all, store);
  write_cell_log(run, all);
}

std::vector<std::string> tidy_run(const fs::path& run, std::vector<std::string>& notes) {
  for (const char* inner : {"", "tables", "figures", "attention"}) sweep_temporaries(run / inner);
  std::vector<std::string> damaged = damaged_files(run);
  for (const std::string& name : damaged)
    notes.push_back(
        fmt::format("{} is not what the run wrote, and is written anew", (run / name).string()));
  unseal_run(run);
  return damaged;
}

void sweep_finished_cells(const std::vector<PlannedCell>& cells, const Store& store) {
  for (const PlannedCell& c : cells) {
    if (!fs::exists(store.cell(c.id))) continue;
    FileLock lock(store.cell(c.id) / ".lock");
    if (!lock.try_take()) continue;
    for (const fs::path& folder : {store.cell(c.id), store.checkpoints(c.id)})
      sweep_temporaries(folder);
  }
}

void start_over(const PlannedCell& c, const Store& store) {
  std::error_code ignored;
  if (c.state == PlannedCell::State::failed) {
    fs::remove(store.status(c.id), ignored);
    return;
  }
  fs::remove_all(store.cell(c.id), ignored);
  if (c.trains) fs::remove_all(store.cell(c.training), ignored);
}

int default_jobs(int threads) {
  return std::max(1, usable_cores() / std::max(1, threads));
}

int jobs_of(const RunOptions& o, int threads, const Plan& plan) {
  if (o.jobs > 0) return o.jobs;
  const bool on_devices = !plan.cells.empty() && plan.cells[0].config.backend == "cuda";
  if (!on_devices && o.devices.empty()) return o.launch.empty() ? default_jobs(threads) : 1;
  const int devices = std::max(1, static_cast<int>(o.devices.size()));
  if (!o.launch.empty()) return devices;
  return std::max(devices, std::min(devices * cells_a_device(plan), default_jobs(threads)));
}

fs::path run_folder(const Suite& suite, const fs::path& out) {
  Json identity = suite.resolved;
  identity.erase("track");  // who hears of it changes nothing
  identity["seeds"] = suite.seeds;
  const std::string ending =
      fmt::format("-{}-{}", suite.name, sha256(canonical(identity)).substr(0, 8));
  const fs::path runs = out / "runs";
  fs::path latest;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(runs, error))
    if (item.path().filename().string().ends_with(ending)) latest = std::max(latest, item.path());
  return latest.empty() ? runs / (utc_timestamp_compact() + ending) : latest;
}

}  // namespace pesuite
