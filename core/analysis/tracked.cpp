#include "analysis/tracked.h"

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "model/metrics.h"

namespace pesuite {

namespace {

bool is_cost_of_run(const std::string& metric) {
  return metric == "tokens_per_s" || metric == "peak_memory";
}

bool is_fine_grained(const Json& coords) {
  for (const char* key : {"pos_lo", "dist_lo", "probe", "layer", "head", "band"})
    if (coords.contains(key)) return true;
  return false;
}

bool is_followed(const Json& r, Follow how) {
  const std::string metric = r.value("metric", ""), part = r.value("part", "");
  if (metric == "cell") return true;
  if (is_cost_of_run(metric)) return how != Follow::results;
  if (is_cost(metric)) return false;  // times of single stretches are noise
  if (r.value("direction", "none") == "none") return false;
  if (part == "train") return r.value("split", "") == "val" && metric == "nll";
  return how == Follow::all || !is_fine_grained(r.value("coords", Json::object()));
}

Tracked series_of(const Json& r) {
  Tracked t;
  t.suite = r.value("suite", ""), t.task = r.value("task", ""), t.model = r.value("model", "");
  if (r.contains("encoding")) t.encoding = r["encoding"].value("id", "");
  t.metric = r.value("metric", ""), t.unit = r.value("unit", "");
  t.direction = is_cost_of_run(t.metric) ? (t.metric == "peak_memory" ? "lower" : "higher")
                                         : r.value("direction", "none");
  t.split = r.value("split", ""), t.series = r.value("series", "");
  t.coords = r.value("coords", Json::object());
  t.id = sha256(canonical({{"suite", t.suite},
                           {"encoding", t.encoding},
                           {"task", t.task},
                           {"model", t.model},
                           {"metric", t.metric},
                           {"split", t.split},
                           {"series", t.series},
                           {"coords", t.coords}}))
             .substr(0, 16);
  return t;
}

Observed observed(const Json& r) {
  Observed o;
  o.status = r.value("status", "ok"), o.ts = r.value("ts", "");
  if (r.contains("value") && r["value"].is_number()) o.value = r["value"].get<double>();
  if (r.contains("stderr") && r["stderr"].is_number()) o.standard_error = r["stderr"].get<double>();
  return o;
}

}  // namespace

std::string Tracked::place() const {
  std::string out = metric == "cell" ? "failures" : metric;
  if (split == "val") out = "validation " + out;
  const auto text = [](const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); };
  if (coords.contains("eval_len")) out += " at " + text(coords["eval_len"]);
  for (const auto& [key, value] : coords.items()) {
    if (key == "train_len" || key == "eval_len" || value.is_null()) continue;
    out += key == "protocol" ? ", " + text(value) : fmt::format(", {} {}", key, text(value));
  }
  return out;
}

std::string Tracked::name() const {
  return fmt::format("{} · {} · {} · {}", task, encoding, model, place());
}

std::vector<Tracked> tracked(const std::vector<Json>& records, Follow how) {
  std::vector<Tracked> out;
  std::map<std::string, std::size_t> known;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> last;  // step of a validation loss
  for (const Json& r : records) {
    if (!is_followed(r, how)) continue;
    Tracked t = series_of(r);
    const auto seed = r.value("seed", std::uint64_t{0});
    const auto step = r.value("step", std::int64_t{0});
    const auto at = last.emplace(std::pair(t.id, seed), step);
    if (!at.second && step < at.first->second) continue;
    at.first->second = step;
    const auto [it, is_new] = known.emplace(t.id, out.size());
    if (is_new) out.push_back(std::move(t));
    out[it->second].seeds[seed] = observed(r);
  }
  return out;
}

double change_that_counts(const std::string& name, double level) {
  for (const Metric& m : metrics())
    if (m.name == name && m.matters > 0) return m.matters / 4;
  return std::abs(level) * (is_cost_of_run(name) ? 0.05 : 0.01);
}

}  // namespace pesuite
