// Figures over all tasks: mean ranks with the critical difference, performance profiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/figures.h"
#include "report/findings.h"
#include "report/lines.h"

namespace pesuite {

namespace {

Figure rank_figure(const RunData& run, const Across& a) {
  std::vector<std::size_t> encodings;
  std::vector<double> ranks, from, to;
  Figure f;
  f.rows = {{"encoding", "rank"}};
  for (const Standing& s : a.standings) {
    if (std::isnan(s.rank)) continue;
    encodings.push_back(s.encoding), ranks.push_back(s.rank);
    f.rows.push_back({run.encodings[s.encoding], csv_number(s.rank)});
  }
  const auto rank_of = [&](std::size_t e) {
    return ranks[static_cast<std::size_t>(std::find(encodings.begin(), encodings.end(), e) -
                                          encodings.begin())];
  };
  for (const auto& group : a.groups)
    if (group.size() > 1 && !std::isnan(a.critical))
      from.push_back(rank_of(group.front())), to.push_back(rank_of(group.back()));
  f.name = "ranks";
  f.kind = "ranks";
  f.title = fmt::format("mean rank over {}", counted(a.tasks.size(), "task"));
  const std::string friedman =
      std::isnan(a.p) ? "Friedman: no task tells any two apart"
                      : fmt::format("Friedman: chi-square {:.3g}, {}", a.chi_square, p_text(a.p));
  f.caption = fmt::format(
      "Mean ranks out of distribution over {}, the best at the left. {}.",
      counted(a.tasks.size(), "task"),
      std::isnan(a.critical)
          ? fmt::format("Below {} tasks no order is tested", fewest_tasks)
          : fmt::format("A bar joins encodings whose ranks differ by less than the critical "
                        "difference {:.2f} (Nemenyi, 0.05). {}",
                        a.critical, friedman));
  if (!a.left_out.empty())
    f.caption += " Left out, and perhaps better: " + join(a.left_out, "; ") + ".";
  f.series = series_of(run, encodings);
  f.values = {{"legend_width", 30.0},
              {"left", 30.0},
              {"panel_width", 680.0},
              {"panel_height", (std::isnan(a.critical) ? 90 : 130) +
                                   26 * static_cast<double>((encodings.size() + 1) / 2) +
                                   9 * static_cast<double>(from.size())},
              {"legend_height", 0.0},
              {"critical", std::isnan(a.critical) ? 0 : a.critical},
              {"groups", static_cast<double>(from.size())},
              {"rank", ranks},
              {"group_from", from},
              {"group_to", to}};
  return f;
}

Figure profile_figure(const RunData& run, const Across& a) {
  Figure f;
  f.rows = {{"encoding", "kind", "x", "value"}};
  std::vector<std::size_t> encodings;
  std::size_t runs = 0;
  for (const auto& [e, strata] : a.scores) {
    encodings.push_back(e);
    std::vector<double> all;
    for (const auto& one : strata) all.insert(all.end(), one.begin(), one.end());
    runs = std::max(runs, all.size());
    std::vector<std::vector<std::string>> marks;  // behind the curve, which they would interrupt
    for (int i = -20; i <= 200; ++i) {
      const double x = i / 200.0;
      const auto reached =
          std::count_if(all.begin(), all.end(), [&](double v) { return v >= x - 1e-12; });
      const std::string share =
          csv_number(static_cast<double>(reached) / static_cast<double>(all.size()));
      f.rows.push_back({run.encodings[e], "profile", csv_number(x), share});
      if (i % 20 == 0) marks.push_back({run.encodings[e], "mark", csv_number(x), share});
    }
    f.rows.insert(f.rows.end(), marks.begin(), marks.end());
  }
  f.name = "profiles";
  f.kind = "profiles";
  f.title = "performance profiles out of distribution";
  f.caption = fmt::format(
      "Share of runs (a task at a length from a seed; up to {} of an encoding) whose {}, "
      "scaled so that 0 is chance and 1 is perfect, reaches a value. Higher is better; where lines "
      "cross, no encoding is better throughout.",
      runs, score_names(run));
  f.series = series_of(run, encodings);
  f.x.label = "score (0: chance, 1: perfect)";
  f.y.label = "share of runs that reach it";
  return f;
}

}  // namespace

static std::vector<Figure> draw_ranks(const RunData& run, const Across& a) {
  std::vector<Figure> out;
  std::set<double> ranks;  // one alone shows nothing
  for (const Standing& s : a.standings)
    if (!std::isnan(s.rank)) ranks.insert(s.rank);
  if (ranks.size() > 1) out.push_back(rank_figure(run, a));
  if (a.scores.size() >= 2) out.push_back(profile_figure(run, a));
  return out;
}

std::vector<FigureKind> overview_figures() {
  return {{FigureSection::ranks, 0,
           [](const FigureContext& c) { return draw_ranks(c.run, c.across); }}};
}

}  // namespace pesuite
