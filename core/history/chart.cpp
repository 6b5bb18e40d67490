#include "history/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pesuite {

namespace {

constexpr double width = 860, height = 340, left = 74, right = 16, top = 16, bottom = 58;
constexpr const char* worse = "#b3261e";
constexpr const char* better = "#1b7a3d";
constexpr const char* ink = "#1f2a37";
constexpr const char* grey = "#8a94a3";
constexpr const char* seed_ink = "#9db4d0";
constexpr const char* level_ink = "#0b5cad";
constexpr const char* paper = "#ffffff";
constexpr const char* grid_ink = "#e3e7ec";
constexpr const char* course_ink = "#5b6b7f";

struct Range {
  double low = 0, high = 1;
};

// How far each seed usually lies from the mean of all: drawn without it, seeds show how much
// commits differ, and not how much seeds do.
std::map<std::uint64_t, double> usual_distances(const HistorySeries& h) {
  std::map<std::uint64_t, std::vector<double>> values;
  for (const HistoryPoint& p : h.points)
    for (const auto& [seed, o] : p.seeds)
      if (std::isfinite(o.value)) values[seed].push_back(o.value);
  std::map<std::uint64_t, double> out;
  double mean = 0;
  for (const auto& [seed, all] : values)
    mean += median_of(all) / static_cast<double>(values.size());
  for (const auto& [seed, all] : values) out[seed] = median_of(all) - mean;
  return out;
}

// All that is drawn, with room around it; never thinner than a few changes that count, so that
// noise does not look like a mountain.
Range range_in(const HistorySeries& h, const Trend& t, bool seeds) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto add = [&](double x) {
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  };
  for (const double v : t.values) add(v);
  if (seeds) {
    auto usual = usual_distances(h);
    for (const HistoryPoint& p : h.points)
      for (const auto& [seed, o] : p.seeds) add(o.value - usual[seed]);
  }
  if (low > high) return {};
  const double middle = (low + high) / 2;
  const double half = std::max({(high - low) / 2 * 1.08, t.counts, 1e-9 * std::abs(middle), 1e-12});
  return {middle - half, middle + half};
}

struct Frame {
  Range y;
  std::size_t points = 1;
  double wide = width - left - right, high = height - top - bottom, x0 = left, y0 = top;
  double x(double i) const {
    return x0 + wide * (points < 2 ? 0.5 : i / static_cast<double>(points - 1));
  }
  double to_y(double v) const { return y0 + high * (y.high - v) / (y.high - y.low); }
};

std::string line(double x1, double y1, double x2, double y2, const char* colour, double thick,
                 const char* more = "") {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"{}/>\n",
      x1, y1, x2, y2, colour, thick, more);
}
std::string words(double x, double y, const std::string& text, const char* anchor,
                  const char* colour = ink, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                     x, y, anchor, colour, more, xml_text(text));
}

std::vector<double> ticks_of(Range r) {
  const double raw = (r.high - r.low) / 5, magnitude = std::pow(10, std::floor(std::log10(raw)));
  const double ratio = raw / magnitude;
  const double step = magnitude * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  std::vector<double> out;
  for (double v = std::ceil(r.low / step) * step; v <= r.high; v += step)
    out.push_back(std::abs(v) < step / 1e6 ? 0 : v);
  return out;
}

std::string axes(const HistorySeries& h, const Frame& f) {
  std::string out;
  const std::vector<double> ticks = ticks_of(f.y);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  for (const double v : ticks) {
    out += line(f.x0, f.to_y(v), f.x0 + f.wide, f.to_y(v), grid_ink, 1);
    out += words(f.x0 - 8, f.to_y(v) + 4, fmt::format("{:.{}f}", v, digits), "end");
  }
  const std::size_t n = h.points.size(), every = std::max<std::size_t>(1, (n + 6) / 7);
  for (std::size_t i = 0; i < n; i += every) {
    if (i > 0 && i + every > n - 1 && n - 1 - i < every / 2) break;
    const Commit& c = h.points[i].commit;
    out += line(f.x(static_cast<double>(i)), f.y0 + f.high, f.x(static_cast<double>(i)),
                f.y0 + f.high + 5, grey, 1);
    out += words(f.x(static_cast<double>(i)), f.y0 + f.high + 20, c.id.substr(0, 8), "middle");
    out += words(f.x(static_cast<double>(i)), f.y0 + f.high + 36, c.date.substr(0, 10), "middle",
                 grey);
  }
  out += line(f.x0, f.y0 + f.high, f.x0 + f.wide, f.y0 + f.high, grey, 1);
  return out;
}

std::string marks(const HistorySeries& h, const Trend& t, const Frame& f) {
  std::string out;
  for (const Failing& x : t.failing)
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "opacity=\"0.12\"><title>{}</title></rect>\n",
        f.x(static_cast<double>(x.first)) - 3, f.y0,
        f.x(static_cast<double>(x.last)) - f.x(static_cast<double>(x.first)) + 6, f.high, worse,
        xml_text(x.status));
  for (const Change& c : t.changes) {
    const double a = f.x(static_cast<double>(c.before)), b = f.x(static_cast<double>(c.after));
    const char* colour = c.way == Change::Way::worse    ? worse
                         : c.way == Change::Way::better ? better
                                                        : grey;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "opacity=\"0.22\"><title>{}</title></rect>\n",
        a, f.y0, std::max(2.0, b - a), f.high, colour,
        xml_text(fmt::format("{}, {:+.3g}", range_of(h, c.before, c.after), c.size())));
  }
  return out;
}

std::string dots(const HistorySeries& h, const Trend& t, const Frame& f) {
  std::string out;
  const double size = h.points.size() > 150 ? 1.6 : 2.4;
  auto usual = usual_distances(h);
  for (std::size_t i = 0; i < h.points.size(); ++i) {
    const double x = f.x(static_cast<double>(i));
    for (const auto& [seed, o] : h.points[i].seeds)
      if (std::isfinite(o.value) && h.points[i].seeds.size() > 1)
        out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x,
                           f.to_y(o.value - usual[seed]), size * 0.7, seed_ink);
    if (!std::isfinite(t.values[i])) continue;
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>\n", x,
        f.to_y(t.values[i]), size, ink,
        xml_text(fmt::format("{} {}: {}", h.points[i].commit.id, h.points[i].commit.subject,
                             short_number(t.values[i]))));
  }
  return out;
}

}  // namespace

std::string short_number(double v) {
  if (std::isnan(v)) return "-";
  const double a = std::abs(v);
  if (a >= 1e6 || (a > 0 && a < 1e-3)) return fmt::format("{:.3e}", v);
  const int digits = a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4;
  return fmt::format("{:.{}f}", v, digits);
}

std::string chart_of(const HistorySeries& h, const Trend& t) {
  const Frame f{range_in(h, t, true), h.points.size()};
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" role=\"img\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"{3}\"/>\n",
      width, height, xml_text(h.what.name()), paper);
  out += axes(h, f) + marks(h, t, f) + dots(h, t, f);
  for (const Level& l : t.levels)
    out += line(f.x(static_cast<double>(l.begin)), f.to_y(l.value),
                f.x(static_cast<double>(l.end - 1)), f.to_y(l.value), level_ink, 2,
                " stroke-linecap=\"round\"");
  const std::string unit = h.what.unit.empty() ? h.what.metric : h.what.unit;
  out += words(16, f.y0 + f.high / 2, unit, "middle", ink,
               fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", f.y0 + f.high / 2).c_str());
  return out + "</svg>\n";
}

std::string chart_rules() {
  std::string out;
  for (const auto& [colour, of_page] : {std::pair{paper, "--paper"},
                                        {ink, "--ink"},
                                        {grey, "--soft"},
                                        {grid_ink, "--line"},
                                        {course_ink, "--soft"},
                                        {level_ink, "--link"},
                                        {seed_ink, "--seed"},
                                        {worse, "--bad"},
                                        {better, "--good"}})
    out += fmt::format(
        "svg [fill=\"{0}\"]{{fill:var({1})}}\nsvg [stroke=\"{0}\"]{{stroke:var({1})}}\n", colour,
        of_page);
  return out;
}

std::string sparkline_of(const HistorySeries& h, const Trend& t) {
  Frame f{range_in(h, t, false), h.points.size()};
  f.wide = 84, f.high = 18, f.x0 = 3, f.y0 = 2;
  std::string path;
  for (std::size_t i = 0; i < t.values.size(); ++i)
    if (std::isfinite(t.values[i]))
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", f.x(static_cast<double>(i)),
                          f.to_y(t.values[i]));
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 90 22\" width=\"90\" height=\"22\" aria-hidden=\"true\"><polyline "
      "points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1\"/>",
      path, course_ink);
  for (const Change& c : t.changes)
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\"/>",
                       f.x(static_cast<double>(c.after)), f.to_y(c.to),
                       c.way == Change::Way::worse ? worse : better);
  return out + "</svg>";
}

}  // namespace pesuite
