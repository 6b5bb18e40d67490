// Sensitivity: the loss of each attempt of tuning against its learning rate.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct TriedRate {
  double rate, loss;
};

// Of one encoding on one task.
struct Tried {
  std::vector<TriedRate> rates, own;  // with the suite's expression; with other settings
  TriedRate chosen{};
};

double loss_of(const Json& attempt) {
  if (attempt["loss"].is_number()) return attempt["loss"].get<double>();
  return attempt["status"] == "diverged" ? Number::infinite : Number::none;
}

Tried tried_of(const Json& chosen) {
  Tried out;
  const Json& losses = chosen["losses"];
  const std::string usual = losses.empty() ? "" : losses[0].value("expr", "");
  for (const Json& l : losses) {
    const TriedRate t{l["lr"].get<double>(), loss_of(l)};
    (l.value("expr", "") == usual ? out.rates : out.own).push_back(t);
    if (t.rate == chosen["lr"] && l.value("expr", "") == chosen.value("expr", "")) out.chosen = t;
  }
  std::sort(out.rates.begin(), out.rates.end(),
            [](const TriedRate& a, const TriedRate& b) { return a.rate < b.rate; });
  return out;
}

std::vector<Figure> draw_tuning(const RunData& run) {
  std::vector<Figure> out;
  if (!run.tuning.is_object()) return out;
  for (const TaskData& t : run.tasks) {
    Lines lines;
    Range rates;
    for (const Json& c : run.tuning["chosen"]) {
      const std::string id = c["encoding"].get<std::string>();
      if (c["task"] != t.task || c["model"] != t.model) continue;
      const Tried tried = tried_of(c);
      const auto add = [&](const char* kind, const TriedRate& r) {
        lines.add(id, kind, "", r.rate, {r.loss});
        rates.include(r.rate);
      };
      for (const TriedRate& r : tried.rates) add("mean", r);
      for (const TriedRate& r : tried.own) add("own", r);
      add("chosen", tried.chosen);
      if (!tried.rates.empty()) lines.last[id] = tried.rates.back().loss;
    }
    if (lines.empty()) continue;
    const bool logarithmic = lines.range.wide() && !lines.range.not_positive;
    Figure f;
    f.name = file_name(run, t, "tuning");
    f.kind = "tuning";
    f.title = figure_title(run, t, "loss of each attempt of tuning");
    f.caption = fmt::format(
        "Validation loss (nats per token) at the training length against the learning rate, mean "
        "over the tuning seeds. Lines: the encoding as the suite writes it. Hollow: its other "
        "settings. Ringed: chosen.{}",
        edge_sentence(lines.range, logarithmic));
    f.series = series_of(run, t.encodings);
    f.x = {"learning rate", rates.low / 1.15, rates.high * 1.15, true, {}};
    for (const double tick : log_ticks(rates.low, rates.high))
      f.x.ticks.emplace_back(tick, format_number(tick));
    f.y.label = "validation loss (nats per token)";
    set_y_axis(f, lines.range, logarithmic);
    name_line_ends(f, lines);
    f.rows = std::move(lines.rows);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace

std::vector<FigureKind> tuning_figures() {
  return {{FigureSection::tuning, 0, [](const FigureContext& c) { return draw_tuning(c.run); }}};
}

}  // namespace pesuite
