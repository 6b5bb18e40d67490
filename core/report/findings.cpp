// Findings of one task.
#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/metrics.h"
#include "report/text.h"

namespace pesuite {

std::string p_text(double p, std::size_t seeds) {
  if (std::isnan(p)) return "not tested";
  if (p < smallest_p(seeds)) return fmt::format("p < {:g}", smallest_p(seeds));
  return fmt::format("p = {:.{}f}", p, p < 0.1 ? 3 : 2);
}

namespace {

// Writes what one contest shows.
struct Speaker {
  const RunData& run;
  const Contest& c;

  Span name(std::size_t e) const { return code(run.encodings[e]); }
  bool won(const Duel& d, std::size_t e) const {
    return d.verdict == (d.first == e ? Verdict::first : Verdict::second);
  }

  // "rope by 0.310 nats (95 % interval 0.21 to 0.41, p = 0.003)"
  Text beaten(const Duel& d, std::size_t loser) const {
    std::string inside;
    if (d.infinite > 0)
      inside = fmt::format("{} of {} pairs of seeds not finite, ", d.infinite, d.seeds);
    else
      inside = fmt::format("95 % interval {}, ", interval(d));
    return rich("{} by {} ({}{})", name(loser), c.ground.effect(d.difference), inside,
                p_text(d.adjusted, d.seeds));
  }

  std::string interval(const Duel& d) const {  // of the size of the difference
    const double scale = c.ground.share() ? 100 : 1;
    double low = d.low * scale, high = d.high * scale;
    if (d.difference < 0) std::swap(low, high), low = -low, high = -high;
    const int digits = c.ground.share() ? 1 : 3;
    return fmt::format("{} to {}", format_fixed(low, digits), format_fixed(high, digits));
  }

  // "name (0.012 nats, p = 0.61; 3 seeds resolve 0.080)"
  Text tied(const Duel& d, std::size_t other) const {
    const std::string p = p_text(d.adjusted, d.seeds);
    if (d.infinite > 0)
      return rich("{} ({} of {} pairs of seeds not finite, {})", name(other), d.infinite, d.seeds,
                  p);
    if (d.adjusted < 0.05)
      return rich("{} ({}, {}: less than matters)", name(other), c.ground.effect(d.difference), p);
    Text out = rich("{} ({}, {}; {} resolve {}", name(other), c.ground.effect(d.difference), p,
                    counted(d.seeds, "seed"), c.ground.effect(d.resolvable));
    if (d.needed > d.seeds) out += fmt::format(", {} for 80 % power", counted(d.needed, "seed"));
    return out + Text(")");
  }

  Text ranks() const {
    std::vector<std::pair<double, Span>> all;
    for (std::size_t i = 0; i < c.ranked.size(); ++i)
      all.emplace_back(c.ranks[i], name(c.ranked[i]));
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Text> parts;
    for (const auto& [rank, id] : all) parts.push_back(rich("{} {:.3g}", id, rank));
    return join(parts, ", ");
  }

  // What keeps all pairs from being told apart, where none is.
  Text nothing_called() const {
    const Duel* most = nullptr;
    std::size_t seeds = 0;
    bool equivalent = true;
    for (const Duel& d : c.duels) {
      if (std::isfinite(d.difference) &&
          (most == nullptr || std::abs(d.difference) > std::abs(most->difference)))
        most = &d;
      seeds = std::max(seeds, d.seeds);
      equivalent &= d.verdict == Verdict::equivalent;
    }
    const Text who = c.ranked.size() == 2 ? rich("{} and {}", name(c.ranked[0]), name(c.ranked[1]))
                                          : Text(fmt::format("the {} encodings", c.ranked.size()));
    if (equivalent)
      return rich("{} are equivalent: all differences lie within {} (TOST)", who,
                  c.ground.effect(c.ground.matters()));
    Text out = rich("no difference between {} is resolvable with {}", who, counted(seeds, "seed"));
    if (most == nullptr) return out;
    out += rich(" (largest {}, {} against {}", c.ground.effect(most->difference), name(most->first),
                name(most->second));
    if (!std::isnan(most->resolvable))
      out += fmt::format("; smallest that could have been called there {}",
                         c.ground.effect(most->resolvable));
    return out + Text(")");
  }

  // Who is better than the first of the ranks, and was left out of them.
  Text better_left_out() const {
    const auto mean = [&](std::size_t e) { return summarize(scores(c.ground, e)).mean; };
    const double first = mean(c.ranked[0]);
    Text out;
    for (const std::size_t e : c.encodings) {
      if (std::find(c.ranked.begin(), c.ranked.end(), e) != c.ranked.end()) continue;
      if (c.ground.lower_is_better() ? !(mean(e) < first) : !(mean(e) > first)) continue;
      out +=
          rich(" {} is better ({} against {}) but left out: not learned ({}).", name(e),
               c.ground.level(mean(e)), c.ground.level(first), learned_distance(*c.ground.task, e));
    }
    return out;
  }

  Text sentence() const { return ranked_sentence() + better_left_out(); }

  Text ranked_sentence() const {
    if (std::none_of(c.duels.begin(), c.duels.end(), [](const Duel& d) {
          return d.verdict == Verdict::first || d.verdict == Verdict::second;
        }))
      return nothing_called() + Text(".");
    const std::size_t leader = c.ranked[0];
    std::vector<Text> wins, ties, same;
    for (std::size_t i = 1; i < c.ranked.size(); ++i) {
      const Duel* d = c.duel(leader, c.ranked[i]);
      if (won(*d, leader))
        wins.push_back(beaten(*d, c.ranked[i]));
      else if (d->verdict == Verdict::equivalent)
        same.push_back(name(c.ranked[i]));
      else
        ties.push_back(tied(*d, c.ranked[i]));
    }
    std::vector<Text> parts;
    const Span who = name(leader);
    if (!wins.empty()) parts.push_back(rich("{} beats {}", strong(who.text), join_and(wins)));
    if (!ties.empty())
      parts.push_back(rich("no difference between {} and {}", who, join_and(ties)));
    if (!same.empty()) parts.push_back(rich("{} equals {}", who, join_and(same)));
    Text out = join(parts, "; ") + ".";
    if (c.ranked.size() > 2) out += rich(" Ranks: {}.", ranks());
    return out;
  }
};

bool is_main(const Ground& g, const TaskData& t) {
  return g.protocol.empty() || g.protocol == main_protocol(t);
}

std::string metric_name(const Ground& g) {
  return std::string(metric(g.metric).heading);
}

}  // namespace

std::vector<Text> task_findings(const RunData& run, const TaskData& t,
                                const std::vector<Contest>& all) {
  std::vector<Text> out;
  std::vector<Text> unlearned;
  for (const std::size_t e : t.encodings)
    if (learned(t, e) == Learned::no)
      unlearned.push_back(rich("{} ({})", code(run.encodings[e]), learned_distance(t, e)));
  if (!unlearned.empty())
    out.push_back(
        rich("Not ranked beyond the training length, because not learned there (wanted: {}): {}.",
             learned_criterion(t), join(unlearned, ", ")));
  std::map<std::string, std::vector<std::string>> silent;  // reasons, with the places they hold at
  for (const Contest& c : all) {
    if (!is_main(c.ground, t) || c.encodings.size() < 2) continue;
    if (!c.unranked_because.empty())
      silent[c.unranked_because].push_back(c.ground.name());
    else
      out.push_back(rich("{} at {}{}: {}", metric_name(c.ground), c.ground.name(),
                         c.ground.trained ? ", in distribution" : "", Speaker{run, c}.sentence()));
  }
  for (const auto& [why, places] : silent)
    out.push_back(fmt::format("Nothing is ranked at {}: {}.", join_and(places), why));
  return out;
}

namespace {

const char* verdict_name(Verdict v) {
  switch (v) {
    case Verdict::first: return "first";
    case Verdict::second: return "second";
    case Verdict::tie: return "tie";
    case Verdict::equivalent: return "equivalent";
    case Verdict::untested: break;
  }
  return "untested";
}

// Who beats whom at one place.
Table standing_block(const RunData& run, const TaskData& t, const Contest& c) {
  const Ground& g = c.ground;
  const Speaker speaker{run, c};
  Table b{
      fmt::format("Who beats whom at {}{}", g.name(), g.protocol.empty() ? "" : ", " + g.protocol),
      "",
      {{"encoding", metric_name(g), "rank", "beats", "no difference from"}},
      1};
  for (std::size_t i = 0; i < c.ranked.size(); ++i) {
    const std::size_t e = c.ranked[i];
    std::vector<std::string> beats, ties;
    for (const std::size_t other : c.ranked) {
      const Duel* d = other == e ? nullptr : c.duel(e, other);
      if (d == nullptr) continue;
      const std::string size = g.effect(d->difference);
      if (speaker.won(*d, e))
        beats.push_back(fmt::format("{} ({})", run.encodings[other], size));
      else if (d->verdict == Verdict::equivalent)
        ties.push_back(fmt::format("{} (equivalent)", run.encodings[other]));
      else if (d->verdict == Verdict::tie)
        ties.push_back(std::isnan(d->resolvable)
                           ? run.encodings[other]
                           : fmt::format("{} ({}; resolvable {})", run.encodings[other], size,
                                         g.effect(d->resolvable)));
    }
    b.rows.push_back({row_name(run, t, e), g.level(summarize(scores(g, e)).mean),
                      fmt::format("{:.3g}", c.ranks[i]), beats.empty() ? "–" : join(beats, ", "),
                      ties.empty() ? "–" : join(ties, ", ")});
  }
  for (const std::size_t e : c.encodings)
    if (std::find(c.ranked.begin(), c.ranked.end(), e) == c.ranked.end())
      b.rows.push_back(
          {row_name(run, t, e), g.level(summarize(scores(g, e)).mean), "not learned", "–", "–"});
  b.caption = rich(
      "A beats B where the paired test over seeds gives p < 0.05 after Holm and Shaffer over all "
      "pairs and lengths of the task, and the difference is at least {}; else they share ranks. "
      "{}: "
      "the smallest difference that these seeds could have called.",
      g.effect(g.matters()), emphasis("resolvable"));
  return b;
}

}  // namespace

TableFile duel_table(const RunData& run, const TaskData& t, const std::vector<Contest>& all) {
  TableFile out{
      file_name(run, t, "pairs"),
      {},
      {{"task",         "model",      "train_len", "protocol",     "metric",  "eval_len",
        "multiple",     "bucket",     "split",     "first",        "second",  "first_mean",
        "second_mean",  "difference", "low",       "high",         "seeds",   "not_finite",
        "test",         "p",          "p_holm",    "p_equivalent", "matters", "resolvable",
        "seeds_needed", "verdict"}}};
  for (const Contest& c : all) {
    const Ground& g = c.ground;
    for (const Duel& d : c.duels)
      out.csv.push_back({t.task,
                         t.model,
                         std::to_string(t.train_length),
                         g.protocol,
                         g.metric,
                         std::to_string(g.length),
                         format_number(static_cast<double>(g.length) / t.train_length),
                         g.bucket,
                         g.trained ? "id" : "ood",
                         run.encodings[d.first],
                         run.encodings[d.second],
                         csv_number(summarize(scores(g, d.first)).mean),
                         csv_number(summarize(scores(g, d.second)).mean),
                         csv_number(d.difference),
                         csv_number(d.low),
                         csv_number(d.high),
                         std::to_string(d.seeds),
                         std::to_string(d.infinite),
                         d.test,
                         csv_number(d.p),
                         csv_number(d.adjusted),
                         csv_number(d.equivalent),
                         csv_number(g.matters()),
                         csv_number(d.resolvable),
                         std::to_string(d.needed),
                         verdict_name(d.verdict)});
    if (c.unranked_because.empty() && is_main(g, t))
      out.blocks.push_back(standing_block(run, t, c));
  }
  return out;
}

}  // namespace pesuite
