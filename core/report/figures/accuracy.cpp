// The score of problems, accuracy or exact match, by setting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct ScoreRows {
  const RunData& run;
  const TaskData& t;
  Rows rows = {{"encoding", "kind", "seed", "setting", "x", "value", "low", "high"}};
  bool chance = false;

  void add(const std::string& encoding, const std::string& kind, const std::string& seed,
           const SettingPart& part, std::size_t x, const Band& b) {
    if (std::isnan(b.value)) return;
    rows.push_back({encoding, kind, seed, part.name, std::to_string(x), csv_number(100 * b.value),
                    csv_number(100 * b.low), csv_number(100 * b.high)});
  }

  // Means with extremes, or one seed with its interval; then the seeds.
  void add_encoding(std::size_t e, const std::vector<SettingPart>& parts) {
    const std::string& id = run.encodings[e];
    std::vector<std::vector<SeedValue>> values;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      values.push_back(values_at(t, e, score_place(t, parts[i])));
      const Spread s = summarize(values.back());
      const CellData* c = t.seeds.size() == 1 ? t.cell(e, t.seeds[0]) : nullptr;
      const Number n = c == nullptr ? Number() : share_at(*c, score_place(t, parts[i]));
      add(id, "mean", "", parts[i], i + 1,
          {s.mean, c == nullptr ? s.low : n.low, c == nullptr ? s.high : n.high});
    }
    for (std::size_t k = 0; k < t.seeds.size() && t.seeds.size() > 1; ++k)
      for (std::size_t i = 0; i < parts.size(); ++i)
        add(id, "seed", std::to_string(t.seeds[k]), parts[i], i + 1, {values[i][k].value});
  }

  void add_chance(const SettingPart& part, std::size_t x) {
    const double level = chance_of(t, score_place(t, part));
    chance |= !std::isnan(level);
    add("", "chance", "", part, x, {level});
  }
};

// What the settings of a figure have in common, and what is left to tell them apart.
struct Grid {
  int length = 0;      // 0: several
  std::string bucket;  // "": several, or none is known
};

std::string bucket_of(const SettingPart& p) {
  if (!p.bucket.empty() || p.setting->seen == p.setting->unseen) return p.bucket;
  return p.setting->seen ? "seen" : "unseen";
}

// Labels of more ticks would run into each other.
bool roomy(const std::vector<SettingPart>& parts) {
  return parts.size() <= 6;
}
// Whether the axis of the figure says what the numbers at its ticks are.
bool axes_stand_below(const std::vector<SettingPart>& parts, const Grid& common) {
  return common.length > 0 || !roomy(parts);
}

Ticks setting_ticks(const TaskData& t, const std::vector<SettingPart>& parts, const Grid& common) {
  Ticks out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Setting& s = *parts[i].setting;
    std::vector<std::string> lines;
    const std::string multiple = t.multiple(s.length);
    if (common.length == 0)
      lines.push_back(roomy(parts) ? fmt::format("{} ({})", s.length, multiple)
                                   : fmt::format("{}\n{}", s.length, multiple));
    for (const auto& [axis, value] : s.axes)
      lines.push_back(axes_stand_below(parts, common)
                          ? t.label(axis, value)
                          : fmt::format("{} {}", axis, t.label(axis, value)));
    const std::string bucket = bucket_of(parts[i]);
    if (common.length == 0 && !bucket.empty()) lines.push_back(bucket);
    out.emplace_back(static_cast<double>(i + 1), join(lines, "\n"));
  }
  return out;
}

std::string score_caption(const TaskData& t, const std::vector<SettingPart>& parts, bool chance) {
  const std::string name = capitalized(score_name(t));
  std::string out = t.seeds.size() == 1 ? fmt::format(
                                              "{} by setting. Whiskers: 95 % interval over "
                                              "examples (Wilson). One seed ({}).",
                                              name, t.seeds[0])
                                        : fmt::format(
                                              "{} by setting. Markers: mean over {} seeds; "
                                              "whiskers: lowest to highest seed; "
                                              "small faint markers: the seeds.",
                                              name, t.seeds.size());
  if (chance) out += " Dashed line: chance.";
  if (std::any_of(parts.begin(), parts.end(),
                  [](const SettingPart& p) { return !bucket_of(p).empty(); }))
    out += " Seen positions lie within the training length, unseen beyond it.";
  return out;
}

Figure score_figure(const RunData& run, const TaskData& t, const std::vector<SettingPart>& parts,
                    const Grid& common) {
  ScoreRows rows{run, t};
  for (const std::size_t e : t.encodings) rows.add_encoding(e, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) rows.add_chance(parts[i], i + 1);
  const bool one_length = common.length > 0;
  const AxisValues& axes = parts[0].setting->axes;
  std::vector<std::string> names;
  for (const auto& [axis, value] : axes) names.push_back(axis);
  std::string what = one_length ? std::to_string(common.length) : "";
  if (!common.bucket.empty()) what += "_" + common.bucket;
  Figure f;
  const std::string heading = score_name(t);
  f.name = file_name(run, t, join(split(heading, ' '), "_"), what);
  f.kind = "accuracy";
  std::string title = heading;
  if (one_length)
    title += fmt::format(" at length {} ({})", common.length, t.multiple(common.length));
  if (!common.bucket.empty()) title += fmt::format(", {} positions", common.bucket);
  f.title = figure_title(run, t, title);
  f.caption = score_caption(t, parts, rows.chance);
  f.series = series_of(run, t);
  if (!one_length) f.x.label = "evaluation length (tokens)";
  if (axes_stand_below(parts, common) && !names.empty())
    f.x.label += (one_length ? "" : ", ") + join(names, ", ");
  f.y.label = heading + " (%)";
  f.values["settings"] = static_cast<double>(parts.size());
  const bool ordered = one_length && axes.size() == 1 && !t.labels.contains(axes[0].first);
  f.values["connected"] = ordered ? 1.0 : 0.0;
  f.values["chance"] = rows.chance ? 1.0 : 0.0;
  f.x.ticks = setting_ticks(t, parts, common);
  f.rows = std::move(rows.rows);
  return f;
}

}  // namespace

static std::vector<Figure> draw_scores(const RunData& run, const TaskData& t) {
  std::vector<SettingPart> parts;
  std::map<std::pair<int, std::string>, std::vector<SettingPart>> grids;
  for (const SettingPart& p : setting_parts(t)) {
    const bool apart = t.score == "acc";  // by position; exact match is of whole examples
    if (p.setting->seen && p.setting->unseen && p.bucket.empty() == apart) continue;
    parts.push_back(p);
    grids[{p.setting->length, bucket_of(p)}].push_back(p);
  }
  constexpr std::size_t most = 8;  // settings that are legible in one figure
  if (parts.empty()) return {};
  if (parts.size() <= most) return {score_figure(run, t, parts, {})};
  std::vector<Figure> out;
  for (const auto& [common, some] : grids)
    out.push_back(score_figure(run, t, some, {common.first, common.second}));
  return out;
}

std::vector<FigureKind> accuracy_figures() {
  return {{FigureSection::task, 20,
           [](const FigureContext& c) { return draw_scores(c.run, *c.task); }}};
}

}  // namespace pesuite
