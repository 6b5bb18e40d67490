#include "cli/list_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/run_data.h"
#include "base/error.h"
#include "cell/cell.h"
#include "cell/planned.h"
#include "cli/catalog.h"
#include "cli/sides.h"
#include "run/cell_log.h"

namespace pesuite::cli {

namespace {

// Of a folder, or of its files with this ending, in the order of their names.
std::vector<fs::path> items_of(const fs::path& folder, const char* ending = "") {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& item : fs::directory_iterator(folder, none))
    if (*ending == 0 ? item.is_directory(none) : item.path().extension() == ending)
      out.push_back(item.path());
  std::sort(out.begin(), out.end());
  return out;
}

void describe_plan(const fs::path& run, const Store& store, Json& j) {
  const Json plan = read_plan(run);
  j["suite"] = plan.value("suite", "");
  std::set<std::string> encodings, tasks, seeds;
  for (const Json& c : plan["cells"]) {
    encodings.insert(c["encoding"].get<std::string>());
    tasks.insert(c["task"].get<std::string>());
    seeds.insert(c["seed"].dump());
  }
  j["encodings"] = encodings.size(), j["tasks"] = tasks.size(), j["seeds"] = seeds.size();
  const RunStanding s = read_standing(run, store);
  j["done"] = s.done + s.diverged, j["failed"] = s.failed, j["running"] = s.running;
  j["left"] = s.left;
}

// Imported ones, and those of before there were plans.
void describe_records(const fs::path& run, Json& j) {
  const RunData data = read_run(run);
  j["suite"] = data.suite;
  j["encodings"] = data.encodings.size(), j["tasks"] = data.tasks.size();
  j["seeds"] = data.seeds.size(), j["done"] = data.cells;
}

Json run_json(const fs::path& run, const Store& store) {
  Json j = {{"name", run.filename().string()}};
  try {
    if (fs::exists(run / plan_file))
      describe_plan(run, store, j);
    else
      describe_records(run, j);
    j["imported"] = fs::exists(run / "source.json");
    j["report"] = fs::exists(run / "report.html") ? (run / "report.html").string() : "";
  } catch (const Error& e) {
    j["error"] = e.what();
  }
  return j;
}

std::string standing_of(const Json& j) {
  std::string out = fmt::format("{} done", j.value("done", 0));
  for (const char* state : {"running", "failed", "left"})
    if (const int n = j.value(state, 0); n > 0) out += fmt::format(", {} {}", n, state);
  return j.value("imported", false) ? "imported" : out;
}

}  // namespace

int list_runs(const Arguments& a) {
  const fs::path out = a.text("out");
  const Store store(out / "store");
  Json all = Json::array();
  for (const fs::path& run : items_of(out / "runs")) all.push_back(run_json(run, store));
  if (a.flag("json")) {
    print_json(all);
    return 0;
  }
  if (all.empty()) {
    fmt::print(stderr, "no run in {}; --out names another folder of results\n",
               (out / "runs").string());
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"run", "suite", "encodings", "tasks", "seeds", "cells", "report"}};
  for (const Json& j : all) {
    const auto number = [&](const char* key) { return fmt::format("{}", j.value(key, 0)); };
    if (j.contains("error"))
      rows.push_back({j["name"], "", "", "", "", j["error"], ""});
    else
      rows.push_back({j["name"], j.value("suite", ""), number("encodings"), number("tasks"),
                      number("seeds"), standing_of(j),
                      j.value("report", "").empty() ? "no" : "yes"});
  }
  fmt::print("{}", plain_table(rows));
  return 0;
}

std::string summary_of(const Baseline& b) {
  const Measurement& m = b.measured;
  return fmt::format(
      "{} series of suite '{}', {}, {}", m.series.size(), m.suite, counted(m.seeds.size(), "seed"),
      m.calibration.empty() ? "not calibrated"
                            : fmt::format("calibrated ({} series)", m.calibration.size()));
}

int list_baselines(const Arguments& a) {
  Json all = Json::array();
  for (const fs::path& f : items_of(baselines_folder(a), ".json")) {
    Json j = {{"name", f.stem().string()}};
    try {
      const Baseline b = read_baseline(f);
      const BaselineNote last = b.history.empty() ? BaselineNote() : b.history.back();
      j["last_change"] = last.time.substr(0, 10) + " " + last.what;
      j["holds"] = summary_of(b);
    } catch (const Error& e) {
      j["error"] = e.what();
    }
    all.push_back(std::move(j));
  }
  if (a.flag("json")) {
    print_json(all);
    return 0;
  }
  if (all.empty()) {
    fmt::print(stderr, "no baseline in {}; 'pesuite baseline save NAME RUN' makes one\n",
               baselines_folder(a).string());
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"name", "last change", "what it holds"}};
  for (const Json& j : all)
    rows.push_back({j["name"], j.value("last_change", ""), j.value("holds", j.value("error", ""))});
  fmt::print("{}", plain_table(rows));
  return 0;
}

}  // namespace pesuite::cli
