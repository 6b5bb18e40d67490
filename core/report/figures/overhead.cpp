// Bars of overhead: how much longer a token takes in training with each encoding than with none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

// Of one cell nobody knows what was the encoding and what the load of the machine.
constexpr std::size_t fewest_cells = 2;
// The expression of no encoding at all.
constexpr const char* no_encoding = "none";

// Tokens per second of a training that came to its end; not a number where none is recorded.
double training_speed(const TaskData& t, std::size_t encoding, std::uint64_t seed) {
  const CellData* c = t.cell(encoding, seed);
  if (c == nullptr || c->status != "ok") return Number::none;
  const auto it = c->costs.find("tokens_per_s");
  return it != c->costs.end() && it->second > 0 ? it->second : Number::none;
}

// Log ratios of time per token, a cell that has both.
std::vector<double> slowdowns(const RunData& run, std::size_t encoding, std::size_t reference,
                              int train_length) {
  std::vector<double> out;
  for (const TaskData& t : run.tasks) {
    if (train_length > 0 && t.train_length != train_length) continue;
    for (const std::uint64_t seed : t.seeds) {
      const double x =
          std::log(training_speed(t, reference, seed) / training_speed(t, encoding, seed));
      if (std::isfinite(x)) out.push_back(x);
    }
  }
  return out;
}

double mean_slowdown(const std::vector<double>& all) {
  double sum = 0;
  for (const double x : all) sum += x;
  return sum / static_cast<double>(all.size());
}

// The encoding that does nothing, else the fastest of those that share cells with the first.
std::size_t reference_of(const RunData& run, const std::vector<std::size_t>& encodings) {
  for (const std::size_t e : encodings)
    if (run.expressions[e] == no_encoding) return e;
  std::size_t best = encodings[0];
  double least = 0;
  for (const std::size_t e : encodings) {
    const std::vector<double> all = slowdowns(run, e, encodings[0], 0);
    if (!all.empty() && mean_slowdown(all) < least) least = mean_slowdown(all), best = e;
  }
  return best;
}

std::vector<std::size_t> timed_encodings(const RunData& run) {
  std::set<std::size_t> out;
  for (const TaskData& t : run.tasks)
    for (const std::size_t e : t.encodings)
      for (const std::uint64_t seed : t.seeds)
        if (!std::isnan(training_speed(t, e, seed))) out.insert(e);
  return {out.begin(), out.end()};
}

// Training lengths that are shown apart; {0}, all together, where there are too many.
std::vector<int> overhead_lengths(const RunData& run) {
  constexpr std::size_t most = 4;
  std::set<int> out;
  for (const TaskData& t : run.tasks) out.insert(t.train_length);
  if (out.size() > most) return {0};
  return {out.begin(), out.end()};
}

double percent_more(double log_ratio) {
  return 100 * std::expm1(log_ratio);
}

std::string percent_note(double percent) {
  return std::abs(percent) < 0.5 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

// The bars of an encoding, one a training length, between two rows of names.
struct Bars {
  const RunData& run;
  std::size_t reference;
  std::vector<int> lengths;
  Rows rows = {{"encoding", "kind", "train_len", "y", "height", "x", "low", "high"}};
  std::vector<std::string> notes = {};  // at the right of each bar
  std::vector<double> note_at = {};
  Range range = {};
  std::size_t cells = 0;  // of the bar with the fewest
  bool dots = false;      // bars of too few cells for an interval

  void add(const std::string& id, const char* kind, int length, double y, double height,
           const Band& b) {
    for (const double x : {b.value, b.low, b.high}) range.include(x);
    rows.push_back({id, kind, length > 0 ? std::to_string(length) : "", csv_number(y),
                    csv_number(height), csv_number(b.value), csv_number(b.low),
                    csv_number(b.high)});
  }
  void add_encoding(std::size_t e, double row) {
    const double height = 0.8 / static_cast<double>(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::vector<double> all = slowdowns(run, e, reference, lengths[i]);
      if (all.size() < fewest_cells) continue;
      cells = cells == 0 ? all.size() : std::min(cells, all.size());
      const double y =
          row + (static_cast<double>(lengths.size() - 1) / 2 - static_cast<double>(i)) * height;
      const double mean = mean_slowdown(all);
      Band band{percent_more(mean)};
      double squares = 0;
      for (const double x : all) squares += (x - mean) * (x - mean);
      const auto n = static_cast<double>(all.size());
      if (all.size() >= seeds_for_t) {
        const double half = t95(all.size() - 1) * std::sqrt(squares / (n - 1) / n);
        band.low = percent_more(mean - half), band.high = percent_more(mean + half);
      }
      const std::string& id = run.encodings[e];
      add(id, "bar", lengths[i], y, height, band);
      notes.push_back(percent_note(band.value) +
                      (lengths.size() == 1 ? "" : fmt::format(" at {}", lengths[i])));
      note_at.push_back(y);
      if (all.size() >= seeds_for_t) continue;
      dots = true;
      for (const double x : all) add(id, "cell", lengths[i], y, height, {percent_more(x)});
    }
  }
};

std::string overhead_caption(const Bars& bars, const std::string& reference, bool nothing) {
  return fmt::format(
      "Training time per token against {}{}, in the same task and seed. Bars: geometric mean over "
      "at least {}{}.{}{} Cells shared the machine. For speed: `pesuite bench`.",
      reference, nothing ? "" : ", the fastest", counted(bars.cells, "cell"),
      bars.dots ? "; dots: the cells" : "",
      bars.lengths.size() > 1 ? " Behind \"at\" stands the training length." : "",
      bars.cells >= seeds_for_t ? " Lines: 95 % interval over cells." : "");
}

std::vector<Figure> draw_overhead(const RunData& run) {
  const std::vector<std::size_t> timed = timed_encodings(run);
  if (timed.size() < 2) return {};
  const std::size_t reference = reference_of(run, timed);
  Bars bars{run, reference, overhead_lengths(run)};
  std::vector<std::size_t> shown;
  for (const std::size_t e : timed)
    if (e != reference && slowdowns(run, e, reference, 0).size() >= fewest_cells)
      shown.push_back(e);
  if (shown.empty()) return {};
  Figure f;
  std::size_t widest = 4;
  bars.range.include(0);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto row = static_cast<double>(shown.size() - i);
    bars.add_encoding(shown[i], row);
    f.y.ticks.emplace_back(row, shorten(run.encodings[shown[i]], 26));
    widest = std::max(widest, display_width(f.y.ticks.back().second));
  }
  f.name = "overhead", f.kind = "overhead";
  f.title = fmt::format("training time per token against {}", run.encodings[reference]);
  f.caption =
      overhead_caption(bars, run.encodings[reference], run.expressions[reference] == no_encoding);
  f.series = series_of(run, shown);
  bars.range.include(5);  // a smaller span would show noise alone
  const double span = bars.range.high - bars.range.low;
  f.x = {"change of time per token (%)",
         bars.range.low - (bars.range.low < 0 ? 0.05 * span : 0),
         bars.range.high + 0.05 * span,
         false,
         {}};
  f.values = {
      {"bars", static_cast<double>(bars.notes.size())},
      {"note", bars.notes},
      {"note_at", bars.note_at},
      {"left", 30 + 8.6 * static_cast<double>(widest)},
      {"legend_width", bars.lengths.size() > 1 ? 150.0 : 80.0},
      {"legend_height", 0.0},
      {"panel_height", static_cast<double>(shown.size()) *
                           std::max(27.0, 20.0 * static_cast<double>(bars.lengths.size()))}};
  f.rows = std::move(bars.rows);
  return {f};
}

}  // namespace

std::vector<FigureKind> overhead_figures() {
  return {{FigureSection::cost, -10, [](const FigureContext& c) { return draw_overhead(c.run); }}};
}

}  // namespace pesuite
