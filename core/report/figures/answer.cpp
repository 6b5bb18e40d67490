// The answer as a picture: where encodings start, and how that changes over length.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/answer.h"
#include "base/text.h"
#include "model/metrics.h"
#include "report/answer.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

constexpr double most_nats = 2.5;  // beyond it a model knows nothing more, and the rest is flat

struct Panels {
  const RunData& run;
  const std::vector<TaskAnswer>& all;
  std::vector<std::size_t> encodings = {};  // of all tasks, in suite order
  Figure f = {};
  Range range = {};
  bool beyond = false;  // some change is larger than what is drawn
  bool accuracy = all[0].ground.share();
  std::string heading = headings();

  std::string headings() const {
    std::set<std::string> out;
    for (const TaskAnswer& a : all) out.insert(std::string(metric(a.ground.metric).heading));
    return join(std::vector(out.begin(), out.end()), " or ");
  }
  static bool unlearned(const TaskAnswer&, const LengthAnswer& e) {
    return e.learned == Learned::no;
  }
  static bool holds_to_the_end(const TaskAnswer& a, const LengthAnswer& e) {
    return e.verdict == LengthVerdict::holds && e.length == a.lengths.back();
  }
  bool some(bool (*is)(const TaskAnswer&, const LengthAnswer&)) const {
    return std::any_of(all.begin(), all.end(), [is](const TaskAnswer& a) {
      return std::any_of(a.encodings.begin(), a.encodings.end(),
                         [&](const LengthAnswer& e) { return is(a, e); });
    });
  }
  double scale() const { return accuracy ? 100 : 1; }
  // A loss, as the measure itself moves.
  double drawn(double loss) const {
    const double x = (accuracy ? -loss : loss) * scale();
    return accuracy ? x : std::clamp(x, -most_nats, most_nats);
  }
  void add(std::size_t panel, const std::string& encoding, const char* kind, double x, double y) {
    if (std::isnan(y)) return;
    f.rows.push_back({std::to_string(panel), encoding, kind, csv_number(x), csv_number(y)});
  }

  void collect() {
    std::set<std::size_t> found;
    for (const TaskAnswer& a : all)
      for (const LengthAnswer& e : a.encodings) found.insert(e.encoding);
    encodings.assign(found.begin(), found.end());
    f.rows = {{"panel", "encoding", "kind", "x", "value"}};
  }

  // Where each encoding of the task starts: a row an encoding, the mean filled, the seeds hollow.
  void starts(const TaskAnswer& a) {
    const Ground start = start_ground(a);
    Range x, means;
    std::vector<std::size_t> asked;
    for (const std::size_t e : encodings)
      if (std::any_of(a.encodings.begin(), a.encodings.end(),
                      [&](const LengthAnswer& x) { return x.encoding == e; }))
        asked.push_back(e);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const double row = static_cast<double>(asked.size() - i);
      const std::vector<SeedValue> values = scores(start, asked[i]);
      for (const SeedValue& v : values) {
        if (!std::isfinite(v.value)) continue;
        x.include(v.value * scale());
        if (values.size() < seeds_for_t)
          add(0, run.encodings[asked[i]], "seed", v.value * scale(), row);
      }
      const double mean = summarize(values).mean * scale();
      if (std::isfinite(mean)) means.include(mean);
      add(0, run.encodings[asked[i]], "mean", mean, row);
      f.y.ticks.emplace_back(row, shorten(run.encodings[asked[i]], 18));
    }
    f.values["start_rows"] = static_cast<double>(asked.size());
    const double room = std::max((x.high - x.low) * 0.15, a.ground.matters() * scale());
    f.values["start_low"] = x.empty() ? 0 : x.low - room;
    f.values["start_high"] = x.empty()  ? 1
                             : accuracy ? std::min(101.0, x.high + room)
                                        : x.high + room;
    f.values["start_best"] = means.empty() ? 0 : accuracy ? means.high : means.low;
    f.values["start_title"] = fmt::format("{} at {}", a.task->task, start.length);
    f.values["start_label"] =
        std::string(accuracy                   ? std::string(metric(start.metric).heading) + " (%)"
                    : start.metric == "regret" ? "nats above the optimum"
                                               : "nats per token");
    f.values["start_step"] = nice_step(x.empty() ? 1 : x.high - x.low + 2 * room);
  }
  // About three ticks over a span.
  static double nice_step(double span) {
    const double power = std::pow(10.0, std::floor(std::log10(span / 3)));
    const double raw = span / 3 / power;
    return power * (raw < 1.5 ? 1 : raw < 3.5 ? 2 : raw < 7.5 ? 5 : 10);
  }
  void changes(std::size_t panel, const TaskAnswer& a) {
    const double from = a.task->train_length;
    for (const LengthAnswer& e : a.encodings) {
      const std::string& id = run.encodings[e.encoding];
      add(panel, id, "mean", from, 0);
      for (const LengthChange& c : e.changes) {
        add(panel, id, "mean", c.length, drawn(c.mean));
        range.include(drawn(c.mean));
      }
      for (const LengthChange& c : e.changes)  // behind the line, which they would interrupt
        for (const double s : c.seeds) {
          if (c.seeds.size() >= seeds_for_t) continue;
          add(panel, id, "seed", c.length, drawn(s));
          range.include(drawn(s));
        }
    }
  }

  Figure figure() {
    collect();
    range.include(-all[0].ground.matters() * scale());
    range.include(all[0].ground.matters() * scale());
    std::size_t widest = 0;
    double spread = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      changes(i + 1, all[i]);
      double low = 0, high = 0;
      for (const LengthAnswer& e : all[i].encodings) {
        low = std::min(low, drawn(e.loss())), high = std::max(high, drawn(e.loss()));
        for (const LengthChange& c : e.changes) beyond |= !accuracy && std::abs(c.mean) > most_nats;
      }
      if (high - low > spread) spread = high - low, widest = i;
    }
    starts(all[widest]);
    f.name = "answer";
    f.kind = "answer";
    f.title = fmt::format("change of {} over length", accuracy ? heading : "loss");
    f.caption = fmt::format(
        "Left: {} at the training length. Then, for each task: change of {} from the training "
        "length. Grey band: changes of less than {}, which do not matter. Filled: mean over "
        "{}{}.{}{}{}",
        accuracy ? heading : "loss", accuracy ? heading + " (points)" : "loss (nats per token)",
        accuracy ? "5 points" : "0.02 nats", counted(run.seeds.size(), "seed"),
        run.seeds.size() < seeds_for_t && run.seeds.size() > 1 ? "; small: the seeds" : "",
        some(holds_to_the_end) ? " Thick: shown to hold to the longest length." : "",
        beyond ? fmt::format(" Changes beyond {} nats are drawn there.", most_nats) : "",
        some(unlearned) ? " †: not learned at the training length; its change says little." : "");
    f.series = series_of(run, encodings);
    const double span = range.high - range.low;
    f.y.low = range.low - 0.06 * span, f.y.high = range.high + 0.06 * span;
    f.y.label = accuracy ? fmt::format("change of {} (points)", heading)
                         : "change of loss (nats per token)";
    f.values["matters"] = all[0].ground.matters() * scale();
    f.values["ratio"] = accuracy ? 0.0 : 1.0;
    const bool further = std::any_of(all.begin(), all.end(), [](const TaskAnswer& a) {
      return !a.task->trained_further().empty();
    });
    f.values["further"] = further ? 1.0 : 0.0;
    name_panels();
    return std::move(f);
  }

  // Titles, axes and the names at the ends of lines of each task's panel, one behind the other.
  void name_panels() {
    const auto n = static_cast<double>(encodings.size());
    constexpr double line = 17, least = 250;
    const double height = std::max(least, line * (n + 1));
    std::vector<std::string> titles, tags;
    std::vector<double> low, high, marks, from, at, weights;
    std::vector<Ticks> ticks;
    for (const TaskAnswer& a : all) {
      titles.push_back(run.several_models() ? a.task->task + ", " + a.task->model : a.task->task);
      low.push_back(a.task->train_length);
      high.push_back(a.lengths.back());
      std::vector<double> ends;
      for (const std::size_t e : encodings) {
        const auto it = std::find_if(a.encodings.begin(), a.encodings.end(),
                                     [&](const LengthAnswer& x) { return x.encoding == e; });
        const bool there = it != a.encodings.end();
        const double end = there ? drawn(it->loss()) : 0;
        ends.push_back(std::clamp((end - f.y.low) / (f.y.high - f.y.low), 0.0, 1.0));
        const bool faint = there && unlearned(a, *it);
        tags.push_back(!there ? ""
                              : fmt::format("{} {}{}", shorten(run.encodings[e], 16),
                                            change_text(a.ground, it->loss()), faint ? " †" : ""));
        weights.push_back(faint ? 0.5 : there && holds_to_the_end(a, *it) ? 3.0 : 1.5);
      }
      const std::vector<double> spots = spread_out(ends, line / height);
      from.insert(from.end(), ends.begin(), ends.end());
      at.insert(at.end(), spots.begin(), spots.end());
      Ticks own = {{a.task->train_length, fmt::format("{}\n1x", a.task->train_length)}};
      const std::size_t stride = (a.lengths.size() + 4) / 5;
      for (std::size_t i = 0; i < a.lengths.size(); ++i)
        if (i % stride == 0 || i + 1 == a.lengths.size())
          own.emplace_back(a.lengths[i],
                           fmt::format("{}\n{}", a.lengths[i], a.task->multiple(a.lengths[i])));
      ticks.push_back(std::move(own));
    }
    constexpr double start_width = 190, task_width = 250, gap = 76;  // pixels
    std::size_t longest_tag = 0;
    for (const std::string& t : tags) longest_tag = std::max(longest_tag, display_width(t));
    const double tag_width = std::max(160.0, 30 + 7.2 * static_cast<double>(longest_tag));
    f.values["start_width"] = start_width, f.values["task_width"] = task_width;
    f.values["tag_width"] = tag_width, f.values["gap"] = gap;
    f.values["panel_width"] =
        start_width + gap + static_cast<double>(all.size()) * (task_width + tag_width);
    std::size_t longest = 4;
    for (const auto& [row, label] : f.y.ticks) longest = std::max(longest, display_width(label));
    f.values["left"] = 16 + 8.0 * static_cast<double>(longest);
    f.values["legend_width"] = 0.0, f.values["legend_height"] = 0.0;
    f.values["panel_height"] = height;
    f.values["x_lines"] = 2.0;
    f.values["panels"] = static_cast<double>(all.size());
    f.values["panel"] = titles;
    f.values["panel_low"] = low, f.values["panel_high"] = high;
    f.values["panel_ticks"] = ticks;
    f.values["tag"] = tags, f.values["tag_from"] = from, f.values["tag_at"] = at;
    f.values["weight"] = weights;
  }
};

}  // namespace

static std::vector<Figure> draw_answer(const RunData& run) {
  std::vector<TaskAnswer> all;
  for (const TaskData& t : run.tasks)
    if (TaskAnswer a = answer_of(t); !a.encodings.empty()) all.push_back(std::move(a));
  constexpr std::size_t most = 3, most_encodings = 24;
  if (all.empty() || all.size() > most) return {};
  for (const TaskAnswer& a : all)
    if (a.ground.share() != all[0].ground.share() || a.encodings.size() > most_encodings) return {};
  return {Panels{run, all}.figure()};
}

std::vector<FigureKind> answer_figures() {
  return {{FigureSection::answer, 0, [](const FigureContext& c) { return draw_answer(c.run); }}};
}

}  // namespace pesuite
