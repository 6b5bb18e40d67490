#include "analysis/changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "base/error.h"
#include "base/text.h"
#include "model/metrics.h"

namespace pesuite {

std::string_view outcome_name(Outcome o) {
  static constexpr std::string_view names[] = {"identical", "improved",     "equivalent",
                                               "regressed", "inconclusive", "new",
                                               "missing",   "broken"};
  return names[static_cast<std::size_t>(o)];
}

std::size_t Changes::count(Outcome o, bool gated_only) const {
  return static_cast<std::size_t>(std::count_if(
      series.begin(), series.end(),
      [&](const SeriesChange& s) { return s.outcome == o && (s.gated || !gated_only); }));
}
bool Changes::identical() const {
  return cells_equal == cells_compared && cells_compared > 0 && cells.empty() &&
         std::all_of(series.begin(), series.end(),
                     [](const SeriesChange& s) { return s.outcome == Outcome::identical; });
}
bool Changes::regressed() const {
  return std::any_of(series.begin(), series.end(),
                     [](const SeriesChange& s) {
                       return s.gated && s.suppressed.empty() &&
                              (s.outcome == Outcome::regressed || s.outcome == Outcome::missing);
                     }) ||
         std::any_of(means.begin(), means.end(), [](const MeanChange& m) { return m.regressed; }) ||
         std::any_of(cells.begin(), cells.end(), [](const CellChange& c) { return c.worse; });
}
bool Changes::conclusive() const {
  return std::none_of(series.begin(), series.end(), [](const SeriesChange& s) {
    return s.gated && s.suppressed.empty() && s.outcome == Outcome::inconclusive;
  });
}

namespace {

constexpr double solved = 0.99;

std::string major_of(const std::string& version) {  // "a 1.2, b 2" -> "a 1, b 2"
  std::string out;
  for (const std::string& part : split(version, ','))
    out += (out.empty() ? "" : ",") + part.substr(0, part.find('.', part.rfind(' ') + 1));
  return out;
}

// Why a series cannot go on; "" where it can.
std::string break_of(const Measurement& a, const Measurement& b, const SeriesName& s) {
  if (a.epoch > 0 && b.epoch > 0 && a.epoch != b.epoch)
    return fmt::format("numerics epoch {}, was {}", b.epoch, a.epoch);
  for (const std::string& part : {"encoding " + s.encoding, "task " + s.task}) {
    const auto before = a.versions.find(part), after = b.versions.find(part);
    if (before == a.versions.end() || after == b.versions.end()) continue;
    if (major_of(before->second) != major_of(after->second))
      return fmt::format("{}: version {}, was {}", part, after->second, before->second);
  }
  return "";
}

const Metric* metric_of(const std::string& name) {
  for (const Metric& m : metrics())
    if (m.name == name) return &m;
  return nullptr;
}

// The rule for a series, and whether its scope holds it.
struct Ruled {
  GateRule rule;
  bool gated = false;
};
Ruled rule_for(const SeriesName& s, const std::vector<GateRule>& rules) {
  Ruled out;
  const Metric* m = metric_of(s.place.metric);
  out.rule.metric = s.place.metric;
  out.rule.lower = m == nullptr || m->better == Metric::Better::lower;
  out.rule.margin = m != nullptr && m->written == Metric::Written::nats ? 0.01 : 0.02;
  for (const GateRule& r : rules) {
    GateRule anywhere = r;
    anywhere.scope = {};
    if (!anywhere.covers(s.coordinates(), s.place.metric, s.place.length, s.train_length)) continue;
    out.rule = r;
    out.gated = r.scope.holds(s.place.length, s.train_length);
    if (out.gated) break;
  }
  return out;
}

// A series in both, on its way to a verdict.
struct Candidate {
  std::size_t at;  // in the changes
  GateRule rule;
  Differences worse;  // positive: for the worse
  Calibrated calibrated;
  double p_examples = 1;  // McNemar; 0: not asked
};

double difference_of(double before, double after) {
  if (before == after) return 0;  // two infinities too
  return after - before;
}

class Comparer {
 public:
  Comparer(const Measurement& a, const Measurement& b, const CompareOptions& o)
      : a_(a), b_(b), options_(o) {}

  Changes compare() {
    out_.before = a_.name, out_.after = b_.name;
    out_.notes = a_.notes;
    out_.notes.insert(out_.notes.end(), b_.notes.begin(), b_.notes.end());
    compare_cells();
    pair_series();
    refuse_strangers();
    if (!options_.by.empty()) group();
    test();
    say_differences();
    return std::move(out_);
  }

 private:
  void compare_cells();
  void pair_series();
  void pair(const MeasuredSeries& before, const MeasuredSeries& after);
  void refuse_strangers() const;
  void group();
  void test();
  void test_means(const std::vector<PairedTest>&, std::vector<double>& p);
  void decide(const Candidate&, const PairedTest&, double p_worse, double p_better, double level);
  void say_differences();

  const Measurement &a_, &b_;
  const CompareOptions& options_;
  Changes out_;
  std::vector<Candidate> candidates_;
  std::size_t other_settings_ = 0;
  bool shared_seed_ = false;
};

void Comparer::compare_cells() {
  std::map<std::tuple<std::string, std::string, std::string, int, std::uint64_t>,
           const MeasuredCell*>
      before;
  for (const MeasuredCell& c : a_.cells) before[c.key()] = &c;
  for (const MeasuredCell& c : b_.cells) {
    const auto it = before.find(c.key());
    if (it == before.end()) continue;
    const MeasuredCell& old = *it->second;
    ++out_.cells_compared;
    out_.cells_equal += old.digest == c.digest && old.status == c.status ? 1 : 0;
    if (old.status != c.status) out_.cells.push_back({old, c, c.status != "ok"});
    before.erase(it);
  }
  // seeds that were not asked for now are no failures
  for (const auto& [key, c] : before)
    if (b_.seeds.contains(c->seed) && c->status != "missing") {
      MeasuredCell gone = *c;
      gone.status = "missing", gone.digest.clear(), gone.reason.clear();
      const bool planned = std::any_of(b_.cells.begin(), b_.cells.end(), [&, c = c](const auto& o) {
        return o.encoding == c->encoding && o.task == c->task && o.model == c->model;
      });
      if (planned && c->status == "ok") out_.cells.push_back({*c, gone, true});
    }
}

void Comparer::pair(const MeasuredSeries& before, const MeasuredSeries& after) {
  SeriesChange s;
  s.name = after.name;
  const Ruled ruled = rule_for(after.name, a_.gates);
  s.gated = ruled.gated || options_.gate_all;
  s.margin = ruled.rule.margin, s.alpha = ruled.rule.alpha;
  if (!s.gated) s.why = "shown, not gated";
  if (options_.baseline != nullptr)
    if (const Suppression* by = suppression_of(*options_.baseline, after.name, today()))
      s.suppressed = fmt::format("until {} by {}: {}", by->until, by->who, by->why);
  if (const std::string why = break_of(a_, b_, after.name); !why.empty()) {
    s.outcome = Outcome::broken, s.why = why;
    out_.series.push_back(std::move(s));
    return;
  }
  if (!before.settings.empty() && !after.settings.empty() && before.settings != after.settings)
    ++other_settings_;
  Candidate c;
  c.at = out_.series.size(), c.rule = ruled.rule;
  bool same = true;
  std::vector<Discordant> examples;
  std::vector<double> worse;
  for (const auto& [seed, now] : after.seeds) {
    const auto old = before.seeds.find(seed);
    if (old == before.seeds.end() || std::isnan(old->second.value) || std::isnan(now.value))
      continue;
    const double x = old->second.value, y = now.value;
    s.seeds.push_back(seed), s.before.push_back(x), s.after.push_back(y);
    same &= x == y && old->second.right == now.right;
    worse.push_back((c.rule.lower ? 1 : -1) * difference_of(x, y));
    if (!now.right.empty() && now.right.size() == old->second.right.size())
      examples.push_back(discordant(old->second.right, now.right));
    s.solved_before += x >= solved ? 1 : 0, s.solved_after += y >= solved ? 1 : 0;
  }
  shared_seed_ |= !s.seeds.empty();
  for (const Discordant& d : examples) s.examples.lost += d.lost, s.examples.won += d.won;
  if (c.rule.one_by_one && !examples.empty() && examples.size() == s.seeds.size())
    c.p_examples = p_lost(examples);
  else
    c.p_examples = 0;
  c.worse = made_finite(worse, std::max(s.margin, 1e-6));
  if (const auto it = a_.calibration.find(after.name); it != a_.calibration.end())
    c.calibrated = it->second;
  if (!s.seeds.empty() && same) s.outcome = Outcome::identical;
  out_.series.push_back(std::move(s));
  candidates_.push_back(std::move(c));
}

void Comparer::pair_series() {
  std::map<SeriesName, const MeasuredSeries*> before;
  for (const MeasuredSeries& s : a_.series) before[s.name] = &s;
  std::vector<SeriesChange> added;
  for (const MeasuredSeries& s : b_.series) {
    const auto it = before.find(s.name);
    if (it == before.end()) {
      SeriesChange c;
      c.name = s.name, c.outcome = Outcome::added;
      added.push_back(std::move(c));
      continue;
    }
    pair(*it->second, s);
    before.erase(it);
  }
  for (const auto& [name, s] : before) {
    SeriesChange c;
    c.name = name, c.outcome = Outcome::missing;
    c.gated = rule_for(name, a_.gates).gated;
    added.push_back(std::move(c));
  }
  out_.series.insert(out_.series.end(), std::make_move_iterator(added.begin()),
                     std::make_move_iterator(added.end()));
}

void Comparer::refuse_strangers() const {
  if (candidates_.empty() && out_.count(Outcome::broken, false) == 0)
    fail(Exit::usage,
         "{} and {} have no series in common (an encoding on a task under one protocol and "
         "length): are they of one suite?",
         a_.name, b_.name);
  if (!candidates_.empty() && !shared_seed_)
    fail(Exit::usage,
         "{} and {} have no seed in common, and differences are paired by seed; run one of them "
         "with the other's, e.g. --seeds {}",
         a_.name, b_.name, fmt::join(a_.seeds, ","));
}

// Series that agree in some coordinates become one: seed by seed the mean over the others.
void Comparer::group() {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const SeriesName& name = out_.series[candidates_[i].at].name;
    const Coordinates all = name.coordinates();
    std::vector<std::string> parts = {name.place.metric};
    for (const std::string& key : options_.by)
      parts.push_back(fmt::format("{} {}", key, all.at(key)));
    groups[join(parts, ", ")].push_back(i);
  }
  Changes grouped = std::move(out_);
  out_ = {};
  out_.before = grouped.before, out_.after = grouped.after, out_.cells = grouped.cells;
  out_.cells_equal = grouped.cells_equal, out_.cells_compared = grouped.cells_compared;
  out_.notes = std::move(grouped.notes);
  std::vector<Candidate> candidates;
  for (const auto& [label, members] : groups) {
    SeriesChange s;
    Candidate c;
    std::vector<Differences> worse;
    std::vector<std::vector<double>> before, after;
    bool same = true;
    for (const std::size_t i : members) {
      const SeriesChange& one = grouped.series[candidates_[i].at];
      s.name = one.name, s.seeds = one.seeds, s.margin = one.margin, s.alpha = one.alpha;
      s.gated |= one.gated, same &= one.outcome == Outcome::identical;
      worse.push_back(candidates_[i].worse);
      before.push_back(one.before), after.push_back(one.after);
      c.rule = candidates_[i].rule;
    }
    s.label = label, s.members = members.size();
    s.before = mean_over_series(before), s.after = mean_over_series(after);
    c.at = out_.series.size(), c.worse = mean_over_series(worse), c.p_examples = 0;
    if (same) s.outcome = Outcome::identical;
    if (c.worse.empty()) s.why = "its series have different seeds", s.seeds.clear();
    out_.series.push_back(std::move(s));
    candidates.push_back(std::move(c));
  }
  candidates_ = std::move(candidates);
}

void Comparer::test() {
  std::vector<Differences> all;
  std::vector<Calibrated> known;
  for (const Candidate& c : candidates_) all.push_back(c.worse), known.push_back(c.calibrated);
  out_.enlarged = enlargement(all, known);
  const std::vector<PairedTest> tests = gate_tests(all, known);
  std::vector<double> worse, better;  // of what is gated, then of the means
  std::vector<std::size_t> in_family;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const SeriesChange& s = out_.series[candidates_[i].at];
    if (!s.gated || s.outcome == Outcome::identical) continue;
    in_family.push_back(i);
    worse.push_back(std::max(tests[i].p_above(s.margin), candidates_[i].p_examples));
    better.push_back(tests[i].p_below(-s.margin));
    if (std::isnan(tests[i].p_above(s.margin))) worse.back() = Number::none;
  }
  const std::size_t own = worse.size();
  test_means(tests, worse);
  const std::vector<double> p = holm(worse), q = holm(better);
  const double level = holm_level(worse);
  for (std::size_t i = own; i < p.size(); ++i) {
    MeanChange& m = out_.means[i - own];
    m.p = p[i], m.regressed = p[i] < significance;
  }
  std::map<std::size_t, std::size_t> place;  // in the family
  for (std::size_t k = 0; k < own; ++k) place[in_family[k]] = k;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const SeriesChange& s = out_.series[candidates_[i].at];
    if (const auto at = place.find(i); at != place.end())
      decide(candidates_[i], tests[i], p[at->second], q[at->second], level);
    else  // alone: it is shown, and raises no alarm
      decide(candidates_[i], tests[i],
             std::max(tests[i].p_above(s.margin), candidates_[i].p_examples),
             tests[i].p_below(-s.margin), s.alpha);
  }
}

// A small drift everywhere: the mean over all gated series of a metric.
void Comparer::test_means(const std::vector<PairedTest>& tests, std::vector<double>& p) {
  std::map<std::string, std::vector<std::size_t>> of_metric;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (out_.series[candidates_[i].at].gated && tests[i].seeds() > 0)
      of_metric[out_.series[candidates_[i].at].name.place.metric].push_back(i);
  for (const auto& [metric, members] : of_metric) {
    if (members.size() < 3 || !options_.by.empty()) continue;
    std::vector<Differences> all;
    double margin = 0;
    bool lower = true, moved = false;
    for (const std::size_t i : members) {
      all.push_back(candidates_[i].worse), lower = candidates_[i].rule.lower;
      margin = std::max(margin, out_.series[candidates_[i].at].margin);
      moved |= out_.series[candidates_[i].at].outcome != Outcome::identical;
    }
    const Differences mean = mean_over_series(all);
    if (mean.empty() || !moved) continue;
    Company company;
    if (const auto it = a_.mean_calibration.find(metric);
        it != a_.mean_calibration.end() && is_used(it->second))
      company = {it->second.variance * out_.enlarged,
                 static_cast<double>(it->second.differences - 1), 0};
    const PairedTest test(mean, company);
    MeanChange m;
    m.metric = metric, m.series = members.size(), m.margin = margin;
    m.difference = (lower ? 1 : -1) * test.mean();
    const Interval i = test.interval();
    m.low = lower ? i.low : -i.high, m.high = lower ? i.high : -i.low;
    p.push_back(test.p_above(margin));
    out_.means.push_back(m);
  }
}

void Comparer::decide(const Candidate& c, const PairedTest& test, double p_worse, double p_better,
                      double level) {
  SeriesChange& s = out_.series[c.at];
  const double sign = c.rule.lower ? 1 : -1;
  const auto mean = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double v : x) sum += v;
    return x.empty() ? Number::none : sum / static_cast<double>(x.size());
  };
  s.before_mean = mean(s.before), s.after_mean = mean(s.after);
  s.difference = sign * test.mean(), s.p = p_worse;
  s.calibrated = is_used(c.calibrated);
  if (s.outcome == Outcome::identical) return;
  const Interval i = test.interval();
  s.low = sign > 0 ? i.low : -i.high, s.high = sign > 0 ? i.high : -i.low;
  if (!test.possible()) {
    if (s.why.empty())
      s.why = s.seeds.size() < fewest_seeds
                  ? fmt::format("{} in both, {} are needed", counted(s.seeds.size(), "seed"),
                                fewest_seeds)
                  : test.why_not();
    s.needed = s.seeds.size() < fewest_seeds ? fewest_seeds : 0;
    return;
  }
  if (p_worse < s.alpha)
    s.outcome = Outcome::regressed;
  else if (p_better < s.alpha)
    s.outcome = Outcome::improved;
  else if (test.p_equivalent(s.margin) < s.alpha)
    s.outcome = Outcome::equivalent;
  if (s.outcome != Outcome::inconclusive) return;
  const double d = test.mean();
  s.needed = std::abs(d) > s.margin
                 ? test.seeds_needed(d > 0 ? s.margin : -s.margin, 2 * std::min(level, s.alpha))
                 : test.seeds_needed(d > 0 ? s.margin : -s.margin, 2 * s.alpha);
}

void Comparer::say_differences() {
  if (const std::string other = machine_difference(a_.machine, b_.machine); !other.empty())
    out_.notes.push_back(fmt::format(
        "{} was measured on {}: equal numbers are not to be expected, and differences have the "
        "machine's part in them",
        b_.name, other));
  if (other_settings_ > 0)
    out_.notes.push_back(fmt::format(
        "{} of {} series were trained with other settings than before (of the suite, or a library "
        "has other options)",
        other_settings_, candidates_.size()));
  std::set<std::uint64_t> left;
  for (const std::uint64_t seed : a_.seeds)
    if (!b_.seeds.contains(seed)) left.insert(seed);
  if (!left.empty() && !options_.some_seeds)
    out_.notes.push_back(fmt::format("{} has not the {} {} of {}", b_.name,
                                     left.size() == 1 ? "seed" : "seeds", fmt::join(left, ", "),
                                     a_.name));
  if (const auto broken = out_.count(Outcome::broken, false); broken > 0) {
    const auto first = std::find_if(out_.series.begin(), out_.series.end(),
                                    [](const auto& s) { return s.outcome == Outcome::broken; });
    out_.notes.push_back(
        fmt::format("{} series {} of another definition ({}): nothing is compared there; 'pesuite "
                    "baseline accept' begins anew",
                    broken, broken == 1 ? "is" : "are", first->why));
  }
}

}  // namespace

Changes compare(const Measurement& before, const Measurement& after, const CompareOptions& o) {
  return Comparer(before, after, o).compare();
}

}  // namespace pesuite
