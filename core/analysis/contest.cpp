#include "analysis/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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
    const Number* n = c.find(score_place(t, {&s, "", ""}));
    if (n == nullptr) continue;
    if (!(n->value >= 0.95)) return Learned::no;
    out = Learned::yes;
  }
  return out;
}

struct SeedsThatLearned {
  int good = 0, all = 0;
};
SeedsThatLearned seeds_that_learned(const TaskData& t, std::size_t encoding) {
  const double best = t.corpus ? best_nats(t) : 0;
  SeedsThatLearned out;
  for (const std::uint64_t seed : t.seeds) {
    const CellData* c = t.cell(encoding, seed);
    if (c == nullptr || (c->status != "ok" && c->status != "diverged")) continue;
    const Learned l = learned(t, *c, best);
    out.good += l == Learned::yes ? 1 : 0;
    out.all += l == Learned::unknown ? 0 : 1;
  }
  return out;
}

}  // namespace

Learned learned(const TaskData& t, std::size_t encoding) {
  const auto [good, all] = seeds_that_learned(t, encoding);
  return all == 0 ? Learned::unknown : good >= 0.8 * all ? Learned::yes : Learned::no;
}

static std::string mean_distance(const TaskData& t, std::size_t encoding) {
  if (t.corpus) {
    const std::string protocol = main_protocol(t);
    const double nats =
        summarize(values_at(t, encoding, whole("nll", protocol, t.train_length))).mean;
    const Spread optimum = summarize(optimum_at(t, whole("", protocol, t.train_length)));
    const double least = optimum.n > 0 ? optimum.mean : best_nats(t);
    if (!std::isfinite(nats)) return "its loss is not finite";
    const double blind =
        summarize(values_at(t, encoding, whole("unigram", protocol, t.train_length))).mean;
    constexpr double little = 0.1;  // of what context tells
    return fmt::format(
        "{:.1f} % from {}{}", 100 * (nats / least - 1), optimum.n > 0 ? "the optimum" : "the best",
        blind - nats < little * (blind - least) ? ", hardly better than without context" : "");
  }
  double sum = 0, n = 0;
  bool chance = true;
  for (const Setting& s : t.settings) {
    if (!s.trained || s.length != t.train_length) continue;
    const Spread here = summarize(values_at(t, encoding, score_place(t, {&s, "", ""})));
    if (here.n == 0) continue;
    sum += here.mean, ++n;
    chance &= at_chance(t, encoding, score_place(t, {&s, "", ""})) == AtChance::all;
  }
  if (n == 0) return fmt::format("no {} recorded", score_name(t));
  return fmt::format("{} {} %{}", score_name(t), percent_text(sum / n),
                     chance ? ", at chance" : "");
}

bool swapped_in(const TaskData& t, std::size_t encoding) {
  const auto found = t.encoded.find(encoding);
  return found != t.encoded.end() && found->second.find(" => ") != std::string::npos;
}

bool lost_by_swap(const TaskData& t, std::size_t encoding) {
  if (!swapped_in(t, encoding)) return false;
  const std::string& text = t.encoded.at(encoding);
  const std::string trained = text.substr(0, text.find(" => "));
  for (const auto& [other, expression] : t.encoded)
    if (expression == trained) return learned(t, other) != Learned::no;
  return true;
}

std::string learned_distance(const TaskData& t, std::size_t encoding) {
  const auto [good, all] = seeds_that_learned(t, encoding);
  std::string mean = mean_distance(t, encoding);
  if (swapped_in(t, encoding)) mean += " with what is swapped in";
  if (good == 0 || good >= 0.8 * all) return mean;
  return fmt::format("{}, learned in {} of {} seeds", mean, good, all);
}

std::string learned_criterion(const TaskData& t) {
  const std::string of_one = t.problem          ? fmt::format("{} of 95 %", score_name(t))
                             : t.has("optimum") ? "nats within 5 % of the optimum"
                                                : "nats within 5 % of the best mean here";
  return fmt::format("{} in 80 % of the seeds", of_one);
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
bool Ground::share() const {
  return pesuite::metric(metric).written == Metric::Written::share;
}
double Ground::matters() const {
  return pesuite::metric(metric).matters;
}

std::string Ground::effect(double difference) const {
  if (std::isinf(difference)) return "an infinite amount";
  if (share()) return fmt::format("{:.1f} points", 100 * std::abs(difference));
  return fmt::format("{:.3f} nats", std::abs(difference));
}

std::string Ground::level(double value) const {
  return share() ? percent_text(value) + " %" : format_fixed(value, 3);
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
      const std::string bucket = s.seen && s.unseen && t.score == "acc" ? "unseen" : "";
      const bool known = std::any_of(out.begin(), out.end(), [&](const Ground& g) {
        return g.length == s.length && g.trained == s.trained && g.share();
      });
      if (!known) out.push_back({&t, t.score, "", s.length, bucket, s.trained});
    }
  return out;
}

namespace {

double score(const Ground& g, const CellData& c) {
  if (!g.share()) {
    const Number* n = c.find(whole(g.metric, g.protocol, g.length));
    return n == nullptr ? Number::none : n->value;
  }
  double sum = 0, count = 0;
  for (const Setting& s : g.task->settings) {
    if (s.length != g.length || s.trained != g.trained) continue;
    const Number* n = c.find(score_place(*g.task, {&s, g.bucket, ""}));
    if (n == nullptr) return Number::none;
    sum += n->value, ++count;
  }
  return count == 0 ? Number::none : sum / count;
}

// Standard error of a score over examples, NaN where unknown.
double error_of(const Ground& g, std::size_t encoding, std::uint64_t seed) {
  const CellData* c = g.task->cell(encoding, seed);
  if (c == nullptr) return Number::none;
  if (!g.share()) {
    const Number* n = c->find(whole(g.metric, g.protocol, g.length));
    return n == nullptr ? Number::none : n->standard_error;
  }
  double variance = 0, count = 0;
  for (const Setting& s : g.task->settings) {
    if (s.length != g.length || s.trained != g.trained) continue;
    const Number n = share_at(*c, score_place(*g.task, {&s, g.bucket, ""}));
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

struct Scored {  // one encoding on a ground
  std::vector<SeedValue> values;
  std::vector<double> errors;  // of the evaluation, of each value
};

struct Pairing {
  std::vector<double> raw;  // may be infinite; 0 where both are
  Differences finite;
  double evaluation = 0;  // variance that the evaluation alone gives a difference
};

// Accuracies of few examples may agree by luck. Nats are scored on the same tokens for both, so
// their own errors say too much.
double evaluation_variance(const Ground& g, const std::vector<double>& squares) {
  if (!g.share() || squares.empty()) return 0;
  double sum = 0;
  for (const double x : squares) sum += std::isnan(x) ? 0 : x;
  return sum / static_cast<double>(squares.size());
}

Pairing pair_up(const Ground& g, const Scored& a, const Scored& b, Duel& d) {
  Pairing out;
  std::vector<double> squares;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i].value, y = b.values[i].value;
    if (std::isnan(x) || std::isnan(y)) continue;  // no observation to pair
    d.infinite += std::isfinite(x) && std::isfinite(y) ? 0 : 1;
    d.lost += (std::isinf(x) ? 1 : 0) - (std::isinf(y) ? 1 : 0);
    out.raw.push_back(std::isinf(x) && std::isinf(y) ? 0 : x - y);
    squares.push_back(a.errors[i] * a.errors[i] + b.errors[i] * b.errors[i]);
  }
  d.seeds = out.raw.size();
  out.finite = made_finite(out.raw, g.matters());
  out.evaluation = evaluation_variance(g, squares);
  return out;
}

void by_signs(Duel& d, const Pairing& p) {
  d.test = "sign test";
  std::size_t above = 0, below = 0;
  for (const double x : p.raw) above += x > 0 ? 1 : 0, below += x < 0 ? 1 : 0;
  d.p = std::min(1.0, 2 * std::min(sign_test(above, below), sign_test(below, above)));
}

void by_t(Duel& d, const Ground& g, const PairedTest& t) {
  if (!t.possible()) return;
  d.test = t.name();
  d.p = t.p_two_sided();
  if (d.infinite > 0) return;  // its size is not known
  const Interval i = t.interval();
  d.low = i.low, d.high = i.high;
  d.equivalent = t.p_equivalent(g.matters());
}

// All pairs of a ground, with what the correction over the task still needs.
struct Contenders {
  std::vector<Duel> duels;
  std::vector<PairedTest> tests;
};

Contenders field_of(const Ground& g, const std::vector<std::size_t>& encodings) {
  std::vector<Scored> scored;
  for (const std::size_t e : encodings) {
    scored.push_back({scores(g, e), {}});
    for (const SeedValue& v : scored.back().values)
      scored.back().errors.push_back(error_of(g, e, v.seed));
  }
  Contenders out;
  std::vector<Pairing> pairings;
  std::vector<Differences> contrasts;
  std::vector<double> evaluation;
  for (std::size_t i = 0; i < encodings.size(); ++i)
    for (std::size_t k = i + 1; k < encodings.size(); ++k) {
      Duel d;
      d.first = encodings[i], d.second = encodings[k];
      pairings.push_back(pair_up(g, scored[i], scored[k], d));
      contrasts.push_back(pairings.back().finite);
      evaluation.push_back(pairings.back().evaluation);
      out.duels.push_back(d);
    }
  out.tests = tests_of(contrasts, encodings.size(), evaluation);
  for (std::size_t i = 0; i < out.duels.size(); ++i) {
    Duel& d = out.duels[i];
    d.difference = d.lost == 0 ? out.tests[i].mean() : d.lost * Number::infinite;
    if (d.infinite > 0 && d.seeds < d.infinite + fewest_seeds)
      by_signs(d, pairings[i]);
    else
      by_t(d, g, out.tests[i]);
  }
  return out;
}

Verdict judge(const Duel& d, const PairedTest& t, const Ground& g) {
  if (std::isnan(d.adjusted)) return Verdict::untested;
  const int sign = g.lower_is_better() ? 1 : -1;
  const bool first = t.mean() * sign < 0;  // is better
  const bool lost_more = first ? d.lost > 0 : d.lost < 0;
  if (d.adjusted < significance && std::abs(t.mean()) >= g.matters() && !lost_more)
    return first ? Verdict::first : Verdict::second;
  return d.equivalent <= significance && d.infinite == 0 ? Verdict::equivalent : Verdict::tie;
}

// Whether every interval of every ranked encoding's seeds holds the chance level.
bool all_at_chance(const Ground& g, const std::vector<std::size_t>& encodings) {
  if (!g.share()) return false;
  for (const Setting& s : g.task->settings)
    if (s.length == g.length && s.trained == g.trained)
      for (const std::size_t e : encodings)
        if (at_chance(*g.task, e, score_place(*g.task, {&s, g.bucket, ""})) != AtChance::all)
          return false;
  return true;
}

}  // namespace

const Duel* Contest::duel(std::size_t a, std::size_t b) const {
  for (const Duel& d : duels)
    if ((d.first == a && d.second == b) || (d.first == b && d.second == a)) return &d;
  return nullptr;
}

namespace {

// Who meets on a ground, and why nobody does.
Contest set_up(const Ground& g) {
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
  if (!c.unranked_because.empty()) c.ranked.clear();
  return c;
}

double rank_of(const Contest& c, std::size_t e) {
  double rank = 1;
  for (const Duel& d : c.duels) {
    if (d.first != e && d.second != e) continue;
    const int lost = d.first == e ? d.lost : -d.lost;
    const bool beaten = d.verdict == (d.first == e ? Verdict::second : Verdict::first);
    const bool beats = d.verdict == (d.first == e ? Verdict::first : Verdict::second);
    rank += beaten || lost > 0 ? 1 : beats || lost < 0 ? 0 : 0.5;
  }
  return rank;
}

void decide(Contest& c, const Contenders& f, double level) {
  for (std::size_t i = 0; i < c.duels.size(); ++i) {
    Duel& d = c.duels[i];
    const PairedTest& t = f.tests[i];
    d.verdict = judge(d, t, c.ground);
    if (d.infinite > 0 || !t.possible()) continue;
    d.resolvable = std::max(t.resolvable(level), c.ground.matters());
    if (std::abs(d.difference) >= c.ground.matters()) d.needed = t.seeds_needed(0, level);
  }
  if (std::all_of(c.duels.begin(), c.duels.end(),
                  [](const Duel& d) { return d.verdict == Verdict::untested; }))
    c.unranked_because = c.ground.task->seeds.size() < fewest_seeds
                             ? "not tested, too few seeds"
                             : "not tested, the seeds do not differ or are too few";
  for (const std::size_t e : c.ranked) c.ranks.push_back(rank_of(c, e));
}

}  // namespace

std::vector<Contest> contests(const TaskData& t) {
  std::vector<Contest> out;
  std::vector<Contenders> fields;
  struct Family {  // of a protocol
    std::vector<double> p, equivalent;
    std::vector<std::size_t> groups;
  };
  std::map<std::string, Family> families;
  for (const Ground& g : grounds(t)) {
    out.push_back(set_up(g));
    fields.push_back(field_of(g, out.back().ranked));
    Family& f = families[g.protocol];
    bool tested = false;
    for (const Duel& d : fields.back().duels)
      f.p.push_back(d.p), f.equivalent.push_back(d.equivalent), tested |= !std::isnan(d.p);
    if (tested) f.groups.push_back(out.back().ranked.size());
  }
  for (auto& [protocol, f] : families) {
    const Possible possible = possible_equalities(f.groups);
    const double level = holm_level(f.p, significance, possible);
    f.p = holm(f.p, possible), f.equivalent = holm(f.equivalent);
    std::size_t next = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].ground.protocol != protocol) continue;
      for (Duel& d : fields[i].duels) d.equivalent = f.equivalent[next], d.adjusted = f.p[next++];
      out[i].duels = fields[i].duels;
      if (out[i].unranked_because.empty()) decide(out[i], fields[i], level);
    }
  }
  return out;
}

std::string main_protocol(const TaskData& t) {
  for (const std::string& p : t.protocols)
    if (same_targets(p)) return p;
  return t.protocols.empty() ? "" : t.protocols[0];
}

}  // namespace pesuite
