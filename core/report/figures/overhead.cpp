// Bars of overhead: how much longer a token takes in training with each encoding than with none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/overhead.h"
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

// Geometric mean over the cells of one bar, with its interval from as many on as a t wants.
Overhead overhead_of(std::size_t encoding, int train_length, const std::vector<double>& all) {
  const double mean = mean_slowdown(all);
  Overhead o{encoding, train_length, {percent_more(mean)}, {}};
  if (all.size() < seeds_for_t) {
    for (const double x : all) o.measurements.push_back(percent_more(x));
    return o;
  }
  double squares = 0;
  for (const double x : all) squares += (x - mean) * (x - mean);
  const auto n = static_cast<double>(all.size());
  const double half = t95(all.size() - 1) * std::sqrt(squares / (n - 1) / n);
  o.percent.low = percent_more(mean - half), o.percent.high = percent_more(mean + half);
  return o;
}

std::vector<Figure> draw_overhead(const RunData& run) {
  const std::vector<std::size_t> timed = timed_encodings(run);
  if (timed.size() < 2) return {};
  const std::size_t reference = reference_of(run, timed);
  const std::vector<int> lengths = overhead_lengths(run);
  std::vector<Overhead> bars;
  std::size_t cells = 0;  // of the bar with the fewest
  bool dots = false;      // bars of too few cells for an interval
  for (const std::size_t e : timed)
    for (const int length : lengths) {
      const std::vector<double> all = slowdowns(run, e, reference, length);
      if (e == reference || all.size() < fewest_cells) continue;
      bars.push_back(overhead_of(e, length, all));
      cells = cells == 0 ? all.size() : std::min(cells, all.size());
      dots |= all.size() < seeds_for_t;
    }
  if (bars.empty()) return {};
  Figure f = overhead_figure(run, bars);
  f.title = fmt::format("training time per token against {}", run.encodings[reference]);
  f.caption = fmt::format(
      "Training time per token against {}{}, in the same task and seed. Bars: geometric mean over "
      "at least {}{}.{}{} Cells shared the machine. For speed: `pesuite bench`.",
      run.encodings[reference], run.expressions[reference] == no_encoding ? "" : ", the fastest",
      counted(cells, "cell"), dots ? "; dots: the cells" : "",
      lengths.size() > 1 ? " Behind \"at\" stands the training length." : "",
      cells >= seeds_for_t ? " Lines: 95 % interval over cells." : "");
  return {f};
}

}  // namespace

std::vector<FigureKind> overhead_figures() {
  return {{FigureSection::cost, -10, [](const FigureContext& c) { return draw_overhead(c.run); }}};
}

}  // namespace pesuite
