// The main table of each task: what a reader looks at first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "base/text.h"
#include "report/tables.h"

namespace pesuite {

namespace {

std::string seeds_text(const TaskData& t) {
  return t.seeds.size() == 1 ? fmt::format("seed {}", t.seeds[0])
                             : fmt::format("mean of {} seeds [lowest, highest]", t.seeds.size());
}

// Of the columns of a table: who is best or was not called worse than the best, and who was.
enum class Mark { none, best, worse };
Mark mark_of(const Contest& c, std::size_t e) {
  if (c.ranked.empty() || !c.unranked_because.empty()) return Mark::none;
  const auto called_worse = [&](std::size_t other) {
    const Duel* d = other == c.ranked[0] ? nullptr : c.duel(c.ranked[0], other);
    return d != nullptr && (d->verdict == Verdict::first || d->verdict == Verdict::second);
  };
  if (std::none_of(c.ranked.begin(), c.ranked.end(), called_worse)) return Mark::none;
  if (std::find(c.ranked.begin(), c.ranked.end(), e) == c.ranked.end()) return Mark::none;
  return called_worse(e) ? Mark::worse : Mark::best;
}
Text marked(const std::string& text, Mark m) {
  if (m == Mark::best) return strong(text);
  return m == Mark::worse ? text + "†" : text;
}
Text marks_sentence(bool any) {
  if (!any) return {};
  return rich(
      " {}: the best of its column, and what was not called worse than it, which with few "
      "seeds may be far behind. †: called worse (p < 0.05).",
      strong("Bold"));
}

Table corpus_table(const RunData& run, const TaskData& t, const std::vector<Contest>& all) {
  const std::string protocol = main_protocol(t);
  const std::vector<int> lengths = lengths_of(t, protocol);
  Table b{"Perplexity by evaluation length", "", {{"encoding"}}, 1};
  for (const int l : lengths) b.rows[0].push_back(fmt::format("{} ({})", l, t.multiple(l)));
  bool any = false;
  for (const std::size_t e : t.encodings) {
    b.rows.push_back({row_name(run, t, e)});
    for (const int l : lengths) {
      Mark m = Mark::none;
      for (const Contest& c : all)
        if (c.ground.length == l && c.ground.protocol == protocol) m = mark_of(c, e);
      any |= m != Mark::none;
      b.rows.back().push_back(marked(
          spread_text(in_row(t, e, values_at(t, e, whole("nll", protocol, l))), perplexity_text),
          m));
    }
  }
  if (t.has("optimum")) {
    b.rows.push_back({emphasis("optimum")});
    for (const int l : lengths)
      b.rows.back().push_back(
          spread_text(summarize(optimum_at(t, whole("", protocol, l))), perplexity_text));
  }
  b.caption =
      rich("Trained at {}, protocol {}, {}.", t.train_length, code(protocol), seeds_text(t)) +
      marks_sentence(any);
  return b;
}

// "256 (4x)" and "unseen" below it.
std::string column_name(const Ground& g) {
  const std::string length = fmt::format("{} ({})", g.length, g.task->multiple(g.length));
  return g.bucket.empty() ? length : length + "\n" + g.bucket;
}

// Whether all of an encoding's settings at a ground, or some of its seeds there, are at chance.
AtChance chance_at(const TaskData& t, std::size_t e, const Ground& g) {
  bool every = true, any = false;
  for (const SettingPart& p : setting_parts(t)) {
    if (p.setting->length != g.length || p.bucket != g.bucket) continue;
    const AtChance a = at_chance(t, e, score_place(t, p));
    every &= a == AtChance::all, any |= a != AtChance::no;
  }
  return !any ? AtChance::no : every ? AtChance::all : AtChance::some;
}

double chance_level(const TaskData& t, const Ground& g) {
  double sum = 0, n = 0;
  for (const SettingPart& p : setting_parts(t))
    if (p.setting->length == g.length && p.bucket == g.bucket)
      sum += chance_of(t, score_place(t, p)), ++n;
  return n == 0 ? Number::none : sum / n;
}

Table score_table(const RunData& run, const TaskData& t, const std::vector<Contest>& all) {
  Table b{capitalized(score_name(t)) + " (%) by evaluation length", "", {{"encoding"}}, 1};
  std::vector<Text> chance = {emphasis("chance")};
  for (const Contest& c : all) {
    b.rows[0].push_back(column_name(c.ground));
    const double level = chance_level(t, c.ground);
    chance.push_back(std::isnan(level) ? "–" : percent_text(level));
  }
  bool any = false, at = false;
  for (const std::size_t e : t.encodings) {
    b.rows.push_back({row_name(run, t, e)});
    for (const Contest& c : all) {
      const AtChance a = chance_at(t, e, c.ground);
      const Mark m = mark_of(c, e);
      at |= a == AtChance::all, any |= m != Mark::none;
      b.rows.back().push_back(marked(spread_text(in_row(t, e, scores(c.ground, e)), percent_text) +
                                         (a == AtChance::all ? " ~" : ""),
                                     m));
    }
  }
  b.rows.push_back(std::move(chance));
  b.caption = rich("Trained at {}, {}. Means over the settings at a length.{}", t.train_length,
                   seeds_text(t), at ? " ~: at chance." : "") +
              marks_sentence(any);
  return b;
}

}  // namespace

Table main_table(const RunData& run, const TaskData& t, const std::vector<Contest>& all) {
  if (t.corpus) return corpus_table(run, t, all);
  if (t.problem) return score_table(run, t, all);
  return {};
}

}  // namespace pesuite
