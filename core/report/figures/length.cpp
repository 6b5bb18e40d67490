// Figures of corpora: by length and by context.
#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

double same(double x) {
  return x;
}
double exponential(double x) {
  return std::exp(x);
}

// At most about ten labels, the training length among them.
Ticks length_ticks(const TaskData& t, const std::vector<int>& lengths) {
  Ticks out;
  const std::size_t stride = (lengths.size() + 9) / 10;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool labelled = i % stride == 0 || lengths[i] == t.train_length;
    out.emplace_back(lengths[i],
                     labelled ? fmt::format("{}\n{}", lengths[i], t.multiple(lengths[i])) : "");
  }
  return out;
}

// The optimum at each length; false where it is unknown.
bool add_optimum(Lines& lines, const TaskData& t, const std::string& protocol) {
  bool known = false;
  for (const int l : lengths_of(t, protocol)) {
    const Spread s = summarize(optimum_at(t, whole("", protocol, l)));
    known |= s.n > 0;
    lines.add("", "optimum", "", l, {std::exp(s.mean)});
  }
  return known;
}

// On the scale that suits it, then on the other.
std::vector<Figure> against_length(const RunData& run, const TaskData& t,
                                   const std::string& protocol, bool regret) {
  const std::vector<int> lengths = lengths_of(t, protocol);
  const std::vector<double> xs(lengths.begin(), lengths.end());
  const char* metric = regret ? "regret" : "nll";
  Lines lines;
  for (const std::size_t e : t.encodings)
    lines.add_encoding(
        run.encodings[e], xs,
        [&](std::size_t i) { return values_at(t, e, whole(metric, protocol, lengths[i])); },
        regret ? same : exponential);
  const bool optimum = !regret && add_optimum(lines, t, protocol);
  const bool logarithmic = !regret || lines.range.wide();
  Figure f;
  f.name = file_name(run, t, regret ? "regret" : "perplexity", protocol);
  f.kind = "length";
  f.title = figure_title(run, t, fmt::format("{}, {}", regret ? "regret" : "perplexity", protocol));
  f.caption = fmt::format("{} against evaluation length, protocol {}. {} {}",
                          regret ? "Regret (nats per token above the optimum)" : "Perplexity",
                          protocol, band_sentence(t), tint_sentence(run, t));
  if (optimum) f.caption += " Dashed black line: the optimum.";
  f.series = series_of(run, t, &lines);
  set_length_axis(f, t, xs, "evaluation length (tokens, multiples of the training length)");
  f.x.ticks = length_ticks(t, lengths);
  f.y.label = regret ? "regret (nats per token)" : "perplexity";
  f.values["optimum"] = optimum ? 1.0 : 0.0;
  std::vector<Figure> out;
  for (const bool log : {logarithmic, !logarithmic}) {
    Figure on_scale = f;
    Range range = lines.range;
    if (!log && regret) range.include(0);
    if (!out.empty() && log && !(range.smallest < range.high)) break;  // nothing to spread
    on_scale.caption += edge_sentence(range, log);
    set_y_axis(on_scale, range, log);
    name_line_ends(on_scale, lines);
    on_scale.rows = lines.rows;
    if (!out.empty()) on_scale.name += log ? "_log" : "_linear", on_scale.beside = f.name;
    out.push_back(std::move(on_scale));
  }
  return out;
}

// The buckets of context that were scored at a length: [from, to).
std::vector<std::pair<int, int>> buckets_at(const TaskData& t, const Place& at) {
  std::set<std::pair<int, int>> all;
  for (const auto& [key, cell] : t.cells)
    for (const auto& [p, number] : cell.evals)
      if (p.protocol == at.protocol && p.length == at.length && p.to > 0 && p.metric == at.metric &&
          p.bucket == at.bucket)
        all.insert({p.from, p.to});
  return {all.begin(), all.end()};
}

}  // namespace

static std::vector<Figure> draw_lengths(const RunData& run, const TaskData& t,
                                        const std::string& protocol) {
  if (lengths_of(t, protocol).size() < 2) return {};
  std::vector<Figure> out = against_length(run, t, protocol, false);
  if (t.has("regret"))
    for (Figure& f : against_length(run, t, protocol, true)) out.push_back(std::move(f));
  return out;
}

static std::vector<Figure> draw_positions(const RunData& run, const TaskData& t,
                                          const std::string& protocol) {
  const bool regret = t.has("regret");
  const int longest = lengths_of(t, protocol).back();
  const Place at = whole(regret ? "regret" : "nll", protocol, longest);
  const auto buckets = buckets_at(t, at);
  if (buckets.size() < 3) return {};
  std::vector<double> xs;
  for (const auto& [from, to] : buckets)
    xs.push_back(std::sqrt(static_cast<double>(from) * (to - 1)));
  Lines lines;
  for (const std::size_t e : t.encodings)
    lines.add_encoding(
        run.encodings[e], xs,
        [&](std::size_t i) {
          Place p = at;
          p.from = buckets[i].first, p.to = buckets[i].second;
          return values_at(t, e, p);
        },
        same);
  const bool logarithmic = lines.range.wide();
  if (!logarithmic && regret) lines.range.include(0);
  Figure f;
  f.name = file_name(run, t, "positions", protocol);
  f.kind = "length";
  f.title = figure_title(
      run, t,
      fmt::format("{} by context at length {}, {}", regret ? "regret" : "nats", longest, protocol));
  f.caption = fmt::format(
      "{} of tokens by the context they have, at evaluation length {} ({} the training length), "
      "protocol {}, in "
      "buckets from each power of two to the next. {} {}",
      regret ? "Regret" : "Nats", longest, t.multiple(longest), protocol, band_sentence(t),
      tint_sentence(run, t));
  f.caption += edge_sentence(lines.range, logarithmic);
  f.series = series_of(run, t, &lines);
  set_length_axis(f, t, xs, "context (tokens before the scored one)");
  const std::size_t stride = (buckets.size() + 10) / 11;
  for (std::size_t i = 0; i < buckets.size(); i += stride)
    f.x.ticks.emplace_back(buckets[i].first, std::to_string(buckets[i].first));
  f.y.label = regret ? "regret (nats per token)" : "nats per token";
  f.values["optimum"] = 0.0;
  set_y_axis(f, lines.range, logarithmic);
  name_line_ends(f, lines);
  f.rows = std::move(lines.rows);
  return {f};
}

// Of the main protocol what is its measure stands first: regret where the optimum is known.
static std::vector<Figure> draw_main(const RunData& run, const TaskData& t) {
  if (!t.corpus) return {};
  std::vector<Figure> out = draw_lengths(run, t, main_protocol(t));
  std::stable_partition(out.begin(), out.end(),
                        [](const Figure& f) { return f.y.label.starts_with("regret"); });
  return out;
}

static std::vector<Figure> draw_protocol(const FigureContext& c) {
  std::vector<Figure> out;
  if (c.protocol != main_protocol(*c.task)) out = draw_lengths(c.run, *c.task, c.protocol);
  for (Figure& f : draw_positions(c.run, *c.task, c.protocol)) out.push_back(std::move(f));
  return out;
}

std::vector<FigureKind> length_figures() {
  return {
      {FigureSection::task, 0, [](const FigureContext& c) { return draw_main(c.run, *c.task); }},
      {FigureSection::protocol, 0, draw_protocol}};
}

}  // namespace pesuite
