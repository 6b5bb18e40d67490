#include "report/overhead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/tables.h"

namespace pesuite {

namespace {

std::string percent_note(const Overhead& o, bool with_length) {
  const double x = o.percent.value;
  std::string text = std::abs(x) < 0.5 ? "0 %" : fmt::format("{:+.0f} %", x);
  return with_length ? fmt::format("{} at {}", text, o.length) : text;
}

std::vector<std::size_t> encodings_of(const std::vector<Overhead>& all) {
  std::vector<std::size_t> out;
  for (const Overhead& o : all)
    if (std::find(out.begin(), out.end(), o.encoding) == out.end()) out.push_back(o.encoding);
  return out;
}

}  // namespace

Figure overhead_figure(const RunData& run, const std::vector<Overhead>& all) {
  const std::vector<std::size_t> shown = encodings_of(all);
  std::set<int> lengths;
  for (const Overhead& o : all) lengths.insert(o.length);
  const auto bars = static_cast<double>(lengths.size());
  const double height = 0.8 / bars;
  Figure f;
  f.name = f.kind = "overhead";
  f.rows = {{"encoding", "kind", "length", "y", "height", "x", "low", "high"}};
  Range range;
  range.include(0), range.include(5);  // a smaller span would show noise alone
  std::vector<std::string> notes;      // at the right of each bar
  std::vector<double> note_at;
  std::size_t widest = 4;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto row = static_cast<double>(shown.size() - i);
    const std::string& id = run.encodings[shown[i]];
    f.y.ticks.emplace_back(row, shorten(id, 26));
    widest = std::max(widest, display_width(f.y.ticks.back().second));
    for (const Overhead& o : all) {
      if (o.encoding != shown[i]) continue;
      const auto place =
          static_cast<double>(std::distance(lengths.begin(), lengths.find(o.length)));
      const double y = row + ((bars - 1) / 2 - place) * height;
      const auto add = [&](const char* kind, const Band& b) {
        for (const double x : {b.value, b.low, b.high}) range.include(x);
        f.rows.push_back({id, kind, o.length > 0 ? std::to_string(o.length) : "", csv_number(y),
                          csv_number(height), csv_number(b.value), csv_number(b.low),
                          csv_number(b.high)});
      };
      add("bar", o.percent);
      for (const double x : o.measurements) add("measurement", {x});
      notes.push_back(percent_note(o, lengths.size() > 1));
      note_at.push_back(y);
    }
  }
  f.series = series_of(run, shown);
  const double span = range.high - range.low;
  f.x = {"change of time (%)",
         range.low - (range.low < 0 ? 0.05 * span : 0),
         range.high + 0.05 * span,
         false,
         {}};
  f.values = {{"bars", static_cast<double>(notes.size())},
              {"note", notes},
              {"note_at", note_at},
              {"left", 30 + 8.6 * static_cast<double>(widest)},
              {"legend_width", lengths.size() > 1 ? 150.0 : 80.0},
              {"legend_height", 0.0},
              {"panel_height", static_cast<double>(shown.size()) * std::max(27.0, 20.0 * bars)}};
  return f;
}

}  // namespace pesuite
