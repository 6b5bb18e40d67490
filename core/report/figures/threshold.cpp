// Bars of learning speed: the training steps after which each encoding had learned a problem.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

constexpr double learned_share = 0.95;  // validation accuracy

// Infinite where a seed never got there; not a number without a curve.
double first_step_at(const CellData& c) {
  const auto it = c.curves.find("val acc");
  if (it == c.curves.end()) return Number::none;
  for (const auto& [step, accuracy] : it->second)
    if (accuracy >= learned_share) return static_cast<double>(step);
  return Number::infinite;
}

std::vector<Figure> draw_threshold(const RunData& run, const TaskData& t) {
  Figure f;
  f.rows = {{"encoding", "kind", "seed", "x", "low", "high"}};
  f.series = series_of(run, t, nullptr);
  double last = 0;
  std::size_t widest = 4;
  for (std::size_t i = 0; i < t.encodings.size(); ++i) {
    const std::string& id = run.encodings[t.encodings[i]];
    std::vector<double> all;
    for (const SeedValue& v : values_of(t, t.encodings[i], first_step_at)) {
      if (!std::isfinite(v.value)) continue;
      all.push_back(v.value);
      f.rows.push_back({id, "seed", std::to_string(v.seed), csv_number(v.value), "", ""});
    }
    f.y.ticks.emplace_back(static_cast<double>(t.encodings.size() - i), f.series[i].label);
    widest = std::max(widest, display_width(f.series[i].label));
    if (all.empty()) continue;
    std::sort(all.begin(), all.end());
    f.rows.push_back({id, "bar", "", csv_number(all[(all.size() - 1) / 2]), "", ""});
    last = std::max(last, all.back());
  }
  if (f.rows.size() < 2) return {};
  f.name = file_name(run, t, "threshold");
  f.kind = "bars";
  f.title = figure_title(run, t, "steps to 95 % accuracy");
  f.caption =
      "The first validation at the training length with an accuracy of at least 95 %. Bars: the "
      "middle of the seeds that got there, dots: these seeds; no bar: none did.";
  f.x = {"training step", 0, 1.05 * last, false, {}};
  f.values = {{"mark", Number::none},
              {"left", 30 + 8.0 * static_cast<double>(widest)},
              {"legend_width", 30.0},
              {"legend_height", 0.0},
              {"panel_height", std::max(120.0, 26.0 * static_cast<double>(t.encodings.size()))}};
  return {f};
}

}  // namespace

std::vector<FigureKind> threshold_figures() {
  return {{FigureSection::learning, 10,
           [](const FigureContext& c) { return draw_threshold(c.run, *c.task); }}};
}

}  // namespace pesuite
