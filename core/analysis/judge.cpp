// Hypotheses against records: each side of a comparison is computed seed by seed, and the paired
// differences are tested as docs/statistics.md says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/contest.h"
#include "analysis/judge.h"
#include "analysis/length_metrics.h"
#include "analysis/paired.h"
#include "analysis/places.h"
#include "analysis/statistics.h"
#include "base/error.h"
#include "base/text.h"
#include "model/metrics.h"

namespace pesuite {

std::string_view judgement_name(Judgement j) {
  switch (j) {
    case Judgement::holds: return "reproduced at this size";
    case Judgement::refuted: return "not reproduced at this size";
    case Judgement::inapplicable: return "not applicable";
    case Judgement::untested: return "not tested";
    case Judgement::undecided: break;
  }
  return "undecided";
}

namespace {

bool higher_is_better(const std::string& name) {
  return metric(name).better == Metric::Better::higher;
}

// ----------------------------------------------------------------- a quantity of each seed

bool speaks_of(const Quantity& q, const TaskData& t) {
  return (q.task.empty() || glob_match(q.task, t.task)) &&
         (q.model.empty() || glob_match(q.model, t.model)) &&
         (q.train_length == 0 || q.train_length == t.train_length);
}

int length_of(const Quantity& q, const TaskData& t) {
  return static_cast<int>(std::lround(q.multiple ? q.length * t.train_length : q.length));
}

// Encodings under other names, for the pairs that a comparison's pair belongs to.
using Renaming = std::map<std::string, std::string>;

class Evaluator {
 public:
  Evaluator(const RunData& run, const Renaming& names, std::set<std::string>* missing)
      : run_(run), names_(names), missing_(missing) {}

  double value(const Term& t, std::uint64_t seed) const {
    const auto part = [&](std::size_t i) { return value(t.parts[i], seed); };
    switch (t.kind) {
      case Term::Kind::number: return t.value;
      case Term::Kind::quantity: return quantity(t, seed);
      case Term::Kind::negate: return -part(0);
      case Term::Kind::add: return part(0) + part(1);
      case Term::Kind::subtract: return part(0) - part(1);
      case Term::Kind::multiply: return part(0) * part(1);
      case Term::Kind::divide: return part(0) / part(1);
      case Term::Kind::magnitude: return std::abs(part(0));
      case Term::Kind::logarithm: return std::log(part(0));
      case Term::Kind::exponential: return std::exp(part(0));
      case Term::Kind::minimum:
      case Term::Kind::maximum:
      case Term::Kind::mean: return several(t, seed);
    }
    return Number::none;
  }

 private:
  double several(const Term& t, std::uint64_t seed) const {
    double sum = 0, low = Number::infinite, high = -Number::infinite;
    for (const Term& p : t.parts) {
      const double x = value(p, seed);
      if (std::isnan(x)) return x;
      sum += x, low = std::min(low, x), high = std::max(high, x);
    }
    if (t.kind == Term::Kind::mean) return sum / static_cast<double>(t.parts.size());
    return t.kind == Term::Kind::minimum ? low : high;
  }

  // Mean over the tasks that it speaks of; not a number where one of them lacks it.
  double quantity(const Term& t, std::uint64_t seed) const {
    const Quantity& q = t.quantity;
    double sum = 0, n = 0;
    for (const TaskData& task : run_.tasks) {
      if (!speaks_of(q, task)) continue;
      sum += at_task(t, task, seed);
      ++n;
    }
    if (n == 0) note(fmt::format("no task has {}", t.text));
    return n == 0 ? Number::none : sum / n;
  }

  double at_task(const Term& t, const TaskData& task, std::uint64_t seed) const {
    const Quantity& q = t.quantity;
    const auto renamed = names_.find(q.encoding);
    const std::string& id = renamed == names_.end() ? q.encoding : renamed->second;
    const auto e = std::find(run_.encodings.begin(), run_.encodings.end(), id);
    const CellData* c = e == run_.encodings.end()
                            ? nullptr
                            : task.cell(static_cast<std::size_t>(e - run_.encodings.begin()), seed);
    if (c == nullptr || (c->status != "ok" && c->status != "diverged")) {
      note(fmt::format("{} on {}, seed {}: {}", id, task.task, seed,
                       c == nullptr ? "no record" : c->status));
      return Number::none;
    }
    const double x = of_cell(q, task, *c);
    if (!std::isnan(x)) return x;
    if (c->status == "diverged" || undefined(q, task, *c))  // worse than any other
      return !higher_is_better(q.metric) ? Number::infinite
             : q.metric == "context_use" ? -Number::infinite
                                         : 0;
    note(fmt::format("{} was not recorded on {}, seed {}", t.text, task.task, seed));
    return x;
  }

  std::string protocol_of(const Quantity& q, const TaskData& t) const {
    return q.protocol.empty() ? main_protocol(t) : q.protocol;
  }

  // Recorded, and not a number: a result, not a gap.
  bool undefined(const Quantity& q, const TaskData& t, const CellData& c) const {
    const Number* n = c.find(whole("nll", protocol_of(q, t), length_of(q, t)));
    return t.corpus && n != nullptr && std::isnan(n->value);
  }

  double of_cell(const Quantity& q, const TaskData& t, const CellData& c) const {
    const int length = length_of(q, t);
    const std::string protocol = protocol_of(q, t);
    if (q.metric == "context_use") return context_use(t, c, protocol, length);
    if (q.metric == "untrained") return at(c, whole("untrained", "", length));
    if (t.corpus) {
      Place p = whole(q.metric == "ppl" ? "nll" : q.metric, protocol, length);
      p.bucket = q.bucket == "all" ? "" : q.bucket;
      return q.metric == "ppl" ? std::exp(at(c, p)) : at(c, p);
    }
    return of_problem(q, t, c, length);
  }

  static double at(const CellData& c, const Place& p) {
    const Number* n = c.find(p);
    return n == nullptr ? Number::none : n->value;
  }

  double of_problem(const Quantity& q, const TaskData& t, const CellData& c, int length) const {
    double sum = 0, n = 0;
    for (const Setting& s : t.settings) {
      if (s.length != length || !on_axes(q, t, s)) continue;
      std::string bucket = q.bucket.empty() && s.seen && s.unseen ? "unseen" : q.bucket;
      const bool parts = s.seen && s.unseen;
      if ((!parts && bucket != "recall") || bucket == "all") bucket.clear();  // one part is all
      if ((q.bucket == "seen" && !s.seen) || (q.bucket == "unseen" && !s.unseen)) continue;
      Place p = accuracy_place({&s, bucket, ""});
      if (q.metric == "score") p = score_place(t, {&s, bucket, ""});
      if (q.metric != "acc" && q.metric != "score") p.bucket.clear(), p.metric = q.metric;
      if (q.metric == "ppl") p.metric = "nll";
      double x = at(c, p);
      if (q.metric == "score") x = above_chance(x, chance_to_beat(t, p));
      sum += x, ++n;
    }
    const double mean = n == 0 ? Number::none : sum / n;
    return q.metric == "ppl" ? std::exp(mean) : mean;
  }

  static bool on_axes(const Quantity& q, const TaskData& t, const Setting& s) {
    return std::all_of(q.axes.begin(), q.axes.end(), [&](const auto& wanted) {
      return std::any_of(s.axes.begin(), s.axes.end(), [&](const auto& axis) {
        return axis.first == wanted.first && (t.label(axis.first, axis.second) == wanted.second ||
                                              format_number(axis.second) == wanted.second);
      });
    });
  }

  void note(const std::string& what) const {
    if (missing_ != nullptr) missing_->insert(what);
  }

  const RunData& run_;
  const Renaming& names_;
  std::set<std::string>* missing_;
};

// ----------------------------------------------------------------------- one comparison

std::set<std::string> encodings_in(const Term& t) {
  std::set<std::string> out;
  if (t.kind == Term::Kind::quantity) out.insert(t.quantity.encoding);
  for (const Term& p : t.parts) out.merge(encodings_in(p));
  return out;
}

// What a comparison speaks of.
struct Subject {
  std::set<std::string> encodings, metrics;
  bool plain = true;  // no arithmetic: two values of one kind are compared

  explicit Subject(const Comparison& c) { collect(c.left), collect(c.right); }

 private:
  void collect(const Term& t) {
    for (const Term& p : t.parts) collect(p);
    if (t.kind == Term::Kind::quantity)
      encodings.insert(t.quantity.encoding), metrics.insert(t.quantity.metric);
    else if (t.kind != Term::Kind::mean && t.kind != Term::Kind::minimum &&
             t.kind != Term::Kind::maximum)
      plain = false;
  }
};

// The effect that matters between two plain values; where numbers stand in the text, they say it.
double margin_of(const Subject& s) {
  if (!s.plain || s.metrics.size() != 1) return 0;
  return metric(*s.metrics.begin()).matters;
}

bool bounded(const Subject& s) {
  return std::all_of(s.metrics.begin(), s.metrics.end(),
                     [](const std::string& m) { return metric(m).bounded; });
}

struct Sides {
  std::vector<std::uint64_t> seeds;
  std::vector<double> left, right, difference;  // inf - inf counts as 0
};

using SeedValues = std::vector<double>;  // one a seed of the run; not a number where there is none

SeedValues side_of(const RunData& run, const Term& side, const Renaming& names,
                   std::set<std::string>* missing) {
  const Evaluator evaluate(run, names, missing);
  SeedValues out;
  for (const std::uint64_t seed : run.seeds) out.push_back(evaluate.value(side, seed));
  return out;
}

Sides sides_of(const RunData& run, const SeedValues& left, const SeedValues& right) {
  Sides out;
  std::size_t i = 0;
  for (const std::uint64_t seed : run.seeds) {
    const double l = left[i], r = right[i++];
    if (std::isnan(l) || std::isnan(r)) continue;
    out.seeds.push_back(seed), out.left.push_back(l), out.right.push_back(r);
    const double d = l - r;
    out.difference.push_back(std::isnan(d) ? 0 : d);
  }
  return out;
}

// The same comparison between all other encodings of the run, of which `known` become so.
std::vector<Differences> company(const RunData& run, const Comparison& c, const Subject& subject,
                                 double least, std::set<std::string>& known) {
  const std::vector<std::string> own(subject.encodings.begin(), subject.encodings.end());
  constexpr std::size_t most = 2;  // encodings in one comparison; more have too many companions
  std::vector<Differences> others;
  if (own.empty() || own.size() > most) return others;
  known = subject.encodings;
  // Many pairs share a side: by the encodings that stand in it.
  std::map<std::pair<const Term*, std::string>, SeedValues> seen;
  const auto side = [&](const Term& t, const Renaming& names) -> const SeedValues& {
    std::string in;
    for (const std::string& e : encodings_in(t)) in += names.at(e) + "\n";
    const auto [at, is_new] = seen.try_emplace({&t, in});
    if (is_new) at->second = side_of(run, t, names, nullptr);
    return at->second;
  };
  const auto add = [&](const Renaming& names) {
    const Sides s = sides_of(run, side(c.left, names), side(c.right, names));
    if (s.seeds.size() < 2) return;
    others.push_back(made_finite(s.difference, least));
    for (const auto& [from, to] : names) known.insert(to);
  };
  const auto& all = run.encodings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (own.size() == 1 && all[i] != own[0]) add({{own[0], all[i]}});
    for (std::size_t k = i + 1; k < all.size() && own.size() == 2; ++k)
      if (std::set<std::string>{all[i], all[k]} != subject.encodings)
        add({{own[0], all[i]}, {own[1], all[k]}});
  }
  return others;
}

// The test of one comparison against a bound, on which that of one encoding's accuracy hangs. An
// encoding that is compared with itself or with a number shares no variance, as in the answer.
using TestAt = std::function<PairedTest(double bound)>;

TestAt test_of(const RunData& run, const Comparison& c, const Evidence& e,
               const Differences& finite, double least) {
  const Subject subject(c);
  const bool alone = subject.encodings.size() == 1;
  std::set<std::string> known;
  std::vector<Differences> others;
  if (!alone || bounded(subject)) others = company(run, c, subject, least, known);
  if (!alone || !bounded(subject)) {
    const PairedTest one(finite, company_of(others, known.size()));
    return [one](double) { return one; };
  }
  const bool left = !encodings_in(c.left).empty();
  const double value = left ? e.left_mean : e.right_mean, by = PairedTest(finite).mean();
  return [=](double bound) {
    return test_alone(finite, others, value, left ? value - by + bound : value + by - bound);
  };
}

// One-sided p-values of "the difference lies above" and "below" a bound.
struct Tails {
  std::function<double(double)> above, below;
};

Tails by_signs(const std::vector<double>& d) {
  const auto count = [d](auto better, double bound) {
    std::size_t wins = 0, losses = 0;
    for (const double x : d) wins += better(x, bound) ? 1 : 0, losses += better(bound, x) ? 1 : 0;
    return sign_test(wins, losses);
  };
  return {[count](double m) { return count(std::greater<>(), m); },
          [count](double m) { return count(std::less<>(), m); }};
}

// p-values that a relation holds, and that it does not, for d = left - right and margin m.
// "a < b" claims a difference that matters: it holds where d < 0 is shown and the mean reaches the
// margin, and is refuted where d > -m is shown. "a <= b" is the negation of "b < a".
struct Claim {
  double p_holds = 1, p_refuted = 1;
  bool satisfied = false;
  double holds_against = 0, refuted_against = 0;  // the bounds that are tested
  bool holds_below = true, refuted_below = true;  // whether d is claimed to lie below them
};

Claim claim(Comparison::Relation r, double mean, double m, const Tails& t) {
  switch (r) {
    case Comparison::Relation::less:
      return {t.below(0), t.above(-m), mean < 0 && mean <= -m, 0, -m, true, false};
    case Comparison::Relation::greater:
      return {t.above(0), t.below(m), mean > 0 && mean >= m, 0, m, false, true};
    case Comparison::Relation::less_equal: {
      const bool violated = mean > 0 && mean >= m;
      return {t.below(m), t.above(0), !violated, m, 0, true, false};
    }
    case Comparison::Relation::greater_equal: {
      const bool violated = mean < 0 && mean <= -m;
      return {t.above(-m), t.below(0), !violated, -m, 0, false, true};
    }
    case Comparison::Relation::equal: {
      const bool above = mean > 0;
      return {std::max(t.above(-m), t.below(m)),
              std::min(1.0, 2 * std::min(t.above(0), t.below(0))),
              std::abs(mean) < m || (m == 0 && mean == 0),
              above ? m : -m,
              0,
              above,
              !above};
    }
  }
  return {};
}

Evidence examine(const RunData& run, const Hypothesis& h, const Comparison& c) {
  const Subject subject(c);
  Evidence e;
  e.text = c.text();
  e.margin = std::isnan(h.margin) ? margin_of(subject) : h.margin;
  std::set<std::string> missing;
  const Sides s =
      sides_of(run, side_of(run, c.left, {}, &missing), side_of(run, c.right, {}, &missing));
  e.missing.assign(missing.begin(), missing.end());
  e.seeds = s.seeds, e.left = s.left, e.right = s.right;
  if (s.seeds.empty()) return e;
  const auto mean = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double v : x) sum += v;
    return sum / static_cast<double>(x.size());
  };
  e.left_mean = mean(s.left), e.right_mean = mean(s.right);
  const double least = e.margin > 0 ? e.margin : 0.02;  // an infinite difference is never less
  const Differences finite = made_finite(s.difference, least);
  const TestAt test = test_of(run, c, e, finite, least);
  const PairedTest t = test(0);
  std::size_t infinite = 0;
  for (const double d : s.difference) infinite += std::isinf(d) ? 1 : 0;
  e.difference = infinite == 0 ? mean(finite) : median(s.difference);
  Tails tails;
  if (infinite > 0 && s.seeds.size() < infinite + fewest_seeds) {
    e.test = "sign test";
    tails = by_signs(s.difference);
  } else if (!t.possible()) {
    e.test = std::string("none, ") + (t.seeds() == 0 ? "too few seeds" : t.why_not());
    e.satisfied = claim(c.relation, e.difference, e.margin, by_signs(s.difference)).satisfied;
    return e;
  } else {
    e.test = t.name();
    tails = {[test](double m) { return test(m).p_above(m); },
             [test](double m) { return test(m).p_below(m); }};
  }
  const Claim r = claim(c.relation, e.difference, e.margin, tails);
  e.p_holds = r.p_holds, e.p_refuted = r.p_refuted, e.satisfied = r.satisfied;
  if (infinite > 0) return e;  // a size that is not known has no interval
  e.low = t.interval().low, e.high = t.interval().high;
  e.against = r.satisfied ? r.holds_against : r.refuted_against;
  e.from_above = r.satisfied ? r.holds_below : r.refuted_below;
  const PairedTest tested = test(e.against);
  e.alpha = h.alpha;
  const Interval bounds = tested.interval(1 - 2 * h.alpha);
  e.bound = e.from_above ? bounds.high : bounds.low;
  e.needed = tested.seeds_needed(e.against, 2 * h.alpha);
  return e;
}

void collect(const Term& t, std::vector<Quantity>& out) {
  if (t.kind == Term::Kind::quantity) out.push_back(t.quantity);
  for (const Term& p : t.parts) collect(p, out);
}

// Encodings that did not learn a task that the hypothesis speaks of beyond its training length, a
// sentence each task: what they do there says nothing about their encoding. `by_swap` becomes false
// where one lost it by its training, not by what is swapped in for evaluation.
std::vector<std::string> unlearned(const RunData& run, const Hypothesis& h, bool& by_swap) {
  std::vector<Quantity> all;
  for (const Comparison& c : h.comparisons) collect(c.left, all), collect(c.right, all);
  std::vector<std::string> out;
  for (const TaskData& t : run.tasks) {
    std::set<std::string> who, swapped;
    for (const Quantity& q : all) {
      if (!speaks_of(q, t) || length_of(q, t) <= t.train_length) continue;
      for (const std::size_t e : t.encodings)
        if (run.encodings[e] == q.encoding && learned(t, e) == Learned::no)
          (lost_by_swap(t, e) ? swapped : who)
              .insert(fmt::format("'{}' ({})", q.encoding, learned_distance(t, e)));
    }
    by_swap = by_swap && who.empty();
    const auto add = [&](const std::set<std::string>& names, const char* says) {
      if (!names.empty())
        out.push_back(fmt::format("{} {} {} where it was trained (wanted: {})",
                                  join_and({names.begin(), names.end()}), says, t.task,
                                  learned_criterion(t)));
    };
    add(who, "did not learn"), add(swapped, "lost");
  }
  return out;
}

// Whether what its means say could not be tested.
bool untested(const Judged& j, bool satisfied) {
  const auto none = [](const Evidence& e) {
    return !e.seeds.empty() && e.test.starts_with("none");
  };
  const auto& all = j.evidence;
  if (satisfied) return std::any_of(all.begin(), all.end(), none);
  return std::any_of(all.begin(), all.end(), none) &&
         std::all_of(all.begin(), all.end(),
                     [&](const Evidence& e) { return e.satisfied || none(e); });
}

}  // namespace

std::vector<Judged> judge(const RunData& run, const std::vector<Hypothesis>& all) {
  std::vector<Judged> out;
  // One claim a hypothesis, that which its means make: of "holds" and "refuted" at most one can be
  // false, so both share one level.
  std::vector<double> p;
  std::vector<bool> satisfied;
  for (const Hypothesis& h : all) {
    Judged j;
    j.hypothesis = h;
    j.notes = unlearned(run, h, j.by_swap);
    double largest = 0, smallest = 1;  // all must hold; one that fails refutes
    bool every = true;
    for (const Comparison& c : h.comparisons) {
      j.evidence.push_back(examine(run, h, c));
      const Evidence& e = j.evidence.back();
      every &= e.satisfied;
      largest = std::max(largest, e.p_holds);
      if (!e.satisfied) smallest = std::min(smallest, e.p_refuted);
    }
    const double violated = std::min(1.0, smallest * static_cast<double>(h.comparisons.size()));
    if (!j.notes.empty())
      j.judgement = Judgement::inapplicable;
    else if (untested(j, every))
      j.judgement = Judgement::untested;
    const bool asked = j.judgement == Judgement::undecided;
    p.push_back(!asked ? Number::none : every ? largest : violated);
    satisfied.push_back(every);
    out.push_back(std::move(j));
  }
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Judged& j = out[i];
    j.alone = p[i];
    if (std::isnan(adjusted[i])) continue;
    (satisfied[i] ? j.p_holds : j.p_refuted) = adjusted[i];
    if (adjusted[i] < j.hypothesis.alpha)
      j.judgement = satisfied[i] ? Judgement::holds : Judgement::refuted;
  }
  return out;
}

SuiteNames names_of(const RunData& run) {
  SuiteNames out;
  out.encodings = run.encodings;
  const auto add = [](std::vector<std::string>& all, const std::string& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const TaskData& t : run.tasks) add(out.tasks, t.task), add(out.models, t.model);
  return out;
}

std::vector<Hypothesis> hypotheses_of(RunData& run) {
  std::vector<Hypothesis> out;
  if (!run.hypotheses.is_array()) return out;
  Problems problems;
  const Config config;  // origins were said when the suite was read
  const Json root = {{"hypothesis", run.hypotheses}};
  Reader reader(config, root, "", problems);
  out = read_hypotheses(reader, nullptr);
  for (const std::string& p : problems.list()) run.notes.push_back(p);
  return out;
}

}  // namespace pesuite
