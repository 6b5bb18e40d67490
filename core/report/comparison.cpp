#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/numbers.h"
#include "base/file.h"
#include "base/text.h"
#include "model/metrics.h"
#include "report/figures.h"
#include "report/gnuplot.h"
#include "report/renderers/html.h"
#include "report/renderers/markdown.h"
#include "report/text.h"

namespace pesuite {

namespace {

bool in_nats(const SeriesName& s) {
  return metric(s.place.metric).written == Metric::Written::nats;
}
bool in_shares(const SeriesName& s) {
  return metric(s.place.metric).written == Metric::Written::share;
}
std::string value_text(const SeriesName& s, double x) {
  if (std::isnan(x)) return "–";
  return in_nats(s) ? nats_text(x) : in_shares(s) ? percent_text(x) : format_fixed(x, 4);
}
std::string change_text(const SeriesName& s, double x) {
  if (std::isnan(x)) return "–";
  return in_nats(s)     ? signed_nats_text(x)
         : in_shares(s) ? signed_percent_text(x)
                        : fmt::format("{:+.4f}", x);
}
std::string bounds_text(const SeriesName& s, double low, double high) {
  if (std::isnan(low)) return "";
  return fmt::format(" ({} to {})", change_text(s, low), change_text(s, high));
}

bool several_models(const Changes& c) {
  return std::any_of(c.series.begin(), c.series.end(),
                     [&](const SeriesChange& s) { return s.name.model != c.series[0].name.model; });
}

// On a terminal short: "rope lags nll@256", with the protocol where there are several.
std::string label_of(const Changes& c, const SeriesChange& s, bool brief) {
  if (!s.label.empty()) return fmt::format("{} ({} series)", s.label, s.members);
  const bool models = several_models(c);
  if (!brief) return series_text(s.name, models);
  const Place& p = s.name.place;
  std::string out = fmt::format("{} {} {}@{}", s.name.encoding, s.name.task, p.metric, p.length);
  if (models) out += " " + s.name.model;
  if (std::any_of(c.series.begin(), c.series.end(), [&](const SeriesChange& o) {
        return !o.name.place.protocol.empty() && o.name.place.protocol != p.protocol &&
               o.name.task == s.name.task;
      }))
    out += " " + p.protocol;
  for (const auto& [axis, value] : p.axes) out += fmt::format(" {}={}", axis, format_number(value));
  return out;
}

std::string remark_of(const SeriesChange& s) {
  std::vector<std::string> out;
  if (!s.suppressed.empty()) out.push_back("suppressed " + s.suppressed);
  if (!s.why.empty()) out.push_back(s.why);
  if (s.outcome == Outcome::inconclusive) {
    if (s.needed > 0)
      out.push_back(fmt::format("{} seeds would decide", s.needed));
    else if (s.why.empty() || s.why == "shown, not gated")
      out.push_back("more than 1,000 seeds would be needed");
  }
  if (s.examples.lost + s.examples.won > 0)
    out.push_back(fmt::format("{} examples lost, {} won", s.examples.lost, s.examples.won));
  if (s.solved_before != s.solved_after)
    out.push_back(fmt::format("solved by {} of {} seeds, was {}", s.solved_after, s.seeds.size(),
                              s.solved_before));
  return join(out, "; ");
}

constexpr std::size_t most_rows = 30;  // of a table that nobody asked to see whole

Table table_of(const Changes& c, const std::vector<Outcome>& outcomes, const std::string& title,
               ComparisonDetail detail) {
  const bool brief = detail == ComparisonDetail::brief;
  Table t;
  t.title = title;
  t.rows = {{"series", "difference (95 %)", "verdict", "remarks"}};
  if (!brief)
    t.rows = {
        {"series", "before", "after", "difference (95 %)", "perplexity", "verdict", "remarks"}};
  std::size_t left_out = 0;
  for (const Outcome o : outcomes)
    for (const SeriesChange& s : c.series) {
      if (s.outcome != o || (brief && !s.gated && o != Outcome::broken && o != Outcome::added))
        continue;
      if (brief && t.rows.size() > most_rows) {
        ++left_out;
        continue;
      }
      const std::string name = std::string(outcome_name(o));
      std::vector<Text> row = {label_of(c, s, brief)};
      if (!brief)
        row.insert(row.end(),
                   {value_text(s.name, s.before_mean), value_text(s.name, s.after_mean)});
      row.emplace_back(change_text(s.name, s.difference) + bounds_text(s.name, s.low, s.high));
      if (!brief)
        row.emplace_back(in_nats(s.name) && std::isfinite(s.difference)
                             ? fmt::format("{:+.2f} %", 100 * std::expm1(s.difference))
                             : "");
      row.push_back(o == Outcome::regressed ? Text(strong(name)) : Text(name));
      row.emplace_back(remark_of(s));
      t.rows.push_back(std::move(row));
    }
  if (left_out > 0) t.caption = fmt::format("{} more; --all shows them.", left_out);
  return t;
}

std::string mean_sentence(const MeanChange& m) {
  SeriesName of;
  of.place.metric = m.metric;
  return fmt::format("Mean of {} over {} series: {}{}{}.", m.metric, m.series,
                     change_text(of, m.difference), bounds_text(of, m.low, m.high),
                     m.regressed ? ", regressed: a small drift everywhere" : "");
}

std::string cell_sentence(const CellChange& c) {
  const std::string why = c.after.reason.empty() ? "" : fmt::format(" ({})", c.after.reason);
  return c.worse ? fmt::format("New failure: {}: {}{}, was {}", cell_text(c.after), c.after.status,
                               why, c.before.status)
                 : fmt::format("Failure gone: {}: was {}", cell_text(c.after), c.before.status);
}

Json finite(double x) {
  return std::isfinite(x) ? Json(x) : Json(nullptr);
}

Json to_json(const SeriesChange& s) {
  Json j = pesuite::to_json(s.name);
  if (!s.label.empty()) j = {{"group", s.label}, {"members", s.members}};
  j["verdict"] = outcome_name(s.outcome);
  j["gated"] = s.gated;
  j["seeds"] = s.seeds;
  for (const auto& [key, values] : {std::pair{"before", &s.before}, std::pair{"after", &s.after}}) {
    j[key] = Json::array();
    for (const double x : *values) j[key].push_back(std::isinf(x) ? Json("inf") : finite(x));
  }
  j["difference"] = finite(s.difference);
  j["low"] = finite(s.low), j["high"] = finite(s.high);
  j["margin"] = s.margin, j["alpha"] = s.alpha, j["p"] = finite(s.p);
  j["calibrated"] = s.calibrated;
  if (s.needed > 0) j["seeds_needed"] = s.needed;
  if (s.examples.lost + s.examples.won > 0)
    j["examples"] = {{"lost", s.examples.lost}, {"won", s.examples.won}};
  if (s.solved_before + s.solved_after > 0)
    j["solved"] = {{"before", s.solved_before}, {"after", s.solved_after}};
  if (!s.why.empty()) j["why"] = s.why;
  if (!s.suppressed.empty()) j["suppressed"] = s.suppressed;
  return j;
}

}  // namespace

std::string verdict_sentence(const Changes& c) {
  if (c.identical())
    return fmt::format("identical: {}, every number of {} bit by bit",
                       fmt::format("{} series", c.series.size()),
                       counted(c.cells_compared, "cell"));
  std::vector<std::string> parts;
  for (const Outcome o : {Outcome::regressed, Outcome::missing, Outcome::inconclusive,
                          Outcome::improved, Outcome::equivalent, Outcome::identical})
    if (const std::size_t n = c.count(o); n > 0)
      parts.push_back(fmt::format("{} {}", n, outcome_name(o)));
  for (const Outcome o : {Outcome::broken, Outcome::added})
    if (const std::size_t n = c.count(o, false); n > 0)
      parts.push_back(fmt::format("{} {}", n, outcome_name(o)));
  std::size_t shown = 0, suppressed = 0, failures = 0;
  for (const SeriesChange& s : c.series) {
    shown += !s.gated && s.outcome != Outcome::broken && s.outcome != Outcome::added ? 1 : 0;
    suppressed += s.gated && !s.suppressed.empty() && s.outcome == Outcome::regressed ? 1 : 0;
  }
  for (const CellChange& cell : c.cells) failures += cell.worse ? 1 : 0;
  if (suppressed > 0) parts.push_back(fmt::format("{} of them suppressed", suppressed));
  if (shown > 0) parts.push_back(fmt::format("{} shown only", shown));
  if (failures > 0) parts.push_back(counted(failures, "new failure"));
  for (const MeanChange& m : c.means)
    if (m.regressed) parts.push_back(fmt::format("the mean of {} regressed", m.metric));
  const char* head = c.regressed()                      ? "regressed"
                     : !c.conclusive()                  ? "inconclusive"
                     : c.count(Outcome::improved) > 0   ? "improved"
                     : c.count(Outcome::equivalent) > 0 ? "equivalent"
                     : c.count(Outcome::identical) > 0  ? "identical where both have numbers"
                                                        : "nothing to compare";
  return fmt::format("{}: {}", head, parts.empty() ? "no series is gated" : join(parts, ", "));
}

Document comparison_document(const Changes& c, ComparisonDetail detail) {
  Document d;
  d.heading(1, fmt::format("{} against {}", c.after, c.before), Depth::screen);
  d.text(strong(verdict_sentence(c)));
  std::vector<Text> items;
  for (const CellChange& cell : c.cells) items.emplace_back(cell_sentence(cell));
  for (const MeanChange& m : c.means) items.emplace_back(mean_sentence(m));
  if (c.enlarged > 1.005)
    items.emplace_back(fmt::format(
        "The differences spread {:.2g} times as much as the pairs of calibration, whose "
        "variances count that much more.",
        std::sqrt(c.enlarged)));
  d.list(std::move(items));
  d.table(table_of(c,
                   {Outcome::regressed, Outcome::missing, Outcome::inconclusive, Outcome::improved,
                    Outcome::broken, Outcome::added},
                   "What changed, or may have", detail));
  if (detail == ComparisonDetail::whole)
    d.table(table_of(c, {Outcome::equivalent, Outcome::identical}, "What did not", detail));
  if (const auto plain = std::count_if(
          c.series.begin(), c.series.end(),
          [](const SeriesChange& s) { return s.gated && !s.calibrated && !std::isnan(s.low); });
      plain > 0)
    d.text(fmt::format("{} series are not calibrated: a plain paired t, which sees little with few "
                       "seeds.",
                       plain),
           Paragraph::Kind::note);
  for (const std::string& n : c.notes) d.text(n, Paragraph::Kind::note);
  return d;
}

Json to_json(const Changes& c) {
  Json j = {{"schema", "pesuite.comparison/1"},
            {"before", c.before},
            {"after", c.after},
            {"verdict", c.identical()     ? "identical"
                        : c.regressed()   ? "regressed"
                        : !c.conclusive() ? "inconclusive"
                                          : "passed"},
            {"sentence", verdict_sentence(c)},
            {"series", Json::array()},
            {"cells", Json::array()},
            {"means", Json::array()},
            {"notes", c.notes}};
  for (const SeriesChange& s : c.series) j["series"].push_back(to_json(s));
  for (const CellChange& x : c.cells)
    j["cells"].push_back({{"encoding", x.after.encoding},
                          {"task", x.after.task},
                          {"model", x.after.model},
                          {"seed", x.after.seed},
                          {"before", x.before.status},
                          {"after", x.after.status},
                          {"reason", x.after.reason},
                          {"worse", x.worse}});
  for (const MeanChange& m : c.means)
    j["means"].push_back({{"metric", m.metric},
                          {"series", m.series},
                          {"difference", finite(m.difference)},
                          {"low", finite(m.low)},
                          {"high", finite(m.high)},
                          {"p", finite(m.p)},
                          {"regressed", m.regressed}});
  return j;
}

std::vector<Figure> overlaid_figures(const Measurement& before, const Measurement& after) {
  const RunData run = as_run({{&before, ", before"}, {&after, ", after"}});
  const Across across;
  std::vector<Figure> out;
  std::set<std::string> names;
  const auto add = [&](std::vector<Figure> more, std::size_t most) {
    for (std::size_t i = 0; i < std::min(most, more.size()); ++i)
      if (more[i].beside.empty() && names.insert(more[i].name).second)
        out.push_back(std::move(more[i]));
  };
  for (const TaskData& t : run.tasks) {
    add(figures_of(FigureSection::task, {run, across, &t}), 1);
    for (const std::string& protocol : t.protocols)
      add(figures_of(FigureSection::protocol, {run, across, &t, protocol}), 2);
  }
  return out;
}

std::vector<std::string> write_comparison(const std::filesystem::path& folder, const Changes& c,
                                          const Measurement& before, const Measurement& after) {
  Document d = comparison_document(c, ComparisonDetail::whole);
  std::vector<Figure> figures = overlaid_figures(before, after);
  std::vector<const Figure*> drawn_from;
  for (const Figure& f : figures) drawn_from.push_back(&f);
  const Drawn drawn = draw(drawn_from, folder / "figures", plots_folder());
  const Pictures pictures = pictures_in(folder / "figures", drawn_from);
  if (!figures.empty()) d.heading(2, "Both over length");
  d.figures(std::move(figures));
  write_file_atomic(folder / "comparison.md", markdown(d, pictures));
  write_file_atomic(folder / "comparison.html", html(d, pictures));
  write_file_atomic(folder / "comparison.json", to_json(c).dump(1) + "\n");
  return drawn.notes;
}

}  // namespace pesuite
