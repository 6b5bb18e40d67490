#include "run/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/toml.h"
#include "run/run.h"

namespace pesuite {

namespace {

bool tries(const SuiteTask& t, double rate) {
  const auto& all = t.train.tuning.rates;
  return std::find(all.begin(), all.end(), rate) != all.end();
}

// Mean final validation loss of an encoding's cells; NaN where a seed has none, infinite where one
// diverged.
double loss_of(const TaskData& t, std::size_t encoding) {
  double sum = 0;
  for (const std::uint64_t seed : t.seeds) {
    const CellData* c = t.cell(encoding, seed);
    if (c == nullptr) return Number::none;
    if (c->status == "diverged") return std::numeric_limits<double>::infinity();
    const auto curve = c->curves.find("val nll");
    if (curve == c->curves.end() || curve->second.empty()) return Number::none;
    sum += curve->second.rbegin()->second;
  }
  return sum / static_cast<double>(t.seeds.size());
}

// The same changes in the suite as its file has it, so that the run's own file is whole.
Json resolved_for_tuning(Json r, const Suite& s, double rate,
                         const std::set<std::string>& left_out) {
  r["name"] = s.name;
  r["defaults"]["seeds"] = s.seeds;
  r.erase("hypothesis");
  if (r.contains("train")) r["train"].erase("tune");
  Json tasks = Json::array(), evals = Json::array();
  for (std::size_t i = 0; i < r["task"].size(); ++i) {
    Json t = r["task"][i];
    if (left_out.contains(element_name(t, i))) continue;
    Json& train = t["train"];  // null where the task says nothing of its own
    if (train.is_object()) train.erase("tune"), train.erase("lr");
    train["optimizer"]["lr"] = rate;
    tasks.push_back(std::move(t));
  }
  for (Json e : r.value("eval", Json::parse("[{}]"))) {
    if (left_out.contains(e.value("task", "*"))) continue;
    e["examples"] = 1;
    e.erase("axes");
    evals.push_back(std::move(e));
  }
  r["task"] = std::move(tasks), r["eval"] = std::move(evals);
  return r;
}

}  // namespace

std::vector<double> tuning_rates(const Suite& s) {
  std::set<double> all;
  for (const SuiteTask& t : s.tasks)
    all.insert(t.train.tuning.rates.begin(), t.train.tuning.rates.end());
  return {all.begin(), all.end()};
}

Suite tuning_suite(const Suite& suite, double rate) {
  Suite s = suite;
  s.name = fmt::format("{}-tuning-{}", suite.name, format_number(rate));
  s.hypotheses.clear();
  s.rates.clear();
  std::set<std::string> left_out;
  std::set<std::uint64_t> seeds;
  std::erase_if(s.tasks, [&](const SuiteTask& t) {
    if (!tries(t, rate)) left_out.insert(t.id);
    return !tries(t, rate);
  });
  for (SuiteTask& t : s.tasks) {
    t.train.optimizer.lr = rate;
    seeds.insert(t.train.tuning.seeds.begin(), t.train.tuning.seeds.end());
  }
  s.seeds.assign(seeds.begin(), seeds.end());
  std::erase_if(s.evals, [&](const EvalSettings& e) { return left_out.contains(e.task); });
  for (EvalSettings& e : s.evals) e.examples = 1, e.axes.clear();
  s.resolved = resolved_for_tuning(std::move(s.resolved), s, rate, left_out);
  return s;
}

std::vector<ChosenRate> choose_rates(const std::vector<std::pair<double, RunData>>& tried) {
  std::vector<ChosenRate> out;
  for (const auto& [rate, run] : tried)
    for (const TaskData& t : run.tasks)
      for (const std::size_t e : t.encodings) {
        auto at = std::find_if(out.begin(), out.end(), [&](const ChosenRate& c) {
          return c.encoding == run.encodings[e] && c.task == t.task && c.model == t.model;
        });
        if (at == out.end())
          at = out.insert(out.end(), {run.encodings[e], t.task, t.model, 0, {}, false});
        at->losses.emplace_back(rate, loss_of(t, e));
      }
  for (ChosenRate& c : out) {
    std::sort(c.losses.begin(), c.losses.end());
    double best = Number::none;
    for (const auto& [rate, loss] : c.losses)
      if (!std::isnan(loss) && !(loss >= best)) best = loss, c.rate = rate;
    if (std::isnan(best))
      fail(Exit::cells_failed,
           "no learning rate can be chosen for {} on {}: none of its {} tuning cells has a "
           "validation loss; see their failures, and '--rerun failed'",
           c.encoding, c.task, c.losses.size());
    c.at_edge = c.losses.size() > 1 &&
                (c.rate == c.losses.front().first || c.rate == c.losses.back().first);
  }
  return out;
}

void use_rates(Suite& s, const std::vector<ChosenRate>& all) {
  for (const ChosenRate& c : all) s.rates[{c.encoding, c.task, c.model}] = c.rate;
}

bool load_rates(const Suite& suite, const fs::path& out, std::vector<ChosenRate>& chosen) {
  std::vector<std::pair<double, RunData>> tried;
  for (const double rate : tuning_rates(suite)) {
    const fs::path folder = run_folder(tuning_suite(suite, rate), out);
    if (!fs::exists(folder / "records.jsonl")) return false;
    tried.emplace_back(rate, read_run(folder));
    if (tried.back().second.cells < tried.back().second.planned) return false;
  }
  chosen = choose_rates(tried);
  return true;
}

Json to_json(const Suite& suite, const std::vector<ChosenRate>& all) {
  Json out = {{"schema", "pesuite.tuning/1"},
              {"suite", suite.name},
              {"select", "val_nll"},
              {"rates", tuning_rates(suite)}};
  std::set<std::uint64_t> seeds;
  for (const SuiteTask& t : suite.tasks)
    seeds.insert(t.train.tuning.seeds.begin(), t.train.tuning.seeds.end());
  out["seeds"] = seeds;
  out["chosen"] = Json::array();
  for (const ChosenRate& c : all) {
    Json losses = Json::array();
    for (const auto& [rate, loss] : c.losses)
      losses.push_back({{"lr", rate},
                        {"loss", std::isfinite(loss) ? Json(loss) : Json(nullptr)},
                        {"status", std::isfinite(loss) ? "ok"
                                   : std::isinf(loss)  ? "diverged"
                                                       : "missing"}});
    out["chosen"].push_back({{"encoding", c.encoding},
                             {"task", c.task},
                             {"model", c.model},
                             {"lr", c.rate},
                             {"at_edge", c.at_edge},
                             {"losses", losses}});
  }
  return out;
}

}  // namespace pesuite
