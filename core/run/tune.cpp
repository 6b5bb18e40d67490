#include "run/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/toml.h"
#include "encoding/expression.h"
#include "model/metrics.h"
#include "plugin/card.h"
#include "run/run.h"

namespace pesuite {

namespace {

// Mean final validation loss of an encoding's cells.
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

const SuiteTask& task_of(const Suite& s, const std::string& id) {
  return *std::find_if(s.tasks.begin(), s.tasks.end(), [&](const auto& t) { return t.id == id; });
}
const SuiteEncoding& encoding_of(const Suite& s, const std::string& id) {
  return *std::find_if(s.encodings.begin(), s.encodings.end(),
                       [&](const auto& e) { return e.id == id; });
}

// The suite of an attempt for those tasks that take part, without its tasks' own rates; the same
// changes in the suite as its file has it, so that the run's own file is whole.
Suite attempt(const Suite& suite, const std::string& name,
              const std::function<bool(const SuiteTask&)>& takes_part) {
  Suite s = suite;
  s.name = fmt::format("{}-tuning-{}", suite.name, name);
  s.hypotheses.clear();
  std::set<std::string> left_out;
  std::set<std::uint64_t> seeds;
  for (const SuiteTask& t : suite.tasks) {
    if (!takes_part(t))
      left_out.insert(t.id);
    else
      seeds.insert(t.train.tuning.seeds.begin(), t.train.tuning.seeds.end());
  }
  s.seeds.assign(seeds.begin(), seeds.end());
  std::erase_if(s.tasks, [&](const SuiteTask& t) { return left_out.contains(t.id); });
  std::erase_if(s.evals, [&](const EvalSettings& e) { return left_out.contains(e.task); });
  for (EvalSettings& e : s.evals) e.examples = 1, e.axes.clear();

  Json& r = s.resolved;
  r["name"] = s.name;
  r["defaults"]["seeds"] = s.seeds;
  r.erase("hypothesis");
  if (r.contains("train")) r["train"].erase("tune");
  Json tasks = Json::array(), evals = Json::array();
  for (std::size_t i = 0; i < r["task"].size(); ++i) {
    Json t = r["task"][i];
    if (left_out.contains(element_name(t, i))) continue;
    if (t.contains("train")) t["train"].erase("tune");
    tasks.push_back(std::move(t));
  }
  for (Json e : r.value("eval", Json::parse("[{}]"))) {
    if (left_out.contains(e.value("task", "*"))) continue;
    e["examples"] = 1;
    e.erase("axes");
    evals.push_back(std::move(e));
  }
  r["task"] = std::move(tasks), r["eval"] = std::move(evals);
  return s;
}

bool tries(const SuiteTask& t, double rate) {
  const auto& all = t.train.tuning.rates;
  return std::find(all.begin(), all.end(), rate) != all.end();
}

// A term's text with one of its card's settings laid over it; "" where the suite itself sets one of
// those options.
std::string with_setting(EncodingExpression e, std::size_t factor, const std::string& setting) {
  Expression& term = e.first.factors[factor].term;
  for (const auto& [name, value] :
       parse_expression(fmt::format("{}({})", term.name, setting)).options)
    if (!term.options.emplace(name, value).second) return "";
  return to_text(e);
}

// Other settings of an encoding, the most promising first. What is swapped in for evaluation cannot
// be chosen by what training sees.
std::vector<std::string> settings_of(const std::string& expression, const Catalog& catalog) {
  std::vector<std::string> out;
  const EncodingExpression e = parse_encoding(expression);
  for (std::size_t f = 0; f < e.first.factors.size(); ++f) {
    if (!e.first.factors[f].pattern.empty()) continue;
    const pes_card& card = *catalog.encoding(e.first.factors[f].term.name).descriptor->card;
    for (const std::string& setting : tune_of(card))
      if (std::string text = with_setting(e, f, setting); !text.empty())
        out.push_back(std::move(text));
  }
  return out;
}

// Rate k, from 1 on, beside the best of a grid: half way to a neighbour, in turn to one and to the
// other, then a quarter. At an edge of the grid the first lies outside, as far as the one inside.
double beside(const Chosen& c, int k) {
  const double best = c.attempts[c.best].rate;
  const bool at_bottom = c.best == 0, at_top = c.best + 1 >= c.rates;
  const double up =
      at_top ? best / c.attempts[c.best - 1].rate : c.attempts[c.best + 1].rate / best;
  const double down = at_bottom ? 1 / up : c.attempts[c.best - 1].rate / best;
  const bool first = k % 2 == 1, upwards = first == at_top;
  const bool outside = first && (at_bottom || at_top);
  const double rate =
      best * std::pow(upwards ? up : down, std::pow(0.5, (k + 1) / 2 - (outside ? 1 : 0)));
  return std::stod(fmt::format("{:.3g}", rate));
}

std::vector<double> all_rates(const Suite& s) {
  std::set<double> all;
  for (const SuiteTask& t : s.tasks)
    all.insert(t.train.tuning.rates.begin(), t.train.tuning.rates.end());
  return {all.begin(), all.end()};
}

}  // namespace

bool is_tuned(const Suite& s) {
  return s.tuned.empty() && !all_rates(s).empty();
}

std::vector<Suite> rate_suites(const Suite& suite) {
  std::vector<Suite> out;
  for (const double rate : all_rates(suite)) {
    Suite s =
        attempt(suite, format_number(rate), [&](const SuiteTask& t) { return tries(t, rate); });
    std::vector<Tuned> tuned;
    for (const SuiteTask& t : s.tasks)
      for (const SuiteModel& m : s.models)
        for (const SuiteEncoding& e : s.encodings)
          tuned.push_back({e.id, t.id, m.id, rate, e.expression});
    use_tuned(s, std::move(tuned));
    out.push_back(std::move(s));
  }
  return out;
}

bool Chosen::at_edge() const {
  const auto grid = attempts.begin() + static_cast<std::ptrdiff_t>(rates);
  const auto by_rate = [](const Attempt& a, const Attempt& b) { return a.rate < b.rate; };
  const auto [low, high] = std::minmax_element(attempts.begin(), attempts.end(), by_rate);
  return rates > 1 && grid != attempts.begin() &&
         (attempts[best].rate <= low->rate || attempts[best].rate >= high->rate);
}

namespace {

// Of rates that do as well as the best attempt, to a tenth of what matters, the middle one (of two
// the higher):
// at an edge of them the next seeds may fail. So a setting of the encoding's own is taken only
// where it does better than the suite's.
void prefer_the_middle(Chosen& c) {
  const double tie = 0.1 * metric("nll").matters;
  std::vector<std::size_t> as_good;
  for (std::size_t i = 0; i < c.rates; ++i)
    if (c.attempts[i].loss <= c.attempts[c.best].loss + tie) as_good.push_back(i);
  if (!as_good.empty()) c.best = as_good[as_good.size() / 2];
}

}  // namespace

std::vector<Chosen> choose(const std::vector<std::pair<Suite, RunData>>& tried) {
  std::vector<Chosen> out;
  for (const auto& [suite, run] : tried)
    for (const TaskData& t : run.tasks)
      for (const std::size_t e : t.encodings) {
        const std::string& id = run.encodings[e];
        auto at = std::find_if(out.begin(), out.end(), [&](const Chosen& c) {
          return c.encoding == id && c.task == t.task && c.model == t.model;
        });
        if (at == out.end()) at = out.insert(out.end(), {id, t.task, t.model, {}, 0, 0});
        const Tuned* tuned = suite.tuned_for(id, t.task, t.model);
        if (tuned == nullptr) continue;
        at->attempts.push_back({tuned->rate, tuned->expression, loss_of(t, e)});
        if (tries(task_of(suite, t.task), tuned->rate) &&
            tuned->expression == encoding_of(suite, id).expression &&
            at->rates + 1 == at->attempts.size())
          ++at->rates;
      }
  for (Chosen& c : out) {
    double best = Number::none;
    for (std::size_t i = 0; i < c.attempts.size(); ++i)
      if (const double loss = c.attempts[i].loss; !std::isnan(loss) && !(loss >= best))
        best = loss, c.best = i;
    if (std::isnan(best))
      fail(Exit::cells_failed,
           "no learning rate can be chosen for {} on {}: none of its {} tuning cells has a "
           "validation loss; see their failures, and '--rerun failed'",
           c.encoding, c.task, c.attempts.size());
    prefer_the_middle(c);
  }
  return out;
}

int most_knobs(const Suite& s) {
  int most = 0;
  for (const SuiteTask& t : s.tasks)
    if (!t.train.tuning.rates.empty()) most = std::max(most, t.train.tuning.knobs);
  return most;
}

std::vector<Suite> knob_suites(const Suite& suite, const std::vector<Chosen>& by_rate,
                               const Catalog& catalog) {
  std::set<std::string> theirs;  // another encoding of the suite is no setting of this one
  for (const SuiteEncoding& e : suite.encodings)
    theirs.insert(to_text(parse_encoding(e.expression)));
  std::vector<Suite> out;
  for (int k = 1; k <= most_knobs(suite); ++k) {
    Suite s = attempt(suite, fmt::format("knob{}", k), [&](const SuiteTask& t) {
      return !t.train.tuning.rates.empty() && t.train.tuning.knobs >= k;
    });
    std::vector<Tuned> tuned;
    for (const Chosen& c : by_rate) {
      if (task_of(suite, c.task).train.tuning.knobs < k) continue;
      std::vector<std::string> own =
          settings_of(encoding_of(suite, c.encoding).expression, catalog);
      std::erase_if(own, [&](const std::string& text) { return theirs.contains(text); });
      const int n = static_cast<int>(own.size());
      const Attempt& best = c.attempts[c.best];
      tuned.push_back({c.encoding, c.task, c.model, k <= n ? best.rate : beside(c, k - n),
                       k <= n ? own[static_cast<std::size_t>(k - 1)] : best.expression});
    }
    use_tuned(s, std::move(tuned));
    out.push_back(std::move(s));
  }
  return out;
}

void use(Suite& s, const std::vector<Chosen>& all) {
  std::vector<Tuned> tuned;
  for (const Chosen& c : all)
    tuned.push_back(
        {c.encoding, c.task, c.model, c.attempts[c.best].rate, c.attempts[c.best].expression});
  if (!tuned.empty()) use_tuned(s, std::move(tuned));
}

bool load_chosen(const Suite& suite, const fs::path& out, const Catalog& catalog,
                 std::vector<Chosen>& chosen) {
  std::vector<std::pair<Suite, RunData>> tried;
  const auto load = [&](const std::vector<Suite>& attempts) {
    for (const Suite& s : attempts) {
      const fs::path folder = run_folder(s, out);
      if (!fs::exists(folder / "records.jsonl")) return false;
      tried.emplace_back(s, read_run(folder));
      if (tried.back().second.cells < tried.back().second.planned) return false;
    }
    return true;
  };
  if (!load(rate_suites(suite)) || !load(knob_suites(suite, choose(tried), catalog))) return false;
  chosen = choose(tried);
  return true;
}

std::string chosen_text(const Suite& suite, const Chosen& c) {
  const Attempt& best = c.attempts[c.best];
  const bool own = best.expression == encoding_of(suite, c.encoding).expression;
  return fmt::format("learning rate {}{}{}", format_number(best.rate),
                     own ? "" : ", " + best.expression,
                     c.at_edge() ? ", at the edge of what was tried" : "");
}

Json to_json(const Suite& suite, const std::vector<Chosen>& all) {
  Json out = {{"schema", "pesuite.tuning/1"},
              {"suite", suite.name},
              {"select", "val_nll"},
              {"rates", all_rates(suite)}};
  std::set<std::uint64_t> seeds;
  for (const SuiteTask& t : suite.tasks)
    seeds.insert(t.train.tuning.seeds.begin(), t.train.tuning.seeds.end());
  out["seeds"] = seeds;
  out["chosen"] = Json::array();
  for (const Chosen& c : all) {
    Json losses = Json::array();
    for (const Attempt& t : c.attempts)
      losses.push_back({{"lr", t.rate},
                        {"expr", t.expression},
                        {"loss", std::isfinite(t.loss) ? Json(t.loss) : Json(nullptr)},
                        {"status", std::isfinite(t.loss) ? "ok"
                                   : std::isinf(t.loss)  ? "diverged"
                                                         : "missing"}});
    out["chosen"].push_back({{"encoding", c.encoding},
                             {"task", c.task},
                             {"model", c.model},
                             {"lr", c.attempts[c.best].rate},
                             {"expr", c.attempts[c.best].expression},
                             {"at_edge", c.at_edge()},
                             {"losses", losses}});
  }
  return out;
}

}  // namespace pesuite
