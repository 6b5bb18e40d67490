// Learning curves: validation and training by steps and by tokens, losses with their perplexity.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

// Values of a curve of each seed at a step.
std::vector<SeedValue> curve_at(const TaskData& t, std::size_t e, const std::string& curve,
                                std::int64_t step) {
  return values_of(t, e, [&](const CellData& c) {
    const auto found = c.curves.find(curve);
    if (found == c.curves.end()) return Number::none;
    const auto at = found->second.find(step);
    return at == found->second.end() ? Number::none : at->second;
  });
}

std::vector<std::int64_t> steps_of(const TaskData& t, std::size_t e, const std::string& curve) {
  std::set<std::int64_t> steps;
  for (const std::uint64_t seed : t.seeds)
    if (const CellData* c = t.cell(e, seed))
      if (const auto found = c->curves.find(curve); found != c->curves.end())
        for (const auto& [step, value] : found->second) steps.insert(step);
  return {steps.begin(), steps.end()};
}

// Chance of a problem where it is trained, as a share.
double trained_chance(const TaskData& t) {
  for (const SettingPart& p : setting_parts(t))
    if (p.setting->trained) return chance_of(t, accuracy_place(p));
  return Number::none;
}

// Tokens of a step, where all cells agree; else 0.
double tokens_per_step(const TaskData& t) {
  double out = 0;
  for (const auto& [key, c] : t.cells) {
    if (c.steps <= 0 || c.tokens <= 0) continue;
    const double here = static_cast<double>(c.tokens) / static_cast<double>(c.steps);
    if (out > 0 && std::abs(here - out) > 1e-6 * out) return 0;
    out = here;
  }
  return out;
}

// The mean of each point with its neighbours, about a twentieth of the curve.
std::vector<double> smoothed(const std::vector<double>& values) {
  const auto n = static_cast<std::ptrdiff_t>(values.size()), reach = n / 40;
  std::vector<double> out;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const std::ptrdiff_t near = std::min({reach, i, n - 1 - i});  // even at both ends
    double sum = 0;
    for (std::ptrdiff_t k = i - near; k <= i + near; ++k)
      sum += values[static_cast<std::size_t>(k)];
    out.push_back(sum / static_cast<double>(2 * near + 1));
  }
  return out;
}

struct Learning {
  const RunData& run;
  const TaskData& t;
  std::string metric;  // "nll" or "acc"
  bool accuracy = metric == "acc";
  Lines lines = {};
  Range range = {};
  std::int64_t last = 1;

  double scaled(double x) const { return accuracy ? 100 * x : x; }

  void add_validation() {
    for (const std::size_t e : t.encodings) {
      const auto steps = steps_of(t, e, "val " + metric);
      for (const std::int64_t s : steps) last = std::max(last, s);
      lines.add_encoding(
          run.encodings[e], {steps.begin(), steps.end()},
          [&](std::size_t i) { return curve_at(t, e, "val " + metric, steps[i]); },
          [&](double x) { return scaled(x); });
    }
  }
  // Raw points, and a line through them.
  void add_training() {
    for (const std::size_t e : t.encodings) {
      const auto steps = steps_of(t, e, "train " + metric);
      std::vector<double> means;
      for (const std::int64_t step : steps)
        means.push_back(scaled(summarize(curve_at(t, e, "train " + metric, step)).mean));
      const std::vector<double> line = smoothed(means);
      const auto add = [&](const char* kind, const std::vector<double>& values) {
        for (std::size_t i = 0; i < steps.size(); ++i)
          lines.add(run.encodings[e], kind, "", static_cast<double>(steps[i]), {values[i]});
      };
      add("train", means), add("smooth", line);
      if (!steps.empty()) last = std::max(last, steps.back());
      if (!lines.last.contains(run.encodings[e]) && !line.empty())
        lines.last[run.encodings[e]] = line.back();
    }
  }

  double chance() const { return accuracy ? 100 * trained_chance(t) : Number::none; }
  double optimum() const {
    if (accuracy || !t.corpus) return Number::none;
    return summarize(optimum_at(t, whole("", t.protocols[0], t.train_length))).mean;
  }

  Figure figure() {
    const bool logarithmic = !accuracy && lines.range.smallest > 0 && !lines.range.not_positive;
    range = lines.range;
    if (accuracy) range.include(0), range.include(100);
    if (std::isfinite(optimum())) range.include(optimum());
    Figure f;
    f.name = file_name(run, t, accuracy ? "learning_accuracy" : "learning");
    f.kind = "curves";
    f.title = figure_title(run, t, accuracy ? "accuracy while training" : "loss while training");
    f.caption = fmt::format(
        "{} at the training length against training steps{}. Markers: validation. {} Small points: "
        "training; faint line: their moving mean.{}",
        accuracy ? "Accuracy" : "Loss (nats per token, perplexity)",
        tokens_per_step(t) > 0 ? " (top: tokens)" : "", band_sentence(t),
        edge_sentence(range, logarithmic));
    f.series = series_of(run, t, &lines);
    f.x = {"training step", 0, static_cast<double>(last), false, {}};
    f.y.label = accuracy ? "accuracy (%)" : "nats per token";
    f.values["chance"] = chance();
    f.values["optimum"] = optimum();
    set_y_axis(f, range, logarithmic);
    name_line_ends(f, lines);
    add_tokens(f);
    if (!accuracy) add_perplexities(f);
    f.rows = std::move(lines.rows);
    return f;
  }

  void add_tokens(Figure& f) const {
    const double each = tokens_per_step(t);
    if (each <= 0) return;
    Ticks ticks;
    for (int i = 1; i <= 4; ++i) {
      const double step = static_cast<double>(last) * i / 4;
      ticks.emplace_back(step, format_count(each * step) + (i == 4 ? " tokens" : ""));
    }
    f.values["top_ticks"] = ticks;
  }
  static void add_perplexities(Figure& f) {
    if (!(f.y.high < 30)) return;  // no perplexity that anybody reads
    f.y.label = "nats per token (perplexity)";
    for (auto& [nats, label] : f.y.ticks) label = fmt::format("{} ({:.3g})", label, std::exp(nats));
    f.values["left"] = 136.0;
  }
};

}  // namespace

static std::vector<Figure> draw_curves(const RunData& run, const TaskData& t) {
  std::vector<Figure> out;
  for (const char* metric : {"acc", "nll"}) {
    Learning l{run, t, metric};
    l.add_validation();
    l.add_training();
    if (!l.lines.empty()) out.push_back(l.figure());
  }
  return out;
}

std::vector<FigureKind> learning_figures() {
  return {{FigureSection::learning, 0,
           [](const FigureContext& c) { return draw_curves(c.run, *c.task); }}};
}

}  // namespace pesuite
