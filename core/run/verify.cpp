#include "run/verify.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "model/metrics.h"
#include "model/safetensors.h"

namespace pesuite {

namespace {

// The lines of a file of the store, without what is not computed from the cell: times and memory.
std::vector<Json> numbers_in(const fs::path& file) {
  std::vector<Json> out;
  for (Json j : read_observations(file)) {
    const std::string metric = j.value("metric", std::string());
    if (is_cost(metric)) continue;
    for (const char* key : {"ts", "wall_s", "determinism"}) j.erase(key);
    out.push_back(std::move(j));
  }
  return out;
}

// The first line that differs, as the end of a sentence; "" where none does.
std::string first_difference(const fs::path& before, const fs::path& now) {
  const std::vector<Json> a = numbers_in(before), b = numbers_in(now);
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    const Json none = nullptr;
    return fmt::format("{} {} at step {}, {}, is {} and then {}", a[i].value("split", ""),
                       a[i].value("metric", ""), a[i].value("step", std::int64_t{0}),
                       a[i].value("coords", Json::object()).dump(),
                       a[i].value("value", none).dump(), b[i].value("value", none).dump());
  }
  if (a.size() == b.size()) return "";
  return fmt::format("{} has {} records and then {}", before.filename().string(), a.size(),
                     b.size());
}

std::string first_other_weight(const fs::path& before, const fs::path& now) {
  if (fs::exists(before) != fs::exists(now)) return "one of two trainings left no weights";
  if (!fs::exists(before)) return "";
  const SafetensorsReader a(before), b(now);
  const std::string bytes_a = read_file(before), bytes_b = read_file(now);
  for (const auto& [name, t] : a.tensors()) {
    if (!b.has(name)) return fmt::format("only the first training has weights '{}'", name);
    const TensorEntry& u = b.tensors().at(name);
    if (std::string_view(bytes_a).substr(t.begin, t.end - t.begin) !=
        std::string_view(bytes_b).substr(u.begin, u.end - u.begin))
      return fmt::format("weights '{}' differ", name);
  }
  return "";
}

std::string difference(const PlannedCell& c, const Store& before, const Store& now) {
  std::string found = first_difference(before.training(c.training), now.training(c.training));
  for (const CellEval& e : c.evals) {
    if (!found.empty()) return found;
    const std::string part = part_id(e);
    found = first_difference(before.evaluation(c.id, part), now.evaluation(c.id, part));
  }
  if (!found.empty()) return found;
  return first_other_weight(before.checkpoint(c.training), now.checkpoint(c.training));
}

}  // namespace

Verified verify_determinism(const Suite& suite, const RunOptions& of_the_run) {
  RunOptions options = of_the_run;
  options.out = of_the_run.out / "verify";
  options.rerun.clear();
  std::error_code ignored;
  fs::remove_all(options.out, ignored);  // of a comparison that was cut off, or found something
  const Store before(of_the_run.out / "store"), now(options.out / "store");
  const Plan plan = make_plan(suite, options.plugin_path, now);
  Verified out;
  out.again = run_suite(suite, plan, options);
  if (out.again.left > 0) return out;
  for (const PlannedCell& c : plan.cells) {
    const std::string found = difference(c, before, now);
    if (found.empty())
      ++out.equal;
    else
      out.different.push_back(fmt::format("{}: {}", c.label(), found));
  }
  if (out.different.empty()) fs::remove_all(options.out, ignored);
  return out;
}

}  // namespace pesuite
