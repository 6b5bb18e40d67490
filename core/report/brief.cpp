#include "report/brief.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/answer.h"
#include "base/text.h"
#include "report/answer.h"

namespace pesuite {

namespace {

// Of a task under its main protocol: where it was trained, or the longest length.
const Ground* end_of(const TaskData& t, const std::vector<Ground>& all, bool longest) {
  const Ground* out = nullptr;
  for (const Ground& g : all) {
    if (!g.protocol.empty() && g.protocol != main_protocol(t)) continue;
    if (longest ? g.length > t.train_length && (out == nullptr || g.length >= out->length)
                : g.length == t.train_length && g.trained)
      out = &g;
  }
  return out;
}

// "93.3 % (a) to 32.2 % (2 encodings)"; "–" where nothing was evaluated.
std::string best_to_worst(const RunData& run, const Ground* g) {
  if (g == nullptr) return "–";
  std::vector<std::pair<double, std::size_t>> all;  // the best first
  for (const std::size_t e : g->task->encodings)
    if (const double x = summarize(scores(*g, e)).mean; !std::isnan(x)) all.emplace_back(x, e);
  if (all.empty()) return "–";
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return g->lower_is_better() ? a.first < b.first : a.first > b.first;
  });
  const auto named = [&](const std::pair<double, std::size_t>& one) {
    const std::string level = g->level(one.first);
    const auto alike = static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& x) { return g->level(x.first) == level; }));
    return fmt::format("{} ({})", level,
                       alike > 1 ? counted(alike, "encoding") : run.encodings[one.second]);
  };
  const std::string best = named(all.front()), worst = named(all.back());
  return best == worst ? best : fmt::format("{} to {}", best, worst);
}

std::string learners(const TaskData& t) {
  std::size_t yes = 0, known = 0;
  for (const std::size_t e : t.encodings) {
    const Learned l = learned(t, e);
    known += l == Learned::unknown ? 0 : 1, yes += l == Learned::yes ? 1 : 0;
  }
  return known == 0 ? "–" : fmt::format("{} of {}", yes, known);
}

// "**-1**" holds, "-64" fails, "-8 ?" is neither, "(-7)" was not learned.
Text brief_verdict(const TaskAnswer& a, const LengthAnswer& e) {
  const std::string change = change_text(a.ground, e.loss());
  switch (e.verdict) {
    case LengthVerdict::holds: return e.length == a.lengths.back() ? strong(change) : Text(change);
    case LengthVerdict::fails: return change;
    case LengthVerdict::inapplicable: return fmt::format("({})", change);
    case LengthVerdict::undecided:
    case LengthVerdict::untested: break;
  }
  return change + " ?";
}

TextRows turned(const TextRows& rows) {
  TextRows out(rows[0].size(), std::vector<Text>(rows.size()));
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[0].size(); ++c) out[c][r] = rows[r][c];
  out[0][0] = "encoding";
  return out;
}

}  // namespace

Table brief_tasks(const RunData& run, const std::function<std::string(const TaskData&)>& section) {
  Table b{
      "",
      "",
      {{"task", "trained at", "learned by", "at the training length", "longest", "at the longest"}},
      1};
  for (const TaskData& t : run.tasks) {
    const std::vector<Ground> all = grounds(t);
    const Ground* far = end_of(t, all, true);
    const std::string title = section(t);
    b.rows.push_back({link(title, "#" + title), std::to_string(t.train_length), learners(t),
                      best_to_worst(run, end_of(t, all, false)), far == nullptr ? "–" : far->name(),
                      best_to_worst(run, far)});
  }
  b.caption = rich(
      "The best and the worst encoding, means over seeds: {}, or nats per token, above the "
      "optimum where it is known. Figures and tables of a task stand behind its name.",
      score_names(run));
  return b;
}

Table brief_answer(const RunData& run) {
  Table b{"", "", {{"task"}}, 1};
  for (const std::string& e : run.encodings) b.rows[0].push_back(e);
  for (const TaskData& t : run.tasks) {
    const TaskAnswer a = answer_of(t);
    if (a.encodings.empty()) continue;
    std::vector<Text> row(run.encodings.size() + 1, "–");
    const std::string name = run.several_models() ? t.task + ", model " + t.model : t.task;
    row[0] = fmt::format("{} ({})", name, t.multiple(a.lengths.back()));
    for (const LengthAnswer& e : a.encodings) row[e.encoding + 1] = brief_verdict(a, e);
    b.rows.push_back(std::move(row));
  }
  if (b.rows.size() > 1 && b.rows.size() < b.rows[0].size()) b.rows = turned(b.rows);
  b.caption = rich(
      "Change from the training length to the longest one, in nats or points. {}: holds; ?: "
      "undecided or not tested; in brackets: not learned at the training length; else it fails.",
      strong("Bold"));
  return b;
}

Table brief_cost(const RunData& run) {
  Table b{"", "", {{"encoding", "parameters", "of the encoding", "training time"}}, 1};
  for (std::size_t e = 0; e < run.encodings.size(); ++e) {
    std::vector<double> parameters, own, seconds;
    for (const TaskData& t : run.tasks)
      for (const std::uint64_t seed : t.seeds) {
        const CellData* c = t.cell(e, seed);
        if (c == nullptr || c->costs.empty()) continue;
        seconds.push_back(c->train_seconds);
        if (const auto p = c->costs.find("parameters"); p != c->costs.end())
          parameters.push_back(p->second);
        if (const auto p = c->costs.find("encoding_parameters"); p != c->costs.end())
          own.push_back(p->second);
      }
    if (seconds.empty()) continue;
    const auto shown = [](const std::vector<double>& all, std::string (*text)(double)) {
      return all.empty() ? std::string("–") : text(median(all));
    };
    b.rows.push_back({run.encodings[e], shown(parameters, format_count), shown(own, format_count),
                      shown(seconds, format_seconds)});
  }
  b.caption = rich("Medians over tasks and seeds. Cells shared the machine. For speed: {}.",
                   code("pesuite bench"));
  return b;
}

}  // namespace pesuite
