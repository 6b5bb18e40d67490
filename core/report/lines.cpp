#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "report/gnuplot.h"
#include "report/tables.h"
#include "report/text.h"

namespace pesuite {

void Range::include(double x) {
  if (std::isinf(x) && x > 0) infinite = true;
  if (!std::isfinite(x)) return;
  if (x <= 0) not_positive = true;
  if (x > 0) smallest = std::min(smallest, x);
  low = std::min(low, x), high = std::max(high, x);
}

namespace {

Band band_of(const std::vector<SeedValue>& values, const Transform& f) {
  const Spread s = summarize(values);
  return {f(s.mean), f(s.t_low), f(s.t_high)};
}

// plots/encodings.tsv: a name of an encoding and its place in the palette, a line each.
std::map<std::string, std::size_t> read_styles() {
  std::map<std::string, std::size_t> out;
  const fs::path file = plots_folder() / "encodings.tsv";
  if (!fs::exists(file)) return out;
  for (const std::string& line : split(read_file(file), '\n')) {
    const std::vector<std::string> cells = split(line, '\t');
    if (cells.size() == 2 && !line.starts_with('#'))
      out[cells[0]] = std::stoul(cells[1]) % palette_size;
  }
  return out;
}

// "learned", "learned (1/3 diverged)", "learned (2/3 ∞)".
std::string legend(const RunData& run, const TaskData& t, std::size_t e, const Lines* lines) {
  std::map<std::string, std::size_t> lost;
  for (const std::uint64_t seed : t.seeds)
    if (const CellData* c = t.cell(e, seed); c != nullptr && c->status != "ok") ++lost[c->status];
  const std::string& id = run.encodings[e];
  if (lines != nullptr && lines->infinite.contains(id)) lost["∞"] = lines->infinite.at(id).size();
  if (lines != nullptr && lines->undefined.contains(id))
    lost["nan"] = lines->undefined.at(id).size();
  std::string out = shorten(id, 26);
  for (const auto& [why, count] : lost)
    out += t.seeds.size() == 1 ? fmt::format(" ({})", why)
                               : fmt::format(" ({}/{} {})", count, t.seeds.size(), why);
  return out;
}

}  // namespace

void Lines::add(const std::string& encoding, const std::string& kind, const std::string& seed,
                double x, const Band& b) {
  if (std::isnan(b.value)) return;
  for (const double y : {b.value, b.low, b.high}) range.include(y);
  rows.push_back({encoding, kind, seed, csv_number(x), csv_number(b.value), csv_number(b.low),
                  csv_number(b.high)});
}

void Lines::add_encoding(const std::string& id, const std::vector<double>& xs,
                         const std::function<std::vector<SeedValue>(std::size_t)>& at,
                         const Transform& f) {
  std::vector<std::vector<SeedValue>> all;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    all.push_back(at(i));
    for (const SeedValue& v : all.back()) {
      if (std::isinf(v.value)) infinite[id].insert(v.seed);
      if (v.lost == "nan") undefined[id].insert(v.seed);
    }
    const Band b = band_of(all.back(), f);
    add(id, "mean", "", xs[i], b);
    if (!std::isnan(b.value)) last[id] = b.value;
  }
  if (all.empty() || all[0].size() < 2 || all[0].size() >= seeds_for_t) return;
  for (std::size_t s = 0; s < all[0].size(); ++s)
    for (std::size_t i = 0; i < xs.size(); ++i)
      add(id, "seed", std::to_string(all[i][s].seed), xs[i], {f(all[i][s].value)});
}

std::vector<SeriesStyle> styles_of(const RunData& run) {
  static const std::map<std::string, std::size_t> known = read_styles();
  constexpr std::size_t colours = 12;
  std::set<std::size_t> taken;
  std::vector<SeriesStyle> out;
  for (std::size_t e = 0; e < run.encodings.size(); ++e) {
    std::size_t style = palette_size;
    const std::string& expression = run.expressions[e];
    const std::size_t change = expression.rfind("=>");
    const std::string evaluated =
        change == std::string::npos ? std::string() : expression.substr(change + 2);
    for (const std::string* text : {&run.encodings[e], &evaluated, &expression}) {
      const std::string name = trim(*text);
      const auto it = known.find(name.substr(0, name.find_first_of("( =+")));
      if (it != known.end()) {
        style = it->second;
        break;
      }
    }
    if (style == palette_size) {
      std::size_t hash = 1469598103934665603U;  // FNV-1a: the same on every machine
      for (const char c : run.encodings[e])
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
      style = hash % colours;
    }
    while (taken.contains(style) && taken.size() < palette_size) style = (style + 1) % palette_size;
    taken.insert(style);
    out.push_back(series_style(style));
  }
  return out;
}

std::vector<Series> series_of(const RunData& run, const std::vector<std::size_t>& encodings) {
  const std::vector<SeriesStyle> styles = styles_of(run);
  std::vector<Series> out;
  for (const std::size_t e : encodings)
    out.push_back({run.encodings[e], shorten(run.encodings[e], 26), styles[e]});
  return out;
}

std::vector<Series> series_of(const RunData& run, const TaskData& t, const Lines* lines) {
  std::vector<Series> out = series_of(run, t.encodings);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].label = legend(run, t, t.encodings[i], lines);
  return out;
}

void set_length_axis(Figure& f, const TaskData& t, const std::vector<double>& xs,
                     const char* label) {
  const double margin = std::pow(xs.back() / xs.front(), 0.03) * 1.01;
  f.x = {label, xs.front() / margin, xs.back() * margin, true, {}};
  f.values["mark"] = static_cast<double>(t.train_length);
  f.values["further"] = t.trained_further().empty() ? 0.0 : 1.0;
}

void set_y_axis(Figure& f, const Range& range, bool logarithmic) {
  const auto to = [&](double y) { return logarithmic ? std::log(y) : y; };
  const auto from = [&](double y) { return logarithmic ? std::exp(y) : y; };
  const bool below = logarithmic && range.not_positive;
  double low = 1, high = 2;  // where nothing is finite
  if (!range.empty()) low = to(below ? range.smallest : range.low), high = to(range.high);
  if (!(high - low > 1e-9 * (1 + std::abs(high)))) low -= 0.05, high += 0.05;
  const double span = high - low;
  const double top = high + span * (range.infinite ? 0.16 : 0.05);
  const double bottom = low - span * (below ? 0.14 : 0.05);
  f.y.low = from(bottom), f.y.high = from(top), f.y.logarithmic = logarithmic;
  f.values["infinite"] = range.infinite ? 1.0 : 0.0;
  f.values["rise_from"] = from(high + span * 0.06);  // arrows at the upper edge
  f.values["rise_to"] = from(high + span * 0.15);
  f.values["below"] = below ? 1.0 : 0.0;
  f.values["fall_from"] = from(low - span * 0.05);  // and at the lower
  f.values["fall_to"] = from(low - span * 0.13);
  if (!logarithmic) return;
  const std::vector<double> at = log_ticks(from(bottom), from(high));
  for (const double y : at) f.y.ticks.emplace_back(y, axis_number(y, at.empty() ? y : at.back()));
}

std::vector<double> spread_out(const std::vector<double>& wanted, double gap) {
  std::vector<std::size_t> order(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  struct Group {  // neighbours that touch, around their mean
    double centre;
    std::size_t first, size;
  };
  const auto half = [&](const Group& g) { return gap * static_cast<double>(g.size - 1) / 2; };
  const auto kept_in = [&](Group g) {
    g.centre = std::max(std::min(g.centre, 1 - half(g)), half(g));
    return g;
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < order.size(); ++i) {
    groups.push_back(kept_in({wanted[order[i]], i, 1}));
    while (groups.size() > 1) {
      const Group &a = groups[groups.size() - 2], &b = groups.back();
      if (b.centre - half(b) - (a.centre + half(a)) >= gap * 0.999) break;
      const auto na = static_cast<double>(a.size), nb = static_cast<double>(b.size);
      const Group joined =
          kept_in({(a.centre * na + b.centre * nb) / (na + nb), a.first, a.size + b.size});
      groups.pop_back();
      groups.back() = joined;
    }
  }
  std::vector<double> out(wanted.size());
  for (const Group& g : groups)
    for (std::size_t k = 0; k < g.size; ++k)
      out[order[g.first + k]] = g.centre - half(g) + gap * static_cast<double>(k);
  return out;
}

void name_line_ends(Figure& f, const Lines& lines) {
  constexpr double line = 18, least = 350;  // pixels
  const double height = std::max(least, line * static_cast<double>(f.series.size() + 1));
  const auto place = [&](double y) {  // share of the panel's height
    if (std::isnan(y)) return 0.0;
    const auto to = [&](double v) { return f.y.logarithmic ? std::log(v) : v; };
    if (std::isinf(y)) return y > 0 ? 1.0 : 0.0;
    if (f.y.logarithmic && y <= 0) return 0.0;
    return std::clamp((to(y) - to(f.y.low)) / (to(f.y.high) - to(f.y.low)), 0.0, 1.0);
  };
  std::vector<double> ends;
  for (const Series& s : f.series) {
    const auto it = lines.last.find(s.id);
    ends.push_back(place(it == lines.last.end() ? Number::none : it->second));
  }
  f.values["panel_height"] = height;
  f.values["end"] = ends;
  f.values["label_at"] = spread_out(ends, line / height);
}

std::string figure_title(const RunData& run, const TaskData& t, const std::string& what) {
  if (run.several_models()) return fmt::format("{} · {} · {}", t.task, t.model, what);
  return fmt::format("{} · {}", t.task, what);
}

std::string tint_sentence(const RunData& run, const TaskData& t) {
  const std::string further = further_phrase(run, t);
  return further.empty() ? "Tinted: longer than any training sequence."
                         : fmt::format("Tinted: longer than the training length ({}).", further);
}

std::string band_sentence(const TaskData& t) {
  if (t.seeds.size() == 1) return fmt::format("One seed ({}).", t.seeds[0]);
  return fmt::format("Line: mean over {} seeds; {}.", t.seeds.size(),
                     t.seeds.size() >= seeds_for_t ? "band: 95 % t interval of the mean"
                                                   : "small dots: the seeds");
}

std::string edge_sentence(const Range& range, bool logarithmic) {
  std::string out;
  if (range.infinite) out += " Arrows at the upper edge: infinite.";
  if (logarithmic && range.not_positive) out += " Arrows at the lower edge: zero or below.";
  return out;
}

}  // namespace pesuite
