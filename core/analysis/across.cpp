#include "analysis/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/length_metrics.h"
#include "analysis/places.h"
#include "base/text.h"

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
      sum += chance_to_beat(*g.task, score_place(*g.task, {&s, g.bucket, ""})), ++n;
  return sum / n;
}

void collect_scores(Across& out, const Contest& c) {
  const Ground& g = c.ground;
  if (!g.share() || g.trained) return;
  const double chance = chance_at(g);
  if (std::isnan(chance) || chance >= 1) return;
  for (const std::size_t e : c.encodings) {
    std::vector<double> normal;
    for (const SeedValue& v : scores(g, e))
      if (!std::isnan(v.value)) {
        normal.push_back(above_chance(v.value, chance));
        out.by_seed[e][v.seed].push_back(normal.back());
      }
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
  const bool enough = ranks.size() >= fewest_tasks;
  if (enough) {
    out.chi_square = f.chi_square, out.p = f.p;
    out.critical = critical_difference(encodings.size(), ranks.size());
  }
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    Standing s;
    s.encoding = encodings[i], s.rank = f.mean_ranks[i];
    s.reciprocal = 0, s.family_rank = 0;
    for (const TaskRanks& b : blocks)
      s.reciprocal += b.reciprocal.at(s.encoding) / static_cast<double>(blocks.size());
    for (const TaskRanks& b : blocks)
      s.family_reciprocal[b.task->family] +=
          b.reciprocal.at(s.encoding) / static_cast<double>(families.at(b.task->family).size());
    for (const auto& [family, of] : families) {
      double mean = 0;
      for (const auto& r : of) mean += r[i] / static_cast<double>(of.size());
      s.family_rank += mean / static_cast<double>(families.size());
    }
    out.standings.push_back(s);
  }
  std::stable_sort(out.standings.begin(), out.standings.end(),
                   [](const Standing& a, const Standing& b) { return a.rank < b.rank; });
  out.groups = groups_of(out.standings, enough ? out.critical : Number::infinite);
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
                          [&e = e](const Standing& x) { return x.encoding == e; });
    if (s == out.standings.end()) {
      out.standings.push_back({});
      s = out.standings.end() - 1;
      s->encoding = e;
    }
    std::vector<double> all;
    for (const auto& one : strata) all.insert(all.end(), one.begin(), one.end());
    s->runs = all.size();
    s->score = interquartile_mean(all);
    std::vector<std::vector<double>> seeds;
    for (const auto& [seed, values] : out.by_seed[e]) seeds.push_back(values);
    s->score_interval = interquartile_interval(seeds);
  }
  return out;
}

}  // namespace pesuite
