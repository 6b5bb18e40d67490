// Loss against what training spent, over tasks that differ in their budget alone, with the power
// law L = a C^-b + c through them (Kaplan et al. 2020; Hoffmann et al. 2022, section 3.3).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct PowerLaw {
  double a = Number::none, b = Number::none, c = Number::none;
  double error = Number::infinite;  // mean square of log loss
  bool found() const { return std::isfinite(error); }
  double at(double x) const { return a * std::pow(x, -b) + c; }
};

// The line through (log x, log(y - c)).
PowerLaw power_law_above(const std::vector<double>& x, const std::vector<double>& y, double c) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i] - c);
    sx += u, sy += v, sxx += u * u, sxy += u * v;
  }
  PowerLaw out;
  out.b = -(n * sxy - sx * sy) / (n * sxx - sx * sx);
  out.a = std::exp((sy + out.b * sx) / n), out.c = c;
  if (!(out.b > 0)) return out;  // loss that does not fall follows no such law
  out.error = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    out.error += std::pow(std::log(out.at(x[i]) / y[i]), 2) / n;
  return out;
}

// Three numbers are fitted: fewer than four budgets say nothing about them.
PowerLaw power_law(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t fewest_budgets = 4;
  constexpr int steps = 2000;
  PowerLaw best;
  if (x.size() < fewest_budgets) return best;
  const double least = *std::min_element(y.begin(), y.end());
  for (int i = 0; i < steps && least > 0; ++i) {
    const PowerLaw p = power_law_above(x, y, least * i / steps);
    if (p.error < best.error) best = p;
  }
  return best;
}

// The last validation of a training.
double final_loss(const CellData& c) {
  if (c.status == "diverged") return Number::infinite;
  const auto it = c.curves.find("val nll");
  return it == c.curves.end() || it->second.empty() ? Number::none : it->second.rbegin()->second;
}

double spent(const TaskData& t, std::size_t encoding, bool flops) {
  double most = 0;
  for (const std::uint64_t seed : t.seeds)
    if (const CellData* c = t.cell(encoding, seed))
      most = std::max(most, flops ? c->flops : static_cast<double>(c->tokens));
  return most;
}

// Tasks that differ in nothing but their budget, the smallest first.
std::vector<std::vector<const TaskData*>> budget_ladders(const RunData& run) {
  std::map<std::tuple<std::string, std::string, int>, std::map<std::int64_t, const TaskData*>> all;
  for (const TaskData& t : run.tasks) {
    std::int64_t tokens = 0;
    for (const auto& [key, c] : t.cells) tokens = std::max(tokens, c.tokens);
    if (tokens > 0) all[{t.expression, t.model, t.train_length}].emplace(tokens, &t);
  }
  std::vector<std::vector<const TaskData*>> out;
  for (const auto& [key, budgets] : all) {
    if (budgets.size() < 2) continue;
    out.emplace_back();
    for (const auto& [tokens, t] : budgets) out.back().push_back(t);
  }
  return out;
}

struct BudgetCurves {
  const RunData& run;
  const std::vector<const TaskData*>& tasks;
  bool flops = false;
  Lines lines = {};
  Range spent_range = {};
  std::map<std::string, PowerLaw> laws = {};

  void add(std::size_t e) {
    std::vector<const TaskData*> with;
    std::vector<double> xs, means_x, means;
    for (const TaskData* t : tasks)
      if (const double x = spent(*t, e, flops); x > 0) with.push_back(t), xs.push_back(x);
    if (xs.size() < 2) return;
    const std::string& id = run.encodings[e];
    const auto at = [&](std::size_t i) { return values_of(*with[i], e, final_loss); };
    lines.add_encoding(id, xs, at, [](double x) { return x; });
    for (std::size_t i = 0; i < xs.size(); ++i) {
      spent_range.include(xs[i]);
      const double mean = summarize(at(i)).mean;
      if (std::isfinite(mean)) means_x.push_back(xs[i]), means.push_back(mean);
    }
    const PowerLaw law = power_law(means_x, means);
    if (!law.found()) return;
    laws[id] = law;
    constexpr int points = 60;
    for (int i = 0; i <= points; ++i) {
      const double x = xs.front() * std::pow(xs.back() / xs.front(), double{1} * i / points);
      lines.add(id, "fit", "", x, {law.at(x)});
    }
  }

  Figure figure() {
    const TaskData& t = *tasks[0];
    std::set<std::size_t> encodings;
    for (const TaskData* task : tasks)
      encodings.insert(task->encodings.begin(), task->encodings.end());
    for (const std::size_t e : encodings) add(e);
    Figure f;
    f.name = file_name(run, t, "budget"), f.kind = "budget";
    f.title = fmt::format("{}{} · loss against the budget of training", t.plugin_name(),
                          run.several_models() ? " · " + t.model : "");
    f.caption = fmt::format(
        "Last validation loss (nats per token) of {} against {} of the whole training. Each point "
        "is a training of its own. Markers: mean over {}; {}.{}",
        counted(tasks.size(), "budget"), flops ? "FLOPs" : "tokens",
        counted(t.seeds.size(), "seed"),
        t.seeds.size() >= seeds_for_t ? "band: 95 % t interval of the mean"
                                      : "small dots: the seeds",
        laws.empty() ? ""
                     : " Faint line: the power law L = a C^-b + c through the means. Its b and c "
                       "stand behind the names.");
    f.series = series_of(run, {encodings.begin(), encodings.end()});
    for (Series& s : f.series)
      if (const auto law = laws.find(s.id); law != laws.end())
        s.label += fmt::format(": b {:.2f}, c {:.2f}", law->second.b, law->second.c);
    std::vector<double> joined;  // where no law stands beside the points
    for (const Series& one : f.series) joined.push_back(laws.contains(one.id) ? 0 : 1);
    f.values["joined"] = joined;
    f.x = {flops ? "FLOPs of training" : "tokens of training",
           spent_range.low / 1.1,
           spent_range.high * 1.1,
           true,
           {}};
    for (const double x : log_ticks(f.x.low, f.x.high))
      f.x.ticks.emplace_back(x, axis_number(x, f.x.high));
    f.y.label = "nats per token";
    set_y_axis(f, lines.range, lines.range.wide());
    name_line_ends(f, lines);
    f.rows = std::move(lines.rows);
    return f;
  }
};

std::vector<Figure> draw_budgets(const RunData& run) {
  std::vector<Figure> out;
  for (const std::vector<const TaskData*>& tasks : budget_ladders(run)) {
    const bool flops = std::all_of(tasks.begin(), tasks.end(), [](const TaskData* t) {
      return std::all_of(t->cells.begin(), t->cells.end(),
                         [](const auto& c) { return c.second.tokens == 0 || c.second.flops > 0; });
    });
    BudgetCurves curves{run, tasks, flops};
    Figure f = curves.figure();
    if (f.rows.size() > 1) out.push_back(std::move(f));
  }
  return out;
}

}  // namespace

std::vector<FigureKind> budget_figures() {
  return {
      {FigureSection::over_tasks, 10, [](const FigureContext& c) { return draw_budgets(c.run); }}};
}

}  // namespace pesuite
