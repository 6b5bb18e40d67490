#include "analysis/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pesuite/random.hpp>

#include "analysis/places.h"
#include "base/text.h"
#include "model/metrics.h"
#include "model/protocol.h"

namespace pesuite {

namespace {

bool no_result(const std::string& why) {  // a cell that says nothing about its encoding
  return why != "diverged" && why != "nan";
}

// The lowest mean over seeds at the training length; a single lucky seed sets no standard.
double best_nats(const TaskData& t) {
  const Place p = whole("nll", main_protocol(t), t.train_length);
  double best = Number::infinite;
  for (const std::size_t e : t.encodings) {
    const Spread s = summarize(values_at(t, e, p));
    if (s.n > 0) best = std::min(best, s.mean);
  }
  return best;
}

Learned learned(const TaskData& t, const CellData& c, double best) {
  if (c.status == "diverged") return Learned::no;
  if (t.corpus) {
    const Number* nats = c.find(whole("nll", main_protocol(t), t.train_length));
    const Number* optimum = c.find(whole("optimum", main_protocol(t), t.train_length));
    if (nats == nullptr) return Learned::unknown;
    const double least = optimum != nullptr ? optimum->value : best;
    return nats->value <= 1.05 * least ? Learned::yes : Learned::no;
  }
  Learned out = Learned::unknown;
  for (const Setting& s : t.settings) {
    if (!s.trained || s.length != t.train_length) continue;
    const Number* n = c.find(accuracy_place({&s, "", ""}));
    if (n == nullptr) continue;
    if (!(n->value >= 0.95)) return Learned::no;
    out = Learned::yes;
  }
  return out;
}

}  // namespace

Learned learned(const TaskData& t, std::size_t encoding) {
  const double best = t.corpus ? best_nats(t) : 0;
  double good = 0, all = 0;
  for (const std::uint64_t seed : t.seeds) {
    const CellData* c = t.cell(encoding, seed);
    if (c == nullptr || (c->status != "ok" && c->status != "diverged")) continue;
    const Learned l = learned(t, *c, best);
    good += l == Learned::yes ? 1 : 0;
    all += l == Learned::unknown ? 0 : 1;
  }
  return all == 0 ? Learned::unknown : good >= 0.8 * all ? Learned::yes : Learned::no;
}

std::string learned_distance(const TaskData& t, std::size_t encoding) {
  if (t.corpus) {
    const std::string protocol = main_protocol(t);
    const double nats =
        summarize(values_at(t, encoding, whole("nll", protocol, t.train_length))).mean;
    const Spread optimum = summarize(optimum_at(t, whole("", protocol, t.train_length)));
    const double least = optimum.n > 0 ? optimum.mean : best_nats(t);
    if (!std::isfinite(nats)) return "its loss is not finite";
    return fmt::format("{:.1f} % from {}", 100 * (nats / least - 1),
                       optimum.n > 0 ? "the optimum" : "the best");
  }
  double sum = 0, n = 0;
  bool chance = true;
  for (const Setting& s : t.settings) {
    if (!s.trained || s.length != t.train_length) continue;
    const Spread here = summarize(values_at(t, encoding, accuracy_place({&s, "", ""})));
    if (here.n == 0) continue;
    sum += here.mean, ++n;
    chance &= at_chance(t, encoding, {&s, "", ""}) == AtChance::all;
  }
  if (n == 0) return "no accuracy recorded";
  return fmt::format("accuracy {} %{}", percent_text(sum / n), chance ? ", at chance" : "");
}

std::string learned_criterion(const TaskData& t) {
  return t.problem          ? "accuracy of 95 %"
         : t.has("optimum") ? "nats within 5 % of the optimum"
                            : "nats within 5 % of the best mean here";
}

// ------------------------------------------------------------------------------------ grounds

std::string Ground::name() const {
  std::string out = fmt::format("{} ({})", length, task->multiple(length));
  if (!trained && length <= task->train_length) out += ", axis values not trained";
  return bucket.empty() ? out : fmt::format("{}, {} positions", out, bucket);
}

bool Ground::lower_is_better() const {
  return pesuite::metric(metric).better == Metric::Better::lower;
}
double Ground::matters() const {
  return pesuite::metric(metric).matters;
}

std::string Ground::effect(double difference) const {
  if (std::isinf(difference)) return "an infinite amount";
  if (metric == "acc") return fmt::format("{:.1f} points", 100 * std::abs(difference));
  return fmt::format("{:.3f} nats", std::abs(difference));
}

std::string Ground::level(double value) const {
  return metric == "acc" ? percent_text(value) + " %" : format_fixed(value, 3);
}

std::vector<Ground> grounds(const TaskData& t) {
  std::vector<Ground> out;
  if (t.corpus)
    for (const std::string& protocol : t.protocols)
      for (const int length : lengths_of(t, protocol))
        out.push_back({&t, t.has("regret") ? "regret" : "nll", protocol, length, "",
                       length <= t.train_length});
  if (t.problem)
    for (const Setting& s : t.settings) {
      const std::string bucket = s.seen && s.unseen ? "unseen" : "";
      const bool known = std::any_of(out.begin(), out.end(), [&](const Ground& g) {
        return g.length == s.length && g.trained == s.trained && g.metric == "acc";
      });
      if (!known) out.push_back({&t, "acc", "", s.length, bucket, s.trained});
    }
  return out;
}

namespace {

double score(const Ground& g, const CellData& c) {
  if (g.metric != "acc") {
    const Number* n = c.find(whole(g.metric, g.protocol, g.length));
    return n == nullptr ? Number::none : n->value;
  }
  double sum = 0, count = 0;
  for (const Setting& s : g.task->settings) {
    if (s.length != g.length || s.trained != g.trained) continue;
    const Number* n = c.find(accuracy_place({&s, g.bucket, ""}));
    if (n == nullptr) return Number::none;
    sum += n->value, ++count;
  }
  return count == 0 ? Number::none : sum / count;
}

// Standard error of a score over examples, NaN where unknown.
double error_of(const Ground& g, std::size_t encoding, std::uint64_t seed) {
  const CellData* c = g.task->cell(encoding, seed);
  if (c == nullptr) return Number::none;
  if (g.metric != "acc") {
    const Number* n = c->find(whole(g.metric, g.protocol, g.length));
    return n == nullptr ? Number::none : n->standard_error;
  }
  double variance = 0, count = 0;
  for (const Setting& s : g.task->settings) {
    if (s.length != g.length || s.trained != g.trained) continue;
    const Number n = accuracy_of(*c, {&s, g.bucket, ""});
    const double half = (n.high - n.low) / (2 * 1.959964);
    variance += half * half, ++count;
  }
  return count == 0 ? Number::none : std::sqrt(variance) / count;
}

}  // namespace

std::vector<SeedValue> scores(const Ground& g, std::size_t encoding) {
  auto out = values_of(*g.task, encoding, [&](const CellData& c) { return score(g, c); });
  for (SeedValue& v : out) {
    const CellData* c = g.task->cell(encoding, v.seed);
    const bool recorded = c != nullptr && c->find(whole(g.metric, g.protocol, g.length)) != nullptr;
    if (std::isnan(v.value) && recorded) v.lost = "nan";
    if (std::isnan(v.value) && !no_result(v.lost))
      v.value = g.lower_is_better() ? Number::infinite : 0;
  }
  return out;
}

// -------------------------------------------------------------------------------------- duels

namespace {

struct Pairing {
  Differences finite;
  std::vector<double> errors;  // standard errors of the finite ones
  std::vector<double> all;     // with infinities; 0 where both are infinite
  std::size_t infinite = 0;
};

Pairing pair_up(const Ground& g, std::size_t a, std::size_t b) {
  Pairing out;
  const auto first = scores(g, a), second = scores(g, b);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double x = first[i].value, y = second[i].value;
    if (std::isnan(x) || std::isnan(y)) continue;  // no observation to pair
    const bool finite = std::isfinite(x) && std::isfinite(y);
    out.all.push_back(std::isinf(x) && std::isinf(y) ? 0 : x - y);
    if (!finite) {
      ++out.infinite;
      continue;
    }
    out.finite.push_back(x - y);
    const double e = error_of(g, a, first[i].seed), f = error_of(g, b, first[i].seed);
    out.errors.push_back(std::sqrt(e * e + f * f));
  }
  return out;
}

// Differences that are all equal say nothing of their spread; the error of the evaluation does.
double variance_floor(const Pairing& p) {
  double sum = 0, count = 0;
  for (const double e : p.errors)
    if (!std::isnan(e)) sum += e * e, ++count;
  return count == 0 ? 0 : sum / count;
}

void by_signs(Duel& d, const Pairing& p) {
  d.test = "sign test";
  d.difference = median(p.all);
  std::size_t above = 0, below = 0;
  for (const double x : p.all) above += x > 0 ? 1 : 0, below += x < 0 ? 1 : 0;
  d.p = std::min(1.0, 2 * std::min(sign_test(above, below), sign_test(below, above)));
}

void by_bootstrap(Duel& d, const Ground& g, const Pairing& p) {
  d.test = "paired bootstrap";
  const std::uint64_t key = pes::hash64(
      fmt::format("{} {} {} {} {}", g.task->task, g.protocol, g.length, d.first, d.second));
  const Bootstrap b = hierarchical_bootstrap(p.finite, p.errors, key);
  const Interval i = b.interval(0.95);
  const Interval inner = b.interval(0.90);
  d.difference = b.mean, d.low = i.low, d.high = i.high, d.p = b.p_two_sided();
  d.equivalent = -g.matters() < inner.low && inner.high < g.matters() ? 0.05 : 1;
}

void by_t(Duel& d, const Ground& g, const FamilyTest& f) {
  const PairedTest& t = f.test;
  d.test = f.name;
  d.difference = t.mean();
  if (!t.possible()) return;
  const Interval i = t.interval();
  d.low = i.low, d.high = i.high, d.p = t.p_two_sided();
  d.equivalent = t.p_equivalent(g.matters());
}

// Variance that the pairs of a ground share, never 0 where the evaluation itself has an error.
double shared_variance(const std::vector<Pairing>& all) {
  std::vector<Differences> family;
  double floor = 0;
  for (const Pairing& p : all) {
    if (p.infinite == 0) family.push_back(p.finite);
    floor = std::max(floor, variance_floor(p));
  }
  const double shared = prior_variance(family);
  return no_spread(shared) ? floor : shared;
}

Verdict judge(const Duel& d, const Ground& g) {
  if (std::isnan(d.adjusted)) return Verdict::untested;
  if (d.adjusted < significance && std::abs(d.difference) >= g.matters())
    return (d.difference < 0) == g.lower_is_better() ? Verdict::first : Verdict::second;
  return d.equivalent <= significance ? Verdict::equivalent : Verdict::tie;
}

std::vector<Duel> duels_of(const Ground& g, const std::vector<std::size_t>& encodings) {
  std::vector<Duel> duels;
  std::vector<Pairing> pairings;
  for (std::size_t i = 0; i < encodings.size(); ++i)
    for (std::size_t k = i + 1; k < encodings.size(); ++k) {
      Duel d;
      d.first = encodings[i], d.second = encodings[k];
      pairings.push_back(pair_up(g, d.first, d.second));
      d.seeds = pairings.back().all.size(), d.infinite = pairings.back().infinite;
      duels.push_back(d);
    }
  const double shared = shared_variance(pairings);
  std::vector<double> p;
  for (std::size_t i = 0; i < duels.size(); ++i) {
    Duel& d = duels[i];
    const Pairing& pair = pairings[i];
    if (d.seeds >= 2 && d.infinite > 0)
      by_signs(d, pair);
    else if (pair.finite.size() >= bootstrap_seeds)
      by_bootstrap(d, g, pair);
    else if (!pair.finite.empty())
      by_t(d, g, test_in_family(pair.finite, shared));
    p.push_back(d.p);
  }
  const auto adjusted = holm(p);
  const double level = holm_level(p, significance);
  for (std::size_t i = 0; i < duels.size(); ++i) {
    Duel& d = duels[i];
    d.adjusted = adjusted[i];
    d.verdict = judge(d, g);
    if (d.infinite > 0 || pairings[i].finite.size() < 2) continue;
    const PairedTest t = test_in_family(pairings[i].finite, shared).test;
    d.resolvable = std::max(t.resolvable(level), g.matters());
    if (std::abs(d.difference) >= g.matters()) d.needed = t.seeds_needed(0, level);
  }
  return duels;
}

// Whether every interval of every ranked encoding's seeds holds the chance level.
bool all_at_chance(const Ground& g, const std::vector<std::size_t>& encodings) {
  if (g.metric != "acc") return false;
  for (const Setting& s : g.task->settings)
    if (s.length == g.length && s.trained == g.trained)
      for (const std::size_t e : encodings)
        if (at_chance(*g.task, e, {&s, g.bucket, ""}) != AtChance::all) return false;
  return true;
}

}  // namespace

const Duel* Contest::duel(std::size_t a, std::size_t b) const {
  for (const Duel& d : duels)
    if ((d.first == a && d.second == b) || (d.first == b && d.second == a)) return &d;
  return nullptr;
}

Contest hold(const Ground& g) {
  Contest c;
  c.ground = g;
  const TaskData& t = *g.task;
  std::vector<std::pair<double, std::size_t>> means;
  bool known = false;
  for (const std::size_t e : t.encodings) {
    const Spread s = summarize(scores(g, e));
    if (s.n == 0) continue;
    c.encodings.push_back(e);
    const Learned l = learned(t, e);
    known |= l != Learned::unknown;
    if (l == Learned::yes || g.trained)
      means.emplace_back(g.lower_is_better() ? s.mean : -s.mean, e);
  }
  std::stable_sort(means.begin(), means.end());
  for (const auto& [mean, e] : means) c.ranked.push_back(e);
  if (c.ranked.size() < 2)
    c.unranked_because = c.encodings.size() < 2 ? "there is nothing to compare"
                         : !known               ? "nothing was evaluated at the training length"
                         : c.ranked.empty()
                             ? "no encoding learned the task where it was trained"
                             : "only one encoding learned the task where it was trained";
  else if (all_at_chance(g, c.ranked))
    c.unranked_because = "every interval holds the chance level";
  if (!c.unranked_because.empty()) {
    c.ranked.clear();
    return c;
  }
  c.duels = duels_of(g, c.ranked);
  if (std::all_of(c.duels.begin(), c.duels.end(),
                  [](const Duel& d) { return d.verdict == Verdict::untested; }))
    c.unranked_because =
        g.task->seeds.size() < 2 ? "one seed is no test" : "the seeds do not differ or are too few";
  for (const std::size_t e : c.ranked) {
    double rank = 1;
    for (const Duel& d : c.duels) {
      if (d.first != e && d.second != e) continue;
      const bool lost = d.verdict == (d.first == e ? Verdict::second : Verdict::first);
      const bool won = d.verdict == (d.first == e ? Verdict::first : Verdict::second);
      rank += lost ? 1 : won ? 0 : 0.5;
    }
    c.ranks.push_back(rank);
  }
  return c;
}

std::vector<Contest> contests(const TaskData& t) {
  std::vector<Contest> out;
  for (const Ground& g : grounds(t)) out.push_back(hold(g));
  return out;
}

std::string main_protocol(const TaskData& t) {
  for (const std::string& p : t.protocols)
    if (same_targets(p)) return p;
  return t.protocols.empty() ? "" : t.protocols[0];
}

}  // namespace pesuite
