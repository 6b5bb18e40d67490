// Tables of what changes with length, computed cell by cell: use of context, effective length,
// half-life, area under the curve; how seeds spread; accuracy along each axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "analysis/length_metrics.h"
#include "base/text.h"
#include "model/protocol.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct Generalisation {
  const RunData& run;
  const TaskData& t;
  TableFile out;

  // One number of each seed, into the table of everything.
  void add_csv(std::size_t e, const std::string& protocol, const std::string& metric, int length,
               const std::vector<SeedValue>& values) {
    for (const SeedValue& v : values)
      out.csv.push_back({run.encodings[e], t.task, t.model, std::to_string(t.train_length),
                         protocol, metric, length > 0 ? std::to_string(length) : "",
                         std::to_string(v.seed), std::isnan(v.value) ? v.lost : "ok",
                         csv_number(v.value)});
  }

  void context(const std::string& protocol) {
    Table b{fmt::format("Use of context, {}", protocol), "", {{"encoding"}}, 1};
    std::vector<int> longer;
    for (const int l : lengths_of(t, protocol)) {
      // Where a longer context offers next to nothing, few seeds have a number, and that is noise.
      const auto known = std::count_if(t.cells.begin(), t.cells.end(), [&](const auto& c) {
        return !std::isnan(context_use(t, c.second, protocol, l));
      });
      if (l > t.train_length && 2 * known > std::ssize(t.cells)) longer.push_back(l);
    }
    if (longer.empty()) return;
    for (const int l : longer) b.rows[0].push_back(fmt::format("{} ({})", l, t.multiple(l)));
    for (const std::size_t e : t.encodings) {
      b.rows.push_back({row_name(run, t, e)});
      for (const int l : longer) {
        const auto values =
            values_of(t, e, [&](const CellData& c) { return context_use(t, c, protocol, l); });
        add_csv(e, protocol, "context_use", l, values);
        b.rows.back().push_back(spread_text(in_row(t, e, values), signed_two));
      }
    }
    b.caption = fmt::format(
        "U = (nats at {0} - nats at the length) / (the optimum's difference), on the same tokens. "
        "1: "
        "all that the longer context offers is used; 0: nothing; below 0: longer input hurts. {1}",
        t.train_length, seed_phrase(t));
    out.blocks.push_back(std::move(b));
  }

  static std::string signed_two(double x) { return fmt::format("{:+.2f}", x); }

  std::vector<SeedValue> of_curve(std::size_t e, const std::string& protocol,
                                  const std::function<double(const LengthCurve&)>& f) const {
    return values_of(t, e, [&](const CellData& c) {
      const LengthCurve curve = length_curve(t, c, protocol);
      return curve.points.empty() ? Number::none : f(curve);
    });
  }

  // The middle seed with the extremes: lengths have no mean.
  static std::string middle(const std::vector<SeedValue>& values, const Format& format) {
    std::vector<double> known;
    for (const SeedValue& v : values)
      if (!std::isnan(v.value)) known.push_back(v.value);
    if (known.empty()) return "–";
    std::sort(known.begin(), known.end());
    const std::string text = format(known[(known.size() - 1) / 2]);
    if (known.size() == 1) return text;
    return fmt::format("{} [{}, {}]", text, format(known.front()), format(known.back()));
  }

  static std::string weighing(const LengthSettings& s) {
    if (!s.own.empty()) return fmt::format("with the weights {}", fmt::join(s.own, ", "));
    return s.weights == "log2" ? "over log2(length)" : fmt::format("with {} weights", s.weights);
  }

  Text over_length_caption(bool problem, const char* mean) const {
    const LengthSettings& settings = run.length_settings;
    const std::string name = problem           ? score_name(t)
                             : t.has("regret") ? "regret"
                                               : "nats per token";
    Text out;
    if (problem)
      out = rich(
          "{}: the longest up to which {} stays at {} % or more; {}: the first length at which {} "
          "above the chance of that length is below half of that at the training length, in "
          "training lengths ({}: at none); middle seed [lowest, highest]. {}: mean {} over the "
          "lengths that training never had. ",
          emphasis("effective length"), name, format_number(100 * settings.accuracy),
          emphasis("half-life"), name, emphasis("beyond"), emphasis("unseen lengths"), name);
    else
      out = rich(
          "{}: the longest up to which {} stays within {} of that at the training length; middle "
          "seed [lowest, highest]. ",
          emphasis("effective length"), name, format_number(settings.slack));
    return out + rich("{}: mean {} {}, from the training length to the longest. {}", emphasis(mean),
                      problem ? name + " (%)" : name, weighing(settings), seed_phrase(t));
  }
  void over_length(const std::string& protocol) {
    const bool problem = protocol.empty();
    Table b{problem ? "Over length" : "Over length, " + protocol,
            "",
            {{"encoding", "effective length"}},
            1};
    const LengthSettings& settings = run.length_settings;
    const bool area_wanted = settings.own.empty() && settings.weights == "log2";
    const char* mean = area_wanted ? "area under the curve" : "mean over lengths";
    if (problem) b.rows[0].insert(b.rows[0].end(), {"half-life", "unseen lengths %"});
    b.rows[0].emplace_back(mean);
    const auto length_text = [&](double x) {
      const int l = static_cast<int>(x);
      return l == 0 ? std::string("none") : fmt::format("{} ({})", l, t.multiple(l));
    };
    const auto multiple_text = [](double x) {
      return std::isinf(x) ? std::string("beyond") : fmt::format("{:.3g}x", x);
    };
    for (const std::size_t e : t.encodings) {
      const auto effective = of_curve(e, protocol, [&](const LengthCurve& c) {
        return static_cast<double>(effective_length(c, settings));
      });
      const auto half =
          of_curve(e, protocol, [&](const LengthCurve& c) { return half_life(c, t.train_length); });
      const auto area = of_curve(
          e, protocol, [&](const LengthCurve& c) { return area_under_curve(c, settings); });
      add_csv(e, protocol, "effective_length", 0, effective);
      add_csv(e, protocol, "area", 0, area);
      b.rows.push_back({row_name(run, t, e), middle(effective, length_text)});
      if (problem) {
        add_csv(e, protocol, "half_life", 0, half);
        const auto unseen = of_curve(e, protocol, mean_over_unseen);
        add_csv(e, protocol, "mean_over_unseen", 0, unseen);
        b.rows.back().push_back(middle(half, multiple_text));
        b.rows.back().push_back(spread_text(in_row(t, e, unseen), percent_text));
      }
      b.rows.back().push_back(
          spread_text(in_row(t, e, area), problem ? Format(percent_text) : Format(nats_text)));
    }
    b.caption = over_length_caption(problem, mean);
    out.blocks.push_back(std::move(b));
  }

  // How seeds spread: accuracy out of distribution is often all or nothing.
  void seeds() {
    Table b{"Seeds",
            "",
            {{"setting", "encoding", "median %", "IQM %", "lowest", "highest", "seeds ≥ 95 %",
              "solved (≥ 99 %)"}},
            2};
    for (const Ground& g : grounds(t))
      for (const std::size_t e : t.encodings) {
        std::vector<double> all;
        for (const SeedValue& v : scores(g, e))
          if (!std::isnan(v.value)) all.push_back(v.value);
        if (all.empty()) continue;
        const auto rate = [&](double least) {
          const auto k = static_cast<std::size_t>(
              std::count_if(all.begin(), all.end(), [&](double x) { return x >= least; }));
          const Interval i = clopper_pearson(k, all.size());
          return fmt::format("{}/{} [{:.0f}, {:.0f}]", k, all.size(), 100 * i.low, 100 * i.high);
        };
        const auto [low, high] = std::minmax_element(all.begin(), all.end());
        b.rows.push_back({g.name(), row_name(run, t, e), percent_text(median(all)),
                          percent_text(interquartile_mean(all)), percent_text(*low),
                          percent_text(*high), rate(0.95), rate(0.99)});
      }
    b.caption = rich(
        "{} over seeds, means over the settings at a length. A seed that diverged counts as 0. "
        "[%]: exact 95 % interval of the share of seeds. The highest seed is no result by itself.",
        capitalized(score_name(t)));
    if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  }

  // Accuracy or exact match along one axis, the mean over all others and over seeds.
  void along(const std::string& axis, const std::string& metric) {
    std::set<double> values;
    for (const Setting& s : t.settings)
      for (const auto& [name, value] : s.axes)
        if (name == axis) values.insert(value);
    if (values.size() < 2 || t.settings.size() < 2 * values.size()) return;
    const std::string what = metric == "em" ? "Exact match" : "Accuracy";
    Table b{fmt::format("{} by {}", what, axis), "", {{"length", "encoding"}}, 2};
    for (const double v : values) b.rows[0].push_back(t.label(axis, v));
    for (const int l : t.lengths)
      for (const std::size_t e : t.encodings) {
        b.rows.push_back({fmt::format("{} ({})", l, t.multiple(l)), row_name(run, t, e)});
        for (const double v : values)
          b.rows.back().push_back(
              spread_text(in_row(t, e, at_value(e, l, axis, v, metric)), percent_text));
      }
    b.caption = fmt::format("{} (%), the mean over all other axes. {}", what, seed_phrase(t));
    out.blocks.push_back(std::move(b));
  }

  std::vector<SeedValue> at_value(std::size_t e, int length, const std::string& axis, double value,
                                  const std::string& metric) const {
    return values_of(t, e, [&](const CellData& c) {
      double sum = 0, n = 0;
      for (const Setting& s : t.settings) {
        const bool here = std::any_of(s.axes.begin(), s.axes.end(), [&](const auto& a) {
          return a.first == axis && a.second == value;
        });
        const Number* found =
            s.length == length && here ? c.find(problem_place(metric, {&s, "", ""})) : nullptr;
        if (found != nullptr) sum += found->value, ++n;
      }
      return n == 0 ? Number::none : sum / n;
    });
  }
};

}  // namespace

TableFile generalisation_table(const RunData& run, const TaskData& t) {
  Generalisation g{run, t, {file_name(run, t, "generalisation"), {}, {}}};
  g.out.csv = {{"encoding", "task", "model", "train_len", "protocol", "metric", "eval_len", "seed",
                "status", "value"}};
  if (t.lengths.size() < 2) return g.out;
  if (t.corpus) {
    const std::string protocol = main_protocol(t);
    for (const std::string& p : t.protocols)
      if (same_targets(p)) g.context(p);
    g.over_length(protocol);
  }
  if (t.problem) {
    g.over_length("");
    if (t.seeds.size() > 1) g.seeds();
    std::set<std::string> axes;
    for (const Setting& s : t.settings)
      for (const auto& [axis, value] : s.axes) axes.insert(axis);
    for (const std::string& axis : axes)
      for (const char* metric : {"acc", "em"})
        if (t.has(metric)) g.along(axis, metric);
  }
  return g.out;
}

}  // namespace pesuite
