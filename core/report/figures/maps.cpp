// Figures made of coloured cells: how much is right by depth and length, training length against
// evaluation length, and which seeds solve what.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/contest.h"
#include "base/text.h"
#include "model/metrics.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct Colour {
  double red = 0, green = 0, blue = 0;
  int code() const {
    const auto part = [](double x) { return static_cast<int>(std::lround(x)); };
    return part(red) << 16 | part(green) << 8 | part(blue);
  }
  bool dark() const { return 0.299 * red + 0.587 * green + 0.114 * blue < 140; }
};

// Viridis (van der Walt and Smith 2015): even to the eye, in print and for colour-blind readers.
// 0 is dark, 1 is bright, which is always the better.
Colour viridis(double share) {
  static constexpr std::array<Colour, 9> at = {{{68, 1, 84},
                                                {71, 44, 122},
                                                {59, 81, 139},
                                                {44, 113, 142},
                                                {33, 144, 141},
                                                {39, 173, 129},
                                                {92, 200, 99},
                                                {170, 220, 50},
                                                {253, 231, 37}}};
  const double x = std::clamp(share, 0.0, 1.0) * (at.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(x), at.size() - 2);
  const double f = x - static_cast<double>(i);
  const auto mix = [&](double a, double b) { return a + f * (b - a); };
  return {mix(at[i].red, at[i + 1].red), mix(at[i].green, at[i + 1].green),
          mix(at[i].blue, at[i + 1].blue)};
}

constexpr Colour missing{230, 230, 230}, white{255, 255, 255}, black{0, 0, 0};
constexpr int ink = 0x222222, paper = 0xFFFFFF;

// Values as colours: accuracies from 0 to 1; nats from the least to the most, the least bright, by
// their logarithms where they span a wide range.
struct Scale {
  bool accuracy = true, logarithmic = false;
  double low = 0, high = 1;

  static Scale of_nats(const std::vector<double>& values) {
    Scale s;
    s.accuracy = false, s.low = std::numeric_limits<double>::infinity(), s.high = -s.low;
    for (const double x : values)
      if (std::isfinite(x)) s.low = std::min(s.low, x), s.high = std::max(s.high, x);
    if (s.low > s.high) s.low = 0, s.high = 1;
    if (s.high - s.low < 1e-3) s.high = s.low + 1e-3;
    s.logarithmic = s.low > 0 && s.high > 20 * s.low;
    return s;
  }
  double share(double x) const {
    if (accuracy) return x;
    const auto f = [&](double v) { return logarithmic ? std::log(v) : v; };
    return 1 - (f(x) - f(low)) / (f(high) - f(low));
  }
  double value(double share) const {  // the inverse
    if (accuracy) return share;
    if (logarithmic) return low * std::pow(high / low, 1 - share);
    return low + (1 - share) * (high - low);
  }
  std::string text(double x) const {
    if (std::isinf(x)) return "∞";
    return accuracy ? fmt::format("{:.0f}", std::floor(100 * x + 1e-9)) : format_fixed(x, 2);
  }
};

// The rows and settings of a figure of cells.
class Cells {
 public:
  explicit Cells(Scale scale) : scale_(scale) {}

  void value(std::size_t panel, double x, double y, double v, bool written, double half = 0.48) {
    const Colour c = std::isnan(v) ? missing : std::isinf(v) ? black : viridis(scale_.share(v));
    const std::string text = std::isnan(v) ? "–" : scale_.text(v);
    add(panel, x, y, v, c, written ? text : "", half, c.dark() ? paper : ink);
  }
  void text(std::size_t panel, double x, double y, const std::string& t) {
    add(panel, x, y, Number::none, white, t, 0.48, ink);
  }

  // Finishes a figure, which has its title, of nx times ny cells in each of the panels.
  void finish(Figure& f, const std::vector<std::string>& panels, double nx, std::size_t ny,
              double cell_width, const Ticks& x, const Ticks& y, double wanted_columns) {
    const auto count = static_cast<double>(panels.size());
    const double columns = std::min(count, wanted_columns), rows = std::ceil(count / columns);
    constexpr double cell_height = 27, gap_x = 16, gap_y = 34, title = 26;
    const double width = std::max(nx * cell_width, 90.0);
    std::size_t widest = 4;
    for (const auto& [at, label] : y) widest = std::max(widest, display_width(label));
    const double left = 50 + 8.2 * static_cast<double>(widest);
    const double title_width = 7.8 * static_cast<double>(display_width(f.title));
    f.x.low = 0.5, f.x.high = nx + 0.5, f.x.ticks = x;
    f.y.low = 0.5, f.y.high = static_cast<double>(ny) + 0.5, f.y.ticks = y;
    f.values = {{"legend_width", 96.0},
                {"left", left},
                {"panel_width", std::max({columns * width + (columns - 1) * gap_x, 200.0,
                                          title_width - 2 * left})},  // the title is centred
                {"panel_height", rows * static_cast<double>(ny) * cell_height + (rows - 1) * gap_y +
                                     (count > 1 ? title : 0)},
                {"panel", panels},
                {"panels", count},
                {"columns", columns},
                {"rows", rows}};
    add_scale(f, rows * static_cast<double>(ny) * cell_height < 110 ? 2 : 4);
    f.rows = std::move(rows_);
  }

 private:
  void add_scale(Figure& f, int parts) {
    constexpr int steps = 64;
    for (int i = 0; i < steps; ++i)
      add(0, 0, i + 0.5, Number::none, viridis((i + 0.5) / steps), "", 0.5, ink);
    Ticks ticks;
    for (int i = 0; i <= parts; ++i) {
      const double share = static_cast<double>(i) / parts;
      ticks.emplace_back(share * steps, scale_.text(scale_.value(share)));
    }
    f.values["scale"] = 1.0;
    f.values["scale_ticks"] = ticks;
  }

  void add(std::size_t panel, double x, double y, double v, const Colour& c,
           const std::string& text, double half, int text_colour) {
    rows_.push_back({std::to_string(panel), csv_number(x), csv_number(y), csv_number(half),
                     csv_number(v), std::to_string(c.code()), text, std::to_string(text_colour)});
  }

  Scale scale_;
  Rows rows_ = {{"panel", "x", "y", "half_width", "value", "colour", "text", "text_colour"}};
};

std::vector<std::string> names_of(const RunData& run, const std::vector<std::size_t>& encodings) {
  std::vector<std::string> out;
  for (const std::size_t e : encodings) out.push_back(shorten(run.encodings[e], 26));
  return out;
}

// "chance 1 %", "chance 0.5 to 25 %" over the settings of a task; "" where it is not known.
std::string chance_text(const TaskData& t, const Metric& m) {
  double low = Number::infinite, high = -low;
  for (const Setting& s : t.settings)
    if (const double x = chance_of(t, problem_place(std::string(m.name), {&s, "", ""}));
        !std::isnan(x))
      low = std::min(low, x), high = std::max(high, x);
  if (low > high) return "";
  const auto percent = [](double x) { return fmt::format("{:.3g}", 100 * x); };
  if (high < 1e-4) return "chance below 0.01 %";
  if (low < 1e-4) return fmt::format("chance up to {} %", percent(high));
  if (percent(low) == percent(high)) return fmt::format("chance {} %", percent(low));
  return fmt::format("chance {} to {} %", percent(low), percent(high));
}

// Mean over seeds of a share; a seed that diverged counts as 0.
double mean_share(const TaskData& t, std::size_t e, const Place& p) {
  auto values = values_at(t, e, p);
  for (SeedValue& v : values)
    if (std::isnan(v.value) && v.lost == "diverged") v.value = 0;
  return summarize(values).mean;
}

// Values of an axis with numbers, over all settings.
std::vector<double> values_of_axis(const TaskData& t, const std::string& axis) {
  std::set<double> all;
  for (const Setting& s : t.settings)
    for (const auto& [name, value] : s.axes)
      if (name == axis) all.insert(value);
  return {all.begin(), all.end()};
}

Figure axis_map(const RunData& run, const TaskData& t, const std::string& axis,
                const std::vector<double>& values, const Metric& m) {
  Cells cells{Scale{}};
  Ticks x, y;
  for (std::size_t i = 0; i < t.lengths.size(); ++i)
    x.emplace_back(i + 1, fmt::format("{}\n{}", t.lengths[i], t.multiple(t.lengths[i])));
  for (std::size_t i = 0; i < values.size(); ++i)  // the first value on top
    y.emplace_back(values.size() - i, t.label(axis, values[i]));
  for (std::size_t k = 0; k < t.encodings.size(); ++k)
    for (std::size_t i = 0; i < t.lengths.size(); ++i)
      for (std::size_t j = 0; j < values.size(); ++j) {
        double sum = 0, n = 0;
        for (const Setting& s : t.settings) {
          const bool here = std::any_of(s.axes.begin(), s.axes.end(), [&](const auto& a) {
            return a.first == axis && a.second == values[j];
          });
          if (s.length != t.lengths[i] || !here) continue;
          sum += mean_share(t, t.encodings[k], problem_place(std::string(m.name), {&s, "", ""})),
              ++n;
        }
        cells.value(k + 1, static_cast<double>(i + 1), static_cast<double>(values.size() - j),
                    n == 0 ? Number::none : sum / n, true);
      }
  Figure f;
  f.name = file_name(run, t, "map", m.name == "acc" ? axis : fmt::format("{}_{}", axis, m.name));
  f.kind = "cells";
  const std::string chance = chance_text(t, m);
  f.title = figure_title(run, t,
                         fmt::format("{} (%) by {} and length{}", m.heading, axis,
                                     chance.empty() ? "" : "; " + chance));
  f.caption = fmt::format(
      "{} (%) by {} and evaluation length, mean over {}; trained at {}. Bright is better; grey: "
      "not evaluated.",
      m.says, axis, counted(t.seeds.size(), "seed"), t.train_length);
  f.x.label = "evaluation length (tokens)";
  f.y.label = axis;
  cells.finish(f, names_of(run, t.encodings), static_cast<double>(t.lengths.size()), values.size(),
               48, x, y, t.lengths.size() > 5 ? 2 : 3);
  return f;
}

}  // namespace

static std::vector<Figure> draw_maps_of_axes(const RunData& run, const TaskData& t) {
  std::vector<Figure> out;
  if (t.settings.empty() || t.lengths.size() < 2) return out;
  for (const auto& [axis, value] : t.settings[0].axes) {
    const auto values = values_of_axis(t, axis);
    if (values.size() < 3) continue;
    for (const Metric& m : metrics())
      if (m.map && t.has(std::string(m.name))) out.push_back(axis_map(run, t, axis, values, m));
  }
  return out;
}

static std::vector<Figure> draw_strips(const RunData& run, const TaskData& t) {
  if (!t.problem || t.seeds.size() < 3) return {};
  std::vector<Ground> all = grounds(t);
  if (all.empty() || all.size() > 12) return {};
  Cells cells{Scale{}};
  Ticks x, y;
  const auto seeds = static_cast<double>(t.seeds.size());
  const double part = std::clamp(5 / seeds, 0.35, 1.0), width = seeds * part + 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double from = static_cast<double>(i) * width + 0.5;
    const Ground& g = all[i];
    x.emplace_back(from + seeds * part / 2,
                   fmt::format("{} ({})\n{}", g.length, t.multiple(g.length),
                               g.trained          ? "in range"
                               : g.bucket.empty() ? "beyond"
                                                  : g.bucket));
    for (std::size_t k = 0; k < t.encodings.size(); ++k) {
      const auto row = static_cast<double>(t.encodings.size() - k);
      std::vector<double> values;
      for (const SeedValue& v : scores(g, t.encodings[k]))
        if (!std::isnan(v.value)) values.push_back(v.value);
      std::sort(values.rbegin(), values.rend());
      const auto solved =
          std::count_if(values.begin(), values.end(), [](double v) { return v >= 0.99; });
      for (std::size_t s = 0; s < values.size(); ++s)
        cells.value(1, from + part * (static_cast<double>(s) + 0.5), row, values[s], false,
                    0.44 * part);
      cells.text(1, from + seeds * part + 0.8, row, fmt::format("{}/{}", solved, t.seeds.size()));
    }
  }
  for (std::size_t k = 0; k < t.encodings.size(); ++k)
    y.emplace_back(t.encodings.size() - k, shorten(run.encodings[t.encodings[k]], 26));
  Figure f;
  f.name = file_name(run, t, "seeds");
  f.kind = "cells";
  f.title = figure_title(run, t, score_name(t) + " (%) of every seed, and how many solve it");
  f.caption = fmt::format(
      "A cell a seed, the best first, coloured by {0}; the number: seeds that solve it "
      "({0} of at least 99 %). A seed that diverged counts as 0; one without a record has no "
      "cell.",
      score_name(t));
  f.x.label = "evaluation length (tokens)";
  f.y.label = "";
  cells.finish(f, {""}, static_cast<double>(all.size()) * width, t.encodings.size(), 22, x, y, 1);
  return {f};
}

// ----------------------------------------------------- training length against evaluation length

namespace {

// Tasks that differ in the training length alone.
std::vector<std::vector<const TaskData*>> ladders(const RunData& run) {
  std::map<std::pair<std::string, std::string>, std::vector<const TaskData*>> all;
  for (const TaskData& t : run.tasks) all[{t.expression, t.model}].push_back(&t);
  std::vector<std::vector<const TaskData*>> out;
  for (auto& [key, tasks] : all) {
    std::set<int> lengths;
    for (const TaskData* t : tasks) lengths.insert(t->train_length);
    if (lengths.size() < 2 || lengths.size() != tasks.size()) continue;
    std::sort(tasks.begin(), tasks.end(), [](const TaskData* a, const TaskData* b) {
      return a->train_length < b->train_length;
    });
    out.push_back(std::move(tasks));
  }
  return out;
}

double mean_at(const TaskData& t, std::size_t e, int length) {
  const std::string protocol = t.corpus ? main_protocol(t) : "";
  for (const Ground& g : grounds(t))
    if (g.length == length && g.protocol == protocol) return summarize(scores(g, e)).mean;
  return Number::none;
}

}  // namespace

static std::vector<Figure> draw_ladders(const RunData& run) {
  std::vector<Figure> out;
  for (const auto& tasks : ladders(run)) {
    std::set<int> lengths;
    std::set<std::size_t> encodings;
    std::vector<double> values;
    for (const TaskData* t : tasks) {
      lengths.insert(t->lengths.begin(), t->lengths.end());
      encodings.insert(t->encodings.begin(), t->encodings.end());
      for (const std::size_t e : t->encodings)
        for (const int l : t->lengths) values.push_back(mean_at(*t, e, l));
    }
    const bool corpus = tasks[0]->corpus, regret = tasks[0]->has("regret");
    Cells cells{corpus ? Scale::of_nats(values) : Scale{}};
    Ticks x, y;
    std::size_t panel = 0, i = 0;
    for (const int l : lengths) x.emplace_back(++i, std::to_string(l));
    for (std::size_t k = 0; k < tasks.size(); ++k)
      y.emplace_back(k + 1, std::to_string(tasks[k]->train_length));
    for (const std::size_t e : encodings) {
      ++panel;
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        double at = 0;
        for (const int l : lengths)
          cells.value(panel, ++at, static_cast<double>(k + 1), mean_at(*tasks[k], e, l), true);
      }
    }
    const TaskData& t = *tasks[0];
    const std::string what = !corpus  ? score_name(t) + " (%)"
                             : regret ? "regret (nats)"
                                      : "nats per token";
    const std::string name = t.plugin_name();
    Figure f;
    f.name = "lengths_" + name + (run.several_models() ? "_" + t.model : "");
    f.kind = "cells";
    f.title = fmt::format("{} · {} by training and evaluation length", name, what);
    f.caption = fmt::format(
        "{} of {} by training length and evaluation length{}. Means over seeds. Bright is "
        "better; "
        "black with ∞: infinite or diverged; grey: not evaluated.",
        what, t.expression, corpus ? ", protocol " + main_protocol(t) : "");
    f.x.label = "evaluation length (tokens)";
    f.y.label = "training length";
    cells.finish(f, names_of(run, {encodings.begin(), encodings.end()}),
                 static_cast<double>(lengths.size()), tasks.size(), 48, x, y,
                 lengths.size() > 5 ? 2 : 3);
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<FigureKind> maps_figures() {
  return {
      {FigureSection::task, 10,
       [](const FigureContext& c) { return draw_maps_of_axes(c.run, *c.task); }},
      {FigureSection::task, 30, [](const FigureContext& c) { return draw_strips(c.run, *c.task); }},
      {FigureSection::over_tasks, 0, [](const FigureContext& c) { return draw_ladders(c.run); }}};
}

}  // namespace pesuite
