// Targets that must be recalled (an asked value, the bit last written), by how far back that stands
// which they hang on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "analysis/contest.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

using Distances = std::vector<std::pair<int, int>>;  // tokens back, [from, to)

// Where targets that must be recalled were scored: a length of a corpus, a setting of a problem.
struct Recall {
  Place all;
  std::string name;     // "256 (4x)"
  Distances distances;  // with any target
  Distances told;       // with as many as say something

  Place at(std::pair<int, int> distance) const {
    Place p = all;
    p.from = distance.first, p.to = distance.second;
    return p;
  }
};

// A distance is told of where every seed has targets at it, and all seeds together this many: the
// mean of one or two is not that of an encoding.
constexpr int least_targets = 20;

void find_distances(const TaskData& t, Recall& r) {
  struct Seen {
    int seeds = 0;
    std::int64_t targets = 0;
  };
  std::map<std::size_t, std::map<std::pair<int, int>, Seen>> by_encoding;
  std::map<std::size_t, int> seeds;
  std::set<std::pair<int, int>> any, few;
  for (const auto& [key, cell] : t.cells)
    for (const auto& [p, number] : cell.evals) {
      if (p.metric != r.all.metric || p.protocol != r.all.protocol || p.length != r.all.length ||
          p.axes != r.all.axes || p.bucket != r.all.bucket)
        continue;
      if (p.to == 0) ++seeds[key.first];
      if (p.to <= 0) continue;
      any.insert({p.from, p.to});
      Seen& seen = by_encoding[key.first][{p.from, p.to}];
      ++seen.seeds;
      seen.targets += number.count > 0 ? number.count : least_targets;  // 0: not recorded
    }
  for (const auto& [encoding, distances] : by_encoding)
    for (const auto& [d, seen] : distances)
      if (seen.seeds < seeds[encoding] || seen.targets < least_targets) few.insert(d);
  r.distances.assign(any.begin(), any.end());
  std::set_difference(any.begin(), any.end(), few.begin(), few.end(), std::back_inserter(r.told));
}

std::vector<Recall> recalls(const TaskData& t) {
  std::vector<Recall> out;
  const auto add = [&](Place p, const std::string& name) {
    p.bucket = "recall";
    Recall r{std::move(p), name, {}, {}};
    find_distances(t, r);
    if (!r.told.empty()) out.push_back(std::move(r));
  };
  if (t.corpus) {
    const std::string protocol = main_protocol(t);
    for (const int l : lengths_of(t, protocol))
      add(whole(t.has("regret") ? "regret" : "nll", protocol, l),
          fmt::format("{} ({})", l, t.multiple(l)));
  }
  if (t.problem)
    for (const Setting& s : t.settings) add(accuracy_place({&s, "", ""}), t.name(s));
  return out;
}

std::string distance_text(std::pair<int, int> d) {
  if (d.first == 0) return "not in sight";
  if (d.second - d.first == 1) return std::to_string(d.first);
  return fmt::format("{}–{}", d.first, d.second - 1);
}

// What is shown of them: in titles, at the beginning of a sentence, and with its unit.
struct Words {
  const char *title, *sentence, *unit;
};
Words words_of(const TaskData& t) {
  if (t.problem) return {"error", "Errors", "errors (%)"};
  if (t.has("regret")) return {"regret", "Regret", "regret (nats per token)"};
  return {"nats", "Nats", "nats per token"};
}

std::string few_sentence() {
  return fmt::format("Distances with fewer than {} targets, or none in some seed, are left out.",
                     least_targets);
}

// Values of seeds as they are shown: of problems, errors in percent.
std::vector<SeedValue> shown(const TaskData& t, std::size_t encoding, const Place& p) {
  std::vector<SeedValue> out = values_at(t, encoding, p);
  for (SeedValue& v : out)
    if (t.problem) v.value = 100 * (1 - v.value);
  return out;
}

Table recall_block(const RunData& run, const TaskData& t, const std::vector<Recall>& all) {
  std::set<std::pair<int, int>> columns;
  for (const Recall& r : all) columns.insert(r.told.begin(), r.told.end());
  Table b{fmt::format("What must be recalled: {} by distance", words_of(t).title),
          "",
          {{t.problem ? "setting" : "length", "encoding", "all"}},
          2};
  for (const auto& d : columns) b.rows[0].push_back(distance_text(d));
  const Format text = [&](double v) { return t.problem ? format_fixed(v, 2) : nats_text(v); };
  for (const Recall& r : all)
    for (const std::size_t e : t.encodings) {
      b.rows.push_back(
          {r.name, row_name(run, t, e), spread_text(in_row(t, e, shown(t, e, r.all)), text)});
      for (const auto& d : columns) {
        const bool there = std::find(r.told.begin(), r.told.end(), d) != r.told.end();
        b.rows.back().push_back(there ? mean_text(in_row(t, e, shown(t, e, r.at(d))), text) : "–");
      }
    }
  b.caption = rich(
      "{} of the targets that hang on one place before them{}, by the tokens from there to the "
      "target{}. {} {}",
      words_of(t).sentence, t.problem ? ", in percent" : ", in nats per token",
      t.corpus ? rich("; {}: the window does not hold that place", emphasis("not in sight"))
               : Text(),
      few_sentence(), seed_phrase(t));
  return b;
}

Rows recall_csv(const RunData& run, const TaskData& t, const std::vector<Recall>& all) {
  Rows rows = {{"encoding", "task", "model", "train_len", "protocol", "eval_len", "setting",
                "metric", "dist_lo", "dist_hi", "seed", "value", "targets"}};
  for (const Recall& r : all)
    for (const std::size_t e : t.encodings)
      for (const std::uint64_t seed : t.seeds) {
        const CellData* c = t.cell(e, seed);
        const auto add = [&](const Place& p) {
          const Number* n = c == nullptr ? nullptr : c->find(p);
          if (n == nullptr) return;
          rows.push_back({run.encodings[e], t.task, t.model, std::to_string(t.train_length),
                          p.protocol, std::to_string(p.length), r.name, p.metric,
                          p.to > 0 ? std::to_string(p.from) : "",
                          p.to > 0 ? std::to_string(p.to) : "", std::to_string(seed),
                          csv_number(n->value), std::to_string(n->count)});
        };
        add(r.all);
        for (const auto& d : r.distances) add(r.at(d));
      }
  return rows;
}

Figure recall_figure(const RunData& run, const TaskData& t, const Recall& r,
                     const std::string& what) {
  Distances in_sight = r.told;
  if (in_sight.front().first == 0) in_sight.erase(in_sight.begin());
  std::vector<double> xs;
  for (const auto& [from, to] : in_sight)
    xs.push_back(std::sqrt(static_cast<double>(from) * (to - 1)));
  Lines lines;
  for (const std::size_t e : t.encodings)
    lines.add_encoding(
        run.encodings[e], xs, [&](std::size_t i) { return shown(t, e, r.at(in_sight[i])); },
        [](double v) { return v; });
  const bool logarithmic = lines.range.wide();
  if (!logarithmic) lines.range.include(0);  // else differences that mean nothing fill the panel
  Figure f;
  f.name = file_name(run, t, "recall", what);
  f.kind = "length";
  f.title = figure_title(run, t, fmt::format("{} by distance at {}", words_of(t).title, r.name));
  f.caption = fmt::format(
      "{} of targets that must be recalled, by the tokens back to what they hang on, in buckets "
      "from each power of two to the next. {} {} {}",
      words_of(t).sentence, few_sentence(), band_sentence(t), tint_sentence(run, t));
  f.caption += edge_sentence(lines.range, logarithmic);
  f.series = series_of(run, t, &lines);
  set_length_axis(f, t, xs, "tokens back");
  for (const auto& [from, to] : in_sight) f.x.ticks.emplace_back(from, std::to_string(from));
  f.y.label = words_of(t).unit;
  f.values["optimum"] = 0.0;
  set_y_axis(f, lines.range, logarithmic);
  name_line_ends(f, lines);
  f.rows = std::move(lines.rows);
  return f;
}

}  // namespace

TableFile recall_table(const RunData& run, const TaskData& t) {
  TableFile out{file_name(run, t, "recall"), {}, {}};
  const std::vector<Recall> all = recalls(t);
  if (all.empty()) return out;
  out.blocks = {recall_block(run, t, all)};
  out.csv = recall_csv(run, t, all);
  return out;
}

// Where sequences are longest, and so distances most.
static std::vector<Figure> draw_recall(const RunData& run, const TaskData& t) {
  std::vector<Figure> out;
  const std::vector<Recall> all = recalls(t);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Recall& r = all[i];
    const auto farther = [&](const Recall& o) { return o.all.length > r.all.length; };
    const auto buckets =
        std::count_if(r.told.begin(), r.told.end(), [](const auto& d) { return d.first > 0; });
    if (buckets < 3 || std::any_of(all.begin(), all.end(), farther)) continue;
    std::string what;  // tells settings of a length apart
    for (const auto& [axis, value] : r.all.axes)
      what += (what.empty() ? "" : "_") + axis + "_" + t.label(axis, value);
    out.push_back(recall_figure(run, t, r, what));
  }
  return out;
}

std::vector<FigureKind> recall_figures() {
  return {{FigureSection::recall, 0,
           [](const FigureContext& c) { return draw_recall(c.run, *c.task); }}};
}

}  // namespace pesuite
