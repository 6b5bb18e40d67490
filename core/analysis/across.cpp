// Findings over tasks: ranks, reciprocal ranks, chance-normalised scores.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pesuite/random.hpp>

#include "base/text.h"
#include "analysis/length_metrics.h"
#include "report/findings.h"

namespace pesuite {

namespace {

// One task's part: mean ranks and places over its lengths out of distribution.
struct TaskRanks {
  const TaskData* task = nullptr;
  std::map<std::size_t, double> rank, reciprocal;  // of encodings that are ranked everywhere
};

bool counts(const Contest& c) {
  return c.unranked_because.empty() && !c.ground.trained &&
         (c.ground.protocol.empty() || c.ground.protocol == main_protocol(*c.ground.task));
}

TaskRanks ranks_of(const TaskData& t, const std::vector<Contest>& all) {
  TaskRanks out;
  out.task = &t;
  double n = 0;
  std::map<std::size_t, std::size_t> times;
  for (const Contest& c : all) {
    if (!counts(c)) continue;
    ++n;
    for (std::size_t i = 0; i < c.ranked.size(); ++i) {
      const std::size_t e = c.ranked[i];
      out.rank[e] += c.ranks[i];
      out.reciprocal[e] += 1 / static_cast<double>(i + 1);  // by mean, as papers count it
      ++times[e];
    }
  }
  for (const auto& [e, count] : times)
    if (static_cast<double>(count) < n) out.rank.erase(e), out.reciprocal.erase(e);
  for (auto& [e, r] : out.rank) r /= n;
  for (auto& [e, r] : out.reciprocal) r /= n;
  return out;
}

// Chance of a ground: the mean over its settings.
double chance_at(const Ground& g) {
  double sum = 0, n = 0;
  for (const Setting& s : g.task->settings)
    if (s.length == g.length && s.trained == g.trained)
      sum += chance_of(*g.task, {&s, g.bucket, ""}), ++n;
  return sum / n;
}

void collect_scores(Across& out, const Contest& c) {
  const Ground& g = c.ground;
  if (g.metric != "acc" || g.trained) return;
  const double chance = chance_at(g);
  if (std::isnan(chance) || chance >= 1) return;
  for (const std::size_t e : c.encodings) {
    std::vector<double> normal;
    for (const SeedValue& v : scores(g, e))
      if (!std::isnan(v.value)) normal.push_back(above_chance(v.value, chance));
    if (!normal.empty()) out.scores[e].push_back(std::move(normal));
  }
}

// Largest sets of encodings, in order of rank, whose ranks lie within the critical difference.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<Standing>& all, double critical) {
  std::vector<std::vector<std::size_t>> out;
  std::size_t covered = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1].rank - all[i].rank < critical) ++last;
    if (last + 1 <= covered) continue;  // inside the group before
    covered = last + 1;
    std::vector<std::size_t> group;
    for (std::size_t k = i; k <= last; ++k) group.push_back(all[k].encoding);
    out.push_back(std::move(group));
  }
  return out;
}

// Friedman's test over the tasks, and what follows from it.
void rank_all(Across& out, const std::vector<TaskRanks>& blocks,
              const std::vector<std::size_t>& encodings) {
  std::vector<std::vector<double>> ranks;
  std::map<std::string, std::vector<std::vector<double>>> families;
  for (const TaskRanks& b : blocks) {
    std::vector<double> means;
    for (const std::size_t e : encodings) means.push_back(b.rank.at(e));
    ranks.push_back(mean_ranks(means));
    families[b.task->family].push_back(ranks.back());
    out.tasks.push_back(b.task);
  }
  const Friedman f = friedman(ranks);
  out.chi_square = f.chi_square, out.p = f.p;
  out.critical = critical_difference(encodings.size(), ranks.size());
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    Standing s;
    s.encoding = encodings[i], s.rank = f.mean_ranks[i];
    s.reciprocal = 0, s.family_rank = 0;
    for (const TaskRanks& b : blocks)
      s.reciprocal += b.reciprocal.at(s.encoding) / static_cast<double>(blocks.size());
    for (const auto& [family, of] : families) {
      double mean = 0;
      for (const auto& r : of) mean += r[i] / static_cast<double>(of.size());
      s.family_rank += mean / static_cast<double>(families.size());
    }
    out.standings.push_back(s);
  }
  std::stable_sort(out.standings.begin(), out.standings.end(),
                   [](const Standing& a, const Standing& b) { return a.rank < b.rank; });
  out.groups = groups_of(out.standings, out.critical);
}

}  // namespace

Across across_tasks(const RunData& run, const std::vector<std::vector<Contest>>& of_tasks) {
  Across out;
  std::vector<TaskRanks> blocks;
  std::map<std::size_t, std::vector<std::string>> absent;  // tasks in which one is not ranked
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    for (const Contest& c : of_tasks[i]) collect_scores(out, c);
    TaskRanks r = ranks_of(run.tasks[i], of_tasks[i]);
    if (r.rank.empty()) continue;
    for (std::size_t e = 0; e < run.encodings.size(); ++e)
      if (!r.rank.contains(e)) absent[e].push_back(run.tasks[i].task);
    blocks.push_back(std::move(r));
  }
  std::vector<std::size_t> encodings;
  for (std::size_t e = 0; e < run.encodings.size() && !blocks.empty(); ++e) {
    if (!absent.contains(e))
      encodings.push_back(e);
    else if (!run.expressions[e].empty())
      out.left_out.push_back(
          fmt::format("{} (not ranked on {})", run.encodings[e], join(absent[e], ", ")));
  }
  if (blocks.size() >= 2 && encodings.size() >= 2) rank_all(out, blocks, encodings);
  for (auto& [e, strata] : out.scores) {
    auto s = std::find_if(out.standings.begin(), out.standings.end(),
                          [&](const Standing& x) { return x.encoding == e; });
    if (s == out.standings.end()) {
      out.standings.push_back({});
      s = out.standings.end() - 1;
      s->encoding = e;
    }
    std::vector<double> all;
    for (const auto& one : strata) all.insert(all.end(), one.begin(), one.end());
    s->runs = all.size();
    s->score = interquartile_mean(all);
    s->score_interval = stratified_interval(strata, pes::hash64(run.encodings[e]));
  }
  return out;
}

std::vector<std::string> across_findings(const RunData& run, const Across& a) {
  std::vector<std::string> out;
  if (!a.tasks.empty()) {
    std::vector<std::string> names;
    for (const std::size_t e : a.groups[0]) names.push_back(run.encodings[e]);
    const std::string test =
        std::isnan(a.p) ? "no task tells any two apart"
                        : fmt::format("Friedman over {}: chi-square {:.3g}, {}",
                                      counted(a.tasks.size(), "task"), a.chi_square, p_text(a.p));
    if (std::isnan(a.p) || a.p >= 0.05)
      out.push_back(fmt::format("Over all tasks no order is shown ({}).", test));
    else if (names.size() > 1)
      out.push_back(fmt::format(
          "Over all tasks there is no single winner: {} have the best mean ranks and do not differ "
          "({}; critical difference {:.2f}).",
          join(names, ", "), test, a.critical));
    else
      out.push_back(
          fmt::format("Over all tasks **{}** has the best mean rank ({}; critical "
                      "difference {:.2f}).",
                      names[0], test, a.critical));
  }
  if (!a.left_out.empty())
    out.push_back("Left out of the ranks over tasks: " + join(a.left_out, "; ") + ".");
  return out;
}

namespace {

// "algorithmic: copy, reverse; retrieval: needle, passkey": families of several tasks.
std::string families_text(const std::vector<const TaskData*>& tasks) {
  std::map<std::string, std::vector<std::string>> families;
  for (const TaskData* t : tasks) families[t->family].push_back(t->task);
  std::vector<std::string> parts;
  for (const auto& [family, names] : families)
    if (names.size() > 1) parts.push_back(fmt::format("{}: {}", family, join(names, ", ")));
  return parts.empty() ? "here none are said to be" : join(parts, "; ");
}

}  // namespace

TableFile across_table(const RunData& run, const Across& a) {
  TableFile out{"ranks",
                {},
                {{"encoding", "mean_rank", "family_rank", "mean_reciprocal_rank", "iqm", "iqm_low",
                  "iqm_high", "runs"}}};
  Block b{"", "", {{"encoding", "mean rank", "by family", "MRR", "score (IQM)", "runs"}}, 1};
  const auto shown = [](double x, int digits) {
    return std::isnan(x) ? std::string("–") : format_fixed(x, digits);
  };
  for (const Standing& s : a.standings) {
    const std::string& id = run.encodings[s.encoding];
    out.csv.push_back({id, csv_number(s.rank), csv_number(s.family_rank), csv_number(s.reciprocal),
                       csv_number(s.score), csv_number(s.score_interval.low),
                       csv_number(s.score_interval.high), std::to_string(s.runs)});
    b.rows.push_back(
        {id, shown(s.rank, 2), shown(s.family_rank, 2), shown(s.reciprocal, 2),
         s.runs == 0 ? "–"
                     : fmt::format("{} [{}, {}]", shown(s.score, 3), shown(s.score_interval.low, 3),
                                   shown(s.score_interval.high, 3)),
         s.runs == 0 ? "–" : std::to_string(s.runs)});
  }
  if (b.rows.size() < 2) return out;
  if (!a.tasks.empty())
    b.caption = fmt::format(
        "Out of distribution. *mean rank*: over {}, ties share ranks; critical difference {:.2f} "
        "(Nemenyi, 0.05). *by family*: related tasks averaged first ({}). *MRR*: mean reciprocal "
        "place by mean score, ties not counted, as papers print it. ",
        counted(a.tasks.size(), "task"), a.critical, families_text(a.tasks));
  b.caption +=
      "*score*: interquartile mean of (accuracy - chance) / (1 - chance) over problems, lengths "
      "and "
      "seeds, with its 95 % bootstrap interval over seeds. Tasks are related: read p-values over "
      "them as descriptions.";
  out.blocks.push_back(std::move(b));
  return out;
}

}  // namespace pesuite
