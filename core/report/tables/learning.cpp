// When each encoding learned, what it reached, and how steadily.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/tables.h"

namespace pesuite {

namespace {

// A seed's validation, by step.
using Curve = std::map<std::int64_t, double>;

const Curve* validation(const CellData& c, const char* metric) {
  const auto it = c.curves.find(std::string("val ") + metric);
  return it == c.curves.end() || it->second.empty() ? nullptr : &it->second;
}

struct LearningRows {
  const RunData& run;
  const TaskData& t;
  bool accuracy = t.problem;
  const char* metric = accuracy ? "acc" : "nll";
  static constexpr double near = 0.05;  // nats above the lowest final loss

  double final_of(const CellData& c) const {
    const Curve* curve = validation(c, metric);
    return curve == nullptr ? Number::none : curve->rbegin()->second;
  }
  // What counts as learned here: 95 %, or the lowest mean of final losses and a little.
  double threshold() const {
    if (accuracy) return 0.95;
    double lowest = Number::infinite;
    for (const std::size_t e : t.encodings) {
      const double mean =
          summarize(values_of(t, e, [&](const CellData& c) { return final_of(c); })).mean;
      if (std::isfinite(mean)) lowest = std::min(lowest, mean);
    }
    return lowest + near;
  }
  double steps_to(const CellData& c, double wanted) const {  // infinite: never
    const Curve* curve = validation(c, metric);
    if (curve == nullptr) return Number::none;
    for (const auto& [step, value] : *curve)
      if (accuracy ? value >= wanted : value <= wanted) return static_cast<double>(step);
    return Number::infinite;
  }
  // The largest step back from one validation to the next.
  double setback(const CellData& c) const {
    const Curve* curve = validation(c, metric);
    if (curve == nullptr || curve->size() < 2) return Number::none;
    double worst = 0;
    for (auto it = std::next(curve->begin()); it != curve->end(); ++it) {
      const double change = it->second - std::prev(it)->second;
      worst = std::max(worst, accuracy ? -change : change);
    }
    return worst;
  }
};

}  // namespace

TableFile learning_table(const RunData& run, const TaskData& t) {
  const LearningRows rows{run, t};
  TableFile out{file_name(run, t, "learning"),
                {},
                {{"encoding", "task", "model", "train_len", "seed", "status", "steps_to_threshold",
                  "threshold", "final", "largest_setback"}}};
  const double wanted = rows.threshold();
  const Format value = rows.accuracy ? Format(percent_text) : Format(nats_text);
  Table b{
      "", "", {{"encoding", "steps to threshold", "at the end", "largest setback", "diverged"}}, 1};
  for (const std::size_t e : t.encodings) {
    const auto of = [&](const std::function<double(const CellData&)>& f) {
      return summarize(values_of(t, e, f));
    };
    std::size_t diverged = 0;
    for (const std::uint64_t seed : t.seeds) {
      const CellData* c = t.cell(e, seed);
      if (c == nullptr) continue;
      diverged += c->status == "diverged" ? 1 : 0;
      out.csv.push_back({run.encodings[e], t.task, t.model, std::to_string(t.train_length),
                         std::to_string(seed), c->status, csv_number(rows.steps_to(*c, wanted)),
                         csv_number(wanted), csv_number(rows.final_of(*c)),
                         csv_number(rows.setback(*c))});
    }
    const Spread end = of([&](const CellData& c) { return rows.final_of(c); });
    if (end.n == 0) continue;
    const auto steps_text = [](double x) {
      return std::isinf(x) ? std::string("never") : fmt::format("{:.0f}", x);
    };
    b.rows.push_back(
        {row_name(run, t, e),
         spread_text(of([&](const CellData& c) { return rows.steps_to(c, wanted); }), steps_text),
         spread_text(end, value),
         mean_text(of([&](const CellData& c) { return rows.setback(c); }), value),
         fmt::format("{} of {}", diverged, t.seeds.size())});
  }
  b.caption = fmt::format(
      "Validation at the training length. Threshold: {}. Largest setback: the most that one "
      "validation was worse than the one before. {}",
      rows.accuracy ? "accuracy of 95 %"
                    : fmt::format("{} nats, {:g} above the lowest final loss", nats_text(wanted),
                                  LearningRows::near),
      seed_phrase(t));
  if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  return out;
}

}  // namespace pesuite
