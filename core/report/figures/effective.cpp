// Bars of effective length: how far each encoding keeps what it has at the training length.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "analysis/length_metrics.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

static std::vector<Figure> draw_effective(const RunData& run, const TaskData& t) {
  if (t.lengths.size() < 2) return {};
  const std::string protocol = t.corpus ? main_protocol(t) : "";
  Figure f;
  f.rows = {{"encoding", "kind", "seed", "x", "low", "high"}};
  f.series = series_of(run, t, nullptr);
  const double low = t.lengths.front() * 0.5;  // stands for none
  bool some_unlearned = false;                 // of a corpus; of problems it shows
  for (std::size_t i = 0; i < t.encodings.size(); ++i) {
    const std::size_t e = t.encodings[i];
    std::vector<double> all;
    for (const std::uint64_t seed : t.seeds) {
      const CellData* c = t.cell(e, seed);
      if (c == nullptr) continue;
      const LengthCurve curve = length_curve(t, *c, protocol);
      if (curve.points.empty()) continue;
      all.push_back(std::max<double>(low, effective_length(curve)));
      f.rows.push_back(
          {run.encodings[e], "seed", std::to_string(seed), csv_number(all.back()), "", ""});
    }
    if (all.empty()) continue;
    std::sort(all.begin(), all.end());  // the middle seed: lengths have no mean
    f.rows.push_back({run.encodings[e], "bar", "", csv_number(all[(all.size() - 1) / 2]), "", ""});
    const bool unlearned = t.corpus && learned(t, e) == Learned::no;
    some_unlearned = some_unlearned || unlearned;
    f.y.ticks.emplace_back(static_cast<double>(t.encodings.size() - i),
                           f.series[i].label + (unlearned ? " †" : ""));
  }
  if (f.rows.size() < 2) return {};
  std::size_t widest = 4;
  for (const auto& [at, label] : f.y.ticks) widest = std::max(widest, display_width(label));
  f.name = file_name(run, t, "effective");
  f.kind = "bars";
  f.title = figure_title(run, t, "effective length");
  f.caption = fmt::format(
      "The longest length up to which {}; bars: the middle seed, dots: the seeds; no bar: not even "
      "at the training length. Line: training length.{}",
      t.corpus ? std::string("the loss stays within 0.02 nats of that at the training length")
               : score_name(t) + " stays at 95 % or more",
      some_unlearned ? " †: not learned there; what it keeps says little." : "");
  f.x = {"tokens (multiples of the training length)", low, t.lengths.back() * 1.1, true, {}};
  const std::size_t stride = (t.lengths.size() + 7) / 8;
  for (std::size_t i = 0; i < t.lengths.size(); i += stride)
    f.x.ticks.emplace_back(t.lengths[i],
                           fmt::format("{}\n{}", t.lengths[i], t.multiple(t.lengths[i])));
  f.values = {{"mark", static_cast<double>(t.train_length)},
              {"left", 30 + 8.0 * static_cast<double>(widest)},
              {"legend_width", 30.0},
              {"legend_height", 0.0},
              {"panel_height", std::max(120.0, 26.0 * static_cast<double>(t.encodings.size()))}};
  return {f};
}

std::vector<FigureKind> effective_figures() {
  return {{FigureSection::length, 0,
           [](const FigureContext& c) { return draw_effective(c.run, *c.task); }}};
}

}  // namespace pesuite
