#include "run/reproduce.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/planned.h"
#include "model/metrics.h"
#include "run/environment.h"

namespace pesuite {

namespace {

constexpr const char* numbers[] = {"value", "stderr", "n", "sum", "count", "low", "high", "chance"};

bool is_computed(const Json& record) {
  const std::string metric = record.value("metric", std::string());
  return !is_cost(metric);
}

std::string cell_of(const Json& record) {
  return fmt::format("{}·{}·{}·s{}", record.at("encoding").value("id", ""),
                     record.value("task", ""), record.value("model", ""),
                     record.value("seed", std::uint64_t{0}));
}

Json key_of(const Json& record) {
  Json key = {{"cell", cell_of(record)}};
  for (const char* name : {"part", "metric", "split", "step", "coords"})
    if (record.contains(name)) key[name] = record[name];
  return key;
}

Json line_of(const Json& record) {
  Json line = key_of(record);
  for (const char* name : numbers)
    if (record.contains(name)) line[name] = record[name];
  line["status"] = record.value("status", std::string());
  return line;
}

std::string place_of(const Json& record) {
  std::string out = fmt::format("{} {} at step {}", record.value("split", ""),
                                record.value("metric", ""), record.value("step", std::int64_t{0}));
  const Json coords = record.value("coords", Json::object());
  for (const auto& [name, value] : coords.items())
    out +=
        fmt::format(", {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

double relative_change(const Json& before, const Json& now) {
  if (!before.is_number() || !now.is_number()) return std::numeric_limits<double>::infinity();
  const double b = before.get<double>(), n = now.get<double>();
  return b == n ? 0 : std::abs(n - b) / std::abs(b);
}

OtherNumber other_number(const Json& before, const Json& now) {
  OtherNumber out;
  out.cell = cell_of(before), out.what = place_of(before);
  out.promised = before.value("determinism", std::string()) != "data";
  for (const char* name :
       {"status", "value", "stderr", "n", "sum", "count", "low", "high", "chance"}) {
    const Json none = "no record";
    const Json b = before.value(name, none), n = now.value(name, none);
    if (b == n) continue;
    if (std::string_view(name) != "value") out.what += fmt::format(", its {}", name);
    out.before = b.dump(), out.now = n.dump(), out.relative = relative_change(b, n);
    break;
  }
  return out;
}

struct Named {
  std::string encoding, task, model;
  std::uint64_t seed = 0;
  auto operator<=>(const Named&) const = default;
};
Named name_in(const Json& planned) {
  return {planned.at("encoding"), planned.at("task"), planned.at("model"), planned.at("seed")};
}

// What differs between the configuration that ran and the one that this program plans. Builds of
// plugins go to `builds`; everything else changes what is asked for.
std::string other_configuration(const Json& before, const Json& now,
                                std::set<std::string>& builds) {
  for (const Json& op : Json::diff(before, now)) {
    const std::string path = op.at("path");
    const Json::json_pointer at(path);
    const std::string was = before.contains(at) ? before.at(at).dump() : "not there";
    const std::string is = op.contains("value") ? op["value"].dump() : "not there";
    const std::string sentence = fmt::format("{} was {} and is {}", path.substr(1), was, is);
    if (!path.ends_with("/build")) return sentence;
    builds.insert(sentence);
  }
  return "";
}

class Reproducer {
 public:
  Reproducer(const fs::path& run, const RunOptions& options) : run_(run), options_(options) {
    read_what_ran();
    plan_again();
  }

  Reproduction result() {
    Reproduction out;
    note_surroundings();
    out.again = run_suite(suite_, *plan_, options_);
    out.notes = notes_, out.cells = plan_->cells.size();
    if (out.again.left > 0 || out.again.stopped_by != 0) return out;
    const std::vector<Json> now = read_records(out.again.folder / "records.jsonl").all;
    out.digest_before = digest_of_numbers(records_), out.digest_now = digest_of_numbers(now);
    std::map<std::string, std::pair<std::vector<Json>, std::vector<Json>>> cells;
    for (const Json& r : records_) cells[cell_of(r)].first.push_back(r);
    for (const Json& r : now) cells[cell_of(r)].second.push_back(r);
    for (const auto& [cell, both] : cells)
      if (const auto other = first_other_number(both.first, both.second))
        out.different.push_back(*other);
    return out;
  }

 private:
  void read_what_ran() {
    planned_ = read_plan(run_);
    for (const Json& c : planned_["cells"]) ids_.insert(c.at("cell").get<std::string>());
    if (!fs::exists(run_ / "records.jsonl"))
      fail(Exit::data, "{} is missing: there is nothing to compare with",
           (run_ / "records.jsonl").string());
    Records all = read_records(run_ / "records.jsonl");
    notes_ = all.notes;
    for (Json& r : all.all)  // others are left from before a plugin was built anew
      if (ids_.contains(r["cell"].get<std::string>())) records_.push_back(std::move(r));
    if (records_.empty())
      fail(Exit::data, "{} has no record of a cell of plan.json: there is nothing to compare with",
           (run_ / "records.jsonl").string());
  }

  void plan_again() {
    const fs::path file = run_ / "suite.resolved.toml";
    if (!fs::exists(file))
      fail(Exit::data, "{} is missing: it says what the run was asked for", file.string());
    suite_ = load_suite(file);
    std::set<std::string> recorded;
    for (const Json& r : records_) recorded.insert(r["cell"].get<std::string>());
    for (const Json& c : planned_["cells"])
      if (!recorded.contains(c["cell"].get<std::string>()))
        suite_.exclude.emplace_back(fmt::format(
            "encoding={} & task={} & model={} & seed={}", c.value("encoding", ""),
            c.value("task", ""), c.value("model", ""), c.value("seed", std::uint64_t{0})));
    if (recorded.size() < planned_["cells"].size())
      notes_.push_back(fmt::format("{} of the plan have no records and are left out",
                                   counted(planned_["cells"].size() - recorded.size(), "cell")));
    plan_ = make_plan(suite_, options_.plugin_path, Store(options_.out / "store"));
    compare_plans(recorded);
  }

  void compare_plans(const std::set<std::string>& recorded) {
    std::map<Named, const Json*> before;
    for (const Json& c : planned_["cells"])
      if (recorded.contains(c["cell"].get<std::string>())) before[name_in(c)] = &c;
    std::set<std::string> builds;
    const Json now = to_json(*plan_, suite_);
    for (const Json& c : now["cells"]) {
      const auto it = before.find(name_in(c));
      std::string other = it == before.end() ? "the run did not have it" : "";
      if (other.empty()) other = other_configuration(it->second->at("config"), c["config"], builds);
      if (other.empty() && it->second->at("evals") != c["evals"])
        other = "its evaluations are not the same";
      if (!other.empty())
        fail(Exit::data,
             "{}: this program would compute something else, so nothing was run: of the cell "
             "{}·{}·{}·s{} {}. Build the commit that computed it{}",
             run_.string(), c.value("encoding", ""), c.value("task", ""), c.value("model", ""),
             c.value("seed", std::uint64_t{0}), other, commit_of_the_run());
      before.erase(it);
    }
    if (!before.empty())
      fail(Exit::data, "{}: this program plans no cell of the encoding {} and the task {}",
           run_.string(), before.begin()->first.encoding, before.begin()->first.task);
    for (const std::string& b : builds) notes_.push_back("another build: " + b);
  }

  std::string commit_of_the_run() const {
    const Json start = last_start();
    const std::string commit = start.value("/pesuite/commit"_json_pointer, std::string());
    return commit.empty() ? "" : ", " + commit;
  }
  Json last_start() const {
    if (!fs::exists(run_ / "env.json")) return Json::object();
    const Json env = Json::parse(read_file(run_ / "env.json"), nullptr, false);
    if (!env.is_object()) return Json::object();
    return env.contains("starts") && !env["starts"].empty() ? env["starts"].back() : env;
  }

  void note_surroundings() {
    const Json before = last_start();
    const Json now = environment(open_catalog(plugin_search_path(options_.plugin_path)));
    for (const char* what : {"/pesuite/commit", "/pesuite/compiler", "/pesuite/build_type",
                             "/pesuite/flags", "/cpu/model", "/system/machine"}) {
      const Json::json_pointer at(what);
      if (before.contains(at) && before.at(at) != now.at(at))
        notes_.push_back(
            fmt::format("{} was {} and is {}", what + 1, before.at(at).dump(), now.at(at).dump()));
    }
  }

  const fs::path run_;
  const RunOptions& options_;
  Json planned_;
  std::set<std::string> ids_;
  std::vector<Json> records_;
  Suite suite_;
  std::optional<Plan> plan_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string OtherNumber::sentence() const {
  return fmt::format("{}: {}, was {} and is {}{}", cell, what, before, now,
                     std::isfinite(relative) && relative > 0
                         ? fmt::format(", a change of {:.1e} of it", relative)
                         : "");
}

std::string digest_of_numbers(const std::vector<Json>& records) {
  std::vector<std::string> lines;
  for (const Json& r : records)
    if (is_computed(r)) lines.push_back(canonical(line_of(r)));
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return "sha256:" + sha256(all);
}

std::optional<OtherNumber> first_other_number(const std::vector<Json>& before,
                                              const std::vector<Json>& now) {
  std::map<std::string, const Json*> computed;
  for (const Json& r : now)
    if (is_computed(r)) computed[canonical(key_of(r))] = &r;
  for (const Json& r : before) {
    if (!is_computed(r)) continue;
    const auto it = computed.find(canonical(key_of(r)));
    const Json none = {{"status", "no record"}};
    const Json& again = it == computed.end() ? none : *it->second;
    if (it == computed.end() || line_of(r) != line_of(again)) return other_number(r, again);
    computed.erase(it);
  }
  if (computed.empty()) return std::nullopt;
  const Json& more = *computed.begin()->second;
  OtherNumber out;
  out.cell = cell_of(more), out.what = place_of(more);
  out.before = "no record", out.now = more.value("value", Json()).dump();
  out.relative = std::numeric_limits<double>::infinity();
  return out;
}

Reproduction reproduce(const fs::path& run, const RunOptions& options) {
  return Reproducer(run, options).result();
}

}  // namespace pesuite
