// Quality against cost: what an encoding loses at the longest length and how fast it trains.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/answer.h"
#include "base/text.h"
#include "model/metrics.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct Point {
  std::size_t encoding;
  double speed, quality;
};

std::vector<Point> points_of(const TaskData& t, const Ground& g) {
  std::vector<Point> out;
  for (const std::size_t e : t.encodings) {
    std::vector<double> speeds;
    for (const std::uint64_t seed : t.seeds)
      if (const CellData* c = t.cell(e, seed); c != nullptr && c->costs.contains("tokens_per_s"))
        speeds.push_back(c->costs.at("tokens_per_s"));
    const double quality = summarize(scores(g, e)).mean * (g.share() ? 100 : 1);
    if (!speeds.empty() && std::isfinite(quality)) out.push_back({e, median(speeds), quality});
  }
  return out;
}

}  // namespace

static std::vector<Figure> draw_cost(const RunData& run) {
  std::vector<Figure> out;
  for (const TaskData& t : run.tasks) {
    const std::vector<Ground> all = grounds(t);
    const Ground* far = nullptr;  // the longest length under the protocol that findings use
    for (const Ground& g : all)
      if ((g.protocol.empty() || g.protocol == main_protocol(t)) &&
          (far == nullptr || g.length >= far->length))
        far = &g;
    if (far == nullptr) continue;
    std::vector<Point> points = points_of(t, *far);
    if (points.size() < 2) continue;
    const bool lower = far->lower_is_better();
    Figure f;
    f.rows = {{"encoding", "kind", "x", "value", "low", "high"}};
    Range x, y;
    Lines ends;
    std::vector<std::size_t> encodings;
    for (const Point& p : points) {
      encodings.push_back(p.encoding);
      f.rows.push_back(
          {run.encodings[p.encoding], "mean", csv_number(p.speed), csv_number(p.quality), "", ""});
      x.include(p.speed), y.include(p.quality);
      ends.last[run.encodings[p.encoding]] = p.quality;
    }
    // The frontier: nobody is both faster and better.
    std::sort(points.begin(), points.end(),
              [](const Point& a, const Point& b) { return a.speed > b.speed; });
    double best = lower ? Number::infinite : -Number::infinite;
    for (const Point& p : points) {
      if (lower ? p.quality >= best : p.quality <= best) continue;
      best = p.quality;
      f.rows.push_back({"", "line", csv_number(p.speed), csv_number(p.quality), "", ""});
    }
    f.name = file_name(run, t, "cost");
    f.kind = "scatter";
    f.title = figure_title(run, t, "quality against speed");
    f.caption = fmt::format(
        "{} at {} against tokens per second in training (median over seeds; cells shared the "
        "machine). Dashed: nobody is both faster and better.",
        far->share()              ? capitalized(metric(far->metric).heading) + " (%)"
        : far->metric == "regret" ? "Regret (nats per token)"
                                  : "Nats per token",
        far->name());
    f.series = series_of(run, encodings);
    const double room = std::max(0.05 * (x.high - x.low), 1e-6 * x.high);
    f.x = {"tokens per second in training", std::max(0.0, x.low - room), x.high + room, false, {}};
    for (int i = 0; i <= 4; ++i) {
      const double at = f.x.low + (f.x.high - f.x.low) * i / 4;
      f.x.ticks.emplace_back(at, format_count(at));
    }
    f.y.label = far->share()              ? std::string(metric(far->metric).heading) + " (%)"
                : far->metric == "regret" ? "regret (nats per token)"
                                          : "nats per token";
    const double least = far->share() ? 20 : 0.1;  // a smaller span would show noise alone
    const double middle = (y.low + y.high) / 2;
    y.include(middle - least / 2), y.include(middle + least / 2);
    set_y_axis(f, y, false);
    name_line_ends(f, ends);
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<FigureKind> cost_figures() {
  return {{FigureSection::cost, 0, [](const FigureContext& c) { return draw_cost(c.run); }}};
}

}  // namespace pesuite
