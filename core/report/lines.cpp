#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

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
  const bool t = s.n >= seeds_for_t;
  return {f(s.mean), f(t ? s.t_low : s.low), f(t ? s.t_high : s.high)};
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
    add(id, "mean", "", xs[i], band_of(all.back(), f));
  }
  if (all.empty() || all[0].size() < 2) return;
  for (std::size_t s = 0; s < all[0].size(); ++s)
    for (std::size_t i = 0; i < xs.size(); ++i)
      add(id, "seed", std::to_string(all[i][s].seed), xs[i], {f(all[i][s].value)});
}

void add_ticks(Settings& s, const char* axis, const Ticks& ticks) {
  std::vector<std::string> all;
  std::size_t lines = 1;
  for (const auto& [x, text] : ticks) {
    all.push_back(fmt::format("{} {:.10g}", gnuplot_string(text), x));
    lines = std::max(lines, split(text, '\n').size());
  }
  s.line(fmt::format("set {}tics ({})", axis, join(all, ", ")));
  s.number(fmt::format("{}_lines", axis), static_cast<double>(lines));
}

void add_styles(Settings& s, const RunData& run, const std::vector<std::size_t>& encodings,
                const std::vector<std::string>& given) {
  std::vector<std::string> ids, labels = given;
  std::size_t widest = 15;  // "training length"
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    ids.push_back(run.encodings[encodings[i]]);
    if (given.empty()) labels.push_back(shorten(ids.back(), 26));
    widest = std::max(widest, display_width(labels[i]));
  }
  constexpr double sample = 56, character = 8.2;  // pixels
  s.number("n", static_cast<double>(ids.size()));
  s.texts("id", ids);
  s.texts("label", labels);
  s.number("legend_width", std::ceil(sample + character * static_cast<double>(widest)));
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    const SeriesStyle style = series_style(encodings[i]);
    const auto line = [&](std::size_t number, const std::string& colour, const char* sizes) {
      s.line(fmt::format("set style line {} lc rgb \"{}\" pt {} dt {} {}", number, colour,
                         style.marker, style.dash, sizes));
    };
    line(i + 1, style.colour, "lw 2 ps 0.8");
    line(i + 101, faint(style.colour), "lw 1 ps 0.5");
  }
}

void add_series(Settings& s, const RunData& run, const TaskData& t, const Lines* lines) {
  std::vector<std::string> labels, seeds;
  for (const std::size_t e : t.encodings) labels.push_back(legend(run, t, e, lines));
  for (const std::uint64_t seed : t.seeds) seeds.push_back(std::to_string(seed));
  add_styles(s, run, t.encodings, labels);
  s.number("seeds", static_cast<double>(seeds.size()));
  s.texts("seed", seeds);
}

void add_length_axis(Settings& s, const TaskData& t, const std::vector<double>& xs,
                     const char* label) {
  const double margin = std::pow(xs.back() / xs.front(), 0.045) * 1.02;
  s.text("x_label", label);
  s.number("x_low", xs.front() / margin);
  s.number("x_high", xs.back() * margin);
  s.number("mark", t.train_length);
  // Encodings stand beside each other on a part of the way from one x to the next.
  double closest = xs.back() / xs.front();
  for (std::size_t i = 1; i < xs.size(); ++i) closest = std::min(closest, xs[i] / xs[i - 1]);
  const double room = std::min(0.3 * std::log(closest), 0.065 * std::log(xs.back() / xs.front()));
  s.number("dodge", room / static_cast<double>(t.encodings.size()));
}

void add_y_axis(Settings& s, const Range& range, bool logarithmic) {
  const auto to = [&](double y) { return logarithmic ? std::log(y) : y; };
  const auto from = [&](double y) { return logarithmic ? std::exp(y) : y; };
  const bool below = logarithmic && range.not_positive;
  double low = 1, high = 2;  // where nothing is finite
  if (!range.empty()) low = to(below ? range.smallest : range.low), high = to(range.high);
  if (!(high - low > 1e-9 * (1 + std::abs(high)))) low -= 0.05, high += 0.05;
  const double span = high - low;
  const double top = high + span * (range.infinite ? 0.16 : 0.05);
  const double bottom = low - span * (below ? 0.14 : 0.05);
  s.number("y_log", logarithmic ? 1 : 0);
  s.number("y_low", from(bottom));
  s.number("y_high", from(top));
  s.number("infinite", range.infinite ? 1 : 0);
  s.number("rise_from", from(high + span * 0.06));  // arrows at the upper edge
  s.number("rise_to", from(high + span * 0.15));
  s.number("below", below ? 1 : 0);
  s.number("fall_from", from(low - span * 0.05));  // and at the lower
  s.number("fall_to", from(low - span * 0.13));
  if (!logarithmic) return;
  Ticks ticks;
  const std::vector<double> at = log_ticks(from(bottom), from(high));
  for (const double y : at) ticks.emplace_back(y, axis_number(y, at.empty() ? y : at.back()));
  add_ticks(s, "y", ticks);
}

std::string figure_title(const RunData& run, const TaskData& t, const std::string& what) {
  if (run.several_models()) return fmt::format("{} · {} · {}", t.task, t.model, what);
  return fmt::format("{} · {}", t.task, what);
}

std::string band_sentence(const TaskData& t) {
  if (t.seeds.size() == 1) return fmt::format("One seed ({}).", t.seeds[0]);
  return fmt::format(
      "Line: mean over {} seeds; band: {}; thin lines: the seeds.", t.seeds.size(),
      t.seeds.size() >= seeds_for_t ? "95 % t interval of the mean" : "lowest to highest seed");
}

std::string edge_sentence(const Range& range, bool logarithmic) {
  std::string out;
  if (range.infinite) out += " Arrows at the upper edge: infinite.";
  if (logarithmic && range.not_positive) out += " Arrows at the lower edge: zero or below.";
  return out;
}

}  // namespace pesuite
