// One score over tasks, weighted as the suite says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/findings.h"

namespace pesuite {

namespace {

// Share of examples that are wholly right, the mean over settings in range or beyond it.
double right_of(const TaskData& t, const CellData& c, bool trained) {
  const char* metric = t.has("em") ? "em" : "acc";
  double sum = 0, n = 0;
  for (const Setting& s : t.settings) {
    if (s.trained != trained) continue;
    const Number* found = c.find(problem_place(metric, {&s, "", ""}));
    sum += found == nullptr ? Number::none : found->value, ++n;
  }
  return n == 0 ? Number::none : sum / n;
}

// The score of one model over its weighted tasks.
struct Weighted {
  std::string model;
  std::vector<const TaskData*> tasks;

  std::set<std::uint64_t> seeds() const {
    std::set<std::uint64_t> out;
    for (const TaskData* t : tasks) out.insert(t->seeds.begin(), t->seeds.end());
    return out;
  }
  // One a seed; a seed that lacks a task has none.
  std::vector<SeedValue> score(std::size_t e, bool trained) const {
    std::vector<SeedValue> out;
    for (const std::uint64_t seed : seeds()) {
      double sum = 0, weight = 0;
      for (const TaskData* t : tasks) {
        const CellData* c = t->cell(e, seed);
        sum += t->weight * (c == nullptr ? Number::none : right_of(*t, *c, trained));
        weight += t->weight;
      }
      out.push_back({seed, sum / weight, std::isnan(sum) ? "missing" : ""});
    }
    return out;
  }
};

std::vector<Weighted> weighted_models(const RunData& run) {
  std::vector<Weighted> out;
  for (const TaskData& t : run.tasks) {
    if (!t.problem || !(t.weight > 0)) continue;
    auto it =
        std::find_if(out.begin(), out.end(), [&](const Weighted& w) { return w.model == t.model; });
    if (it == out.end()) it = out.insert(it, {t.model, {}});
    it->tasks.push_back(&t);
  }
  return out;
}

}  // namespace

TableFile weighted_table(const RunData& run) {
  TableFile out{
      "weighted", {}, {{"model", "encoding", "range", "task", "weight", "seed", "value"}}};
  for (const Weighted& w : weighted_models(run)) {
    Table b{run.several_models() ? "Weighted score, model " + w.model : "Weighted score",
            "",
            {{"encoding", "in range", "beyond"}},
            1};
    for (const TaskData* t : w.tasks)
      b.rows[0].push_back(fmt::format("{} × {}", t->task, format_number(t->weight)));
    for (std::size_t e = 0; e < run.encodings.size(); ++e) {
      const auto known = [&](const TaskData* t) {
        return std::find(t->encodings.begin(), t->encodings.end(), e) != t->encodings.end();
      };
      if (!std::all_of(w.tasks.begin(), w.tasks.end(), known)) continue;
      const auto add = [&](bool trained, const std::string& task, double weight,
                           const std::vector<SeedValue>& values) {
        for (const SeedValue& v : values)
          out.csv.push_back({w.model, run.encodings[e], trained ? "id" : "ood", task,
                             csv_number(weight), std::to_string(v.seed), csv_number(v.value)});
        return summarize(values);
      };
      b.rows.push_back({run.encodings[e]});
      for (const bool trained : {true, false})
        b.rows.back().push_back(
            spread_text(add(trained, "", Number::none, w.score(e, trained)), percent_text));
      for (const TaskData* t : w.tasks) {
        const auto right = [&](bool trained) {
          const auto of = [&](const CellData& c) { return right_of(*t, c, trained); };
          return mean_text(add(trained, t->task, t->weight, values_of(*t, e, of)), percent_text);
        };
        const std::string in_range = right(true);
        b.rows.back().push_back(fmt::format("{} → {}", in_range, right(false)));
      }
    }
    b.caption =
        "Examples that are wholly right (%), means over the settings in range → beyond it, and "
        "over "
        "tasks by the suite's weights; over seeds, [lowest, highest seed].";
    if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  }
  return out;
}

}  // namespace pesuite
