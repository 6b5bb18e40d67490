#include "run/prefix.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/group.h"
#include "base/error.h"
#include "base/isolate.h"
#include "base/text.h"
#include "run/stage.h"

namespace pesuite {

namespace {

constexpr int prefix_batch = 8;         // examples of a step, where the suite has more
constexpr int prefix_examples = 4;      // of an evaluation
constexpr double prefix_seconds = 120;  // a machine may be busy

// By how much numbers may differ, as a share: about 15 times what rounding grew to in so few steps
// between AVX2 and AVX-512 (9e-9 of losses, 2e-7 of norms), and in bf16 about 8 times of that
// between AVX-512 with and without products in bf16 (1.1e-5 and 1.9e-4; rounding by truncation
// makes norms differ by 3.3e-3). fp16 rounds less than bf16.
struct Tolerance {
  double loss, norm;
};
Tolerance tolerance_of(const std::string& precision) {
  return precision == "fp32" ? Tolerance{2e-7, 3e-6} : Tolerance{1e-4, 1.5e-3};
}

struct PrefixWork {
  const PlannedCell* cell;
  Precision precision;
  int steps;
};

std::vector<PrefixWork> works_of(const Plan& plan) {
  std::vector<PrefixWork> out;
  std::set<std::tuple<std::string, std::string, std::string>> met;
  std::set<std::string> tasks, models;
  for (const PlannedCell& c : plan.cells) {
    if (!met.insert({c.encoding, c.task, c.model}).second) continue;
    const bool first = tasks.insert(c.task).second;
    out.push_back({&c, c.config.precision, first ? long_prefix_steps : prefix_steps});
    if (models.insert(c.model).second && c.config.backend == "cpu" &&
        c.config.precision == Precision::fp32)
      out.push_back({&c, Precision::bf16, prefix_steps});
  }
  return out;
}

// What its training begins with, in small batches.
CellConfig config_of(const PrefixWork& w) {
  CellConfig c = w.cell->config;
  while (!c.switches.empty()) c = trunk_of(c);
  c = training_of(c);
  c.precision = w.precision;
  c.train.batch = std::min(c.train.batch, prefix_batch);
  c.train.micro_batch = 0;
  c.train.log_every = c.train.eval_every = c.train.checkpoint_every = 0;
  c.train.keep_best = false;
  return c;
}

double finite_or_none(double x) {  // JSON has no other
  return std::isfinite(x) ? x : -1;
}

Json evaluations_of(const PrefixWork& w, Stage& stage, const Task& task, std::int64_t step) {
  Json out = Json::array();
  std::set<int> done;
  const std::vector<CellEval>& all = w.cell->evals;
  for (const CellEval* e :
       {all.empty() ? nullptr : &all.front(), all.empty() ? nullptr : &all.back()}) {
    if (e == nullptr || e->probe || !done.insert(e->length).second) continue;
    EvalConfig config = eval_config_of(w.cell->config, e->config);
    config.examples = std::min(config.examples, prefix_examples);
    for (const Observation& o :
         evaluate(stage.model(), task, config, e->length, w.cell->config.seed, step))
      if (o.metric == "nll" && o.whole()) {
        out.push_back(finite_or_none(o.value));
        break;
      }
  }
  return out;
}

Json run_one(const PrefixWork& w, const std::vector<std::string>& plugin_path) {
  const Catalog catalog = open_catalog(plugin_search_path(plugin_path));
  const CellConfig config = config_of(w);
  Group alone;
  const Task task(catalog, parse_expression(config.task, "task"), config.train.length,
                  std::max(w.cell->longest, w.cell->config.max_length), w.cell->reach);
  const auto backend = open_backend(
      config.backend, {.threads = 1, .precision = w.precision, .device = alone.device()});
  Stage stage(catalog, *backend, task, config, alone);
  stage.begin(config);
  Json losses = Json::array(), norms = Json::array();
  double before = 0;
  stage.watch.progress = [&](const TrainState& s, double loss) {
    losses.push_back(finite_or_none(loss));
    norms.push_back(finite_or_none(s.norm - before));
    before = s.norm;
  };
  stage.train({}, w.steps);
  Json out = {{"losses", losses}, {"norms", norms}, {"cursor", stage.state.cursor}};
  if (w.precision == w.cell->config.precision && w.cell->config.evaluation.empty() &&
      w.cell->config.switches.empty())
    out["evaluated"] = evaluations_of(w, stage, task, stage.state.step);
  return out;
}

Json told(const PrefixWork& w, const Isolated& r) {
  Json out = {{"encoding", w.cell->encoding},
              {"task", w.cell->task},
              {"model", w.cell->model},
              {"precision", precision_name(w.precision)},
              {"asked", w.precision == w.cell->config.precision}};
  if (r.end == Isolated::End::returned)
    out.update(Json::parse(r.text));
  else
    out["failed"] = r.text;
  return out;
}

std::string name_of(const Json& j) {
  return fmt::format("{} on {} ({}, {})", j.at("encoding").get<std::string>(),
                     j.at("task").get<std::string>(), j.at("model").get<std::string>(),
                     j.at("precision").get<std::string>());
}

// The first number of a list that differs by more than may be, as a sentence; "" for none.
std::string first_other(const Json& before, const Json& now, const char* key, const char* what,
                        double most, bool& same_bits) {
  if (!before.contains(key) || !now.contains(key)) return "";
  const std::size_t n = std::min(before.at(key).size(), now.at(key).size());
  for (std::size_t i = 0; i < n; ++i) {
    const double a = before.at(key)[i], b = now.at(key)[i];
    if (a == b) continue;
    same_bits = false;
    if (std::abs(a - b) <= most * std::max(std::abs(a), 1e-3)) continue;
    return fmt::format("{} {} is {:.7g}, was {:.7g} (off by {:.2g}, {:.0e} is rounding)", what,
                       i + 1, b, a, std::abs(a - b) / std::max(std::abs(a), 1e-3), most);
  }
  return "";
}

std::string violation_of(const Json& before, const Json& now, bool& same_bits) {
  const bool asked = now.value("asked", true);  // a machine need not have other precisions
  if (now.contains("failed") != before.contains("failed"))
    return now.contains("failed") && asked
               ? fmt::format("it fails now: {}", now.at("failed").get<std::string>())
               : "";
  const Tolerance t = tolerance_of(now.at("precision"));
  if (before.value("cursor", 0) != now.value("cursor", 0))
    return fmt::format("{} examples are read in its first steps, were {}", now.value("cursor", 0),
                       before.value("cursor", 0));
  for (const auto& [key, what, most] : {std::tuple{"losses", "loss of step", t.loss},
                                        {"norms", "gradient norm of step", t.norm},
                                        {"evaluated", "nats of evaluation", t.loss}})
    if (std::string found = first_other(before, now, key, what, most, same_bits); !found.empty())
      return found;
  return "";
}

}  // namespace

Json run_prefix(const Plan& plan, const std::vector<std::string>& plugin_path, int jobs) {
  const std::vector<PrefixWork> works = works_of(plan);
  std::vector<std::function<std::string()>> bodies;
  for (const PrefixWork& w : works)
    bodies.push_back([&] { return run_one(w, plugin_path).dump(); });
  const std::vector<Isolated> results = run_isolated(bodies, prefix_seconds, jobs);
  Json out = Json::array();
  for (std::size_t i = 0; i < works.size(); ++i) out.push_back(told(works[i], results[i]));
  return out;
}

PrefixCheck check_prefix(const Json& before, const Json& now) {
  PrefixCheck out;
  for (const Json& a : before)
    for (const Json& b : now) {
      if (name_of(a) != name_of(b)) continue;
      ++out.compared;
      if (const std::string what = violation_of(a, b, out.same_bits); !what.empty()) {
        out.same_bits = false;
        out.violations.push_back(fmt::format("{}: {}", name_of(b), what));
      }
    }
  return out;
}

}  // namespace pesuite
