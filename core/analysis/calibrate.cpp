#include "analysis/calibrate.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <pesuite/random.hpp>

#include "analysis/across.h"
#include "analysis/answer.h"
#include "analysis/contest.h"
#include "analysis/judge.h"
#include "analysis/places.h"
#include "model/metrics.h"
#include "model/sums.h"

namespace pesuite {

namespace {

constexpr std::uint32_t purpose = pes::purpose("calibrate");

double gamma(double shape, pes::Random& random) {  // Marsaglia and Tsang 2000
  if (shape < 1) return gamma(shape + 1, random) * std::pow(random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

// An accuracy of 90 % in the mean: its spread from seed to seed, and that of 500 examples.
double accuracy_with(double deviation, pes::Random& random) {
  const double weight = 0.9 * 0.1 / (deviation * deviation) - 1;
  const double good = gamma(0.9 * weight, random), bad = gamma(0.1 * weight, random);
  const double p = good / (good + bad);
  return p + std::sqrt(p * (1 - p) / 500) * random.normal();
}

double one_of_two_peaks(pes::Random& random) {
  return (random.uniform() < 0.5 ? 0.98 : 0.3) + 0.01 * random.normal();
}

enum Kind : std::size_t { equal, uneven, very_uneven, tenfold, accuracies, two_peaks };

double spread_of(std::size_t shape, std::size_t encoding, pes::Random& random) {
  const double z = random.normal();
  switch (shape) {
    case uneven: return std::exp(z);
    case very_uneven: return std::exp(1.5 * z);
    case tenfold: return encoding == 0 ? 10 : 1;
    case accuracies: return std::min(0.1, 0.03 * std::exp(0.5 * z));
    default: return 1;
  }
}

// A stream for each purpose, shape, size and run. Nothing but the last step may use the run: were
// it mixed into the key of a size, neighbouring sizes would draw from each other's streams.
pes::Random stream(const char* what, const Conditions& s, std::uint64_t run) {
  const std::uint64_t cell =
      pes::mix64(pes::mix64(pes::mix64(pes::hash64(what), s.shape), s.encodings), s.seeds);
  return {pes::mix64(cell, run), purpose, 0};
}

using Values = std::vector<std::vector<double>>;

void move_last(Values& values, double by) {
  for (double& x : values.back()) x += by;
}

}  // namespace

const std::vector<NoiseShape>& calibration_shapes() {
  static const std::vector<NoiseShape> all = {{"equal", 0, 1},         {"uneven", 0, 1},
                                              {"very uneven", 0, 1},   {"ten-fold", 0, 1},
                                              {"accuracy", 0.9, 0.03}, {"two peaks", 0.64, 0.34}};
  return all;
}

Values made_up(const Conditions& s, std::uint64_t run) {
  pes::Random random = stream("results", s, run);
  std::vector<double> common(s.seeds, 0);
  if (s.shape < accuracies)
    for (double& x : common) x = random.normal();
  Values out(s.encodings);
  for (std::size_t e = 0; e < s.encodings; ++e) {
    const double spread = spread_of(s.shape, e, random);
    for (const double x : common)
      out[e].push_back(s.shape == accuracies  ? accuracy_with(spread, random)
                       : s.shape == two_peaks ? one_of_two_peaks(random)
                                              : x + spread * random.normal());
  }
  return out;
}

const std::array<WrongKind, wrongs>& wrong_kinds() {
  static const std::array<WrongKind, wrongs> all = {{{"pair", 0.05, 2},
                                                     {"pair, one far", 0.05, 2},
                                                     {"p < 0.001", 0.002, 2},
                                                     {"equivalent", 0.05, 2},
                                                     {"holds", 0.05, 2},
                                                     {"fails", 0.05, 2},
                                                     {"reproduced", 0.05, 2},
                                                     {"not reproduced", 0.05, 2},
                                                     {"reproduced, alone", 0.05, 2},
                                                     {"not reproduced, alone", 0.05, 2},
                                                     {"not covered", 0.07, 0}}};
  return all;
}

double WrongKind::limit(std::uint64_t runs) const {
  return most + errors * std::sqrt(most * (1 - most) / static_cast<double>(runs));
}

namespace {

// A recorded task whose numbers at twice the training length are put in; learned by all.
class MadeUpRecords {
 public:
  MadeUpRecords(const Conditions& s, bool problem, double start) {
    TaskData t;
    t.task = "made_up", t.train_length = 64, t.lengths = {64, 128};
    t.corpus = !problem, t.problem = problem;
    if (problem)
      t.settings = {{64, {}, true, false, false}, {128, {}, false, false, false}};
    else
      t.protocols = {"last"};
    const char *metric = problem ? "acc" : "nll", *protocol = problem ? "" : "last";
    run_.tasks.push_back(std::move(t));
    TaskData& task = run_.tasks[0];
    for (std::size_t e = 0; e < s.encodings; ++e) {
      run_.encodings.push_back("e" + std::to_string(e)), task.encodings.push_back(e);
      for (std::size_t seed = 0; seed < s.seeds; ++seed) {
        if (e == 0) task.seeds.push_back(seed), run_.seeds.insert(seed);
        CellData& c = task.cells[{e, seed}];
        c.evals[whole(metric, protocol, 64)].value = start;
        if (!problem) c.evals[whole("optimum", protocol, 64)].value = start;
        places_.push_back(&c.evals[whole(metric, protocol, 128)].value);
      }
    }
  }
  MadeUpRecords(const MadeUpRecords&) = delete;

  const RunData& with(const Values& values) {
    std::size_t at = 0;
    for (const auto& one : values)
      for (const double x : one) *places_[at++] = x;
    return run_;
  }
  std::vector<Duel> duels(const Values& values) {
    for (Contest& c : contests(with(values).tasks[0]))
      if (c.ground.length == 128) return std::move(c.duels);
    return {};
  }

 private:
  RunData run_;
  std::vector<double*> places_;  // by encoding, then seed
};

std::vector<Hypothesis> hypotheses_about(const std::vector<std::string>& texts) {
  std::vector<Hypothesis> out;
  for (const std::string& text : texts) {
    Hypothesis h;
    h.id = text, h.margin = 0, h.comparisons = parse_hypothesis(text);
    out.push_back(std::move(h));
  }
  return out;
}

// All questions under one set of conditions, run by run. Whether an effect matters is left out
// where that would make a false call rarer.
class Simulation {
 public:
  explicit Simulation(const Conditions& s)
      : s_(s),
        shape_(calibration_shapes()[s.shape]),
        share_(s.shape >= accuracies),
        records_(s, share_, share_ ? 0.95 : 2),
        close_(s, false, 2) {
    std::vector<std::string> pairs, alone;
    const std::string metric = share_ ? "acc" : "nll";
    for (std::size_t e = 0; e < s.encodings; ++e) {
      const std::string own = metric + "(e" + std::to_string(e) + ", 2x) < ";
      if (e > 0) pairs.push_back(own + metric + "(e0, 2x)");
      alone.push_back(own + std::to_string(shape_.mean));
    }
    between_ = hypotheses_about(pairs), alone_ = hypotheses_about(alone);
  }

  void run(std::uint64_t number, Rates& sum) {
    const Values values = made_up(s_, number);
    std::array<bool, wrongs> wrong{};
    pairs(values, wrong, sum);
    closeness(values, wrong);
    answer(values, wrong);
    claims(values, wrong);
    for (std::size_t kind = 0; kind < uncovered; ++kind) sum.of[kind] += wrong[kind] ? 1 : 0;
  }

 private:
  void pairs(const Values& values, std::array<bool, wrongs>& wrong, Rates& sum) {
    const auto note = [&](const Duel& d, Wrong kind) {
      wrong[kind] |= d.adjusted < significance;
      wrong[tiny] |= d.adjusted < 0.001 && smallest_p(d.seeds) <= 0.001;
    };
    double intervals = 0, missed = 0;
    for (const Duel& d : records_.duels(values)) {
      note(d, called);
      if (std::isnan(d.low)) continue;
      missed += d.low <= 0 && 0 <= d.high ? 0 : 1, ++intervals;
    }
    sum.of[uncovered] += intervals > 0 ? missed / intervals : 0;
    if (s_.encodings < 3) return;
    Values apart = values;
    move_last(apart, (share_ ? -20 : 20) * shape_.spread);
    for (const Duel& d : records_.duels(apart))
      if (d.second + 1 < s_.encodings) note(d, called_far);
  }

  // What matters is 5 spreads here, and the last encoding just that far away.
  void closeness(Values values, std::array<bool, wrongs>& wrong) {
    const double unit = metric("nll").matters / (5 * shape_.spread);
    move_last(values, 5 * shape_.spread);
    for (auto& one : values)
      for (double& x : one) x = 2 + unit * (x - shape_.mean);
    for (const Duel& d : close_.duels(values))
      wrong[equivalent] |= d.second + 1 == s_.encodings && d.equivalent < significance;
  }

  void answer(Values values, std::array<bool, wrongs>& wrong) {
    for (auto& one : values)
      for (double& x : one)
        x = s_.shape == two_peaks ? 0.9 + 0.235 * (x - shape_.mean)  // 0.98 or 0.82
            : share_              ? x
                                  : 2 + metric("nll").matters + x;
    for (const LengthAnswer& e : answer_of(records_.with(values).tasks[0]).encodings) {
      wrong[holds] |= e.verdict == LengthVerdict::holds;
      wrong[fails] |= e.verdict == LengthVerdict::fails;
    }
  }

  void claims(const Values& values, std::array<bool, wrongs>& wrong) {
    const RunData& run = records_.with(values);
    for (const Judged& j : judge(run, between_)) {
      wrong[reproduced] |= j.judgement == Judgement::holds;
      wrong[refuted] |= j.judgement == Judgement::refuted;
    }
    for (const Judged& j : judge(run, alone_)) {
      wrong[reproduced_alone] |= j.judgement == Judgement::holds;
      wrong[refuted_alone] |= j.judgement == Judgement::refuted;
    }
  }

  Conditions s_;
  const NoiseShape& shape_;
  bool share_;  // accuracies of a problem; else nats of a corpus
  MadeUpRecords records_, close_;
  std::vector<Hypothesis> between_, alone_;
};

}  // namespace

Rates rates(const Conditions& s, std::uint64_t first, std::uint64_t runs) {
  Rates out;
  out.runs = runs;
  Simulation simulation(s);
  for (std::uint64_t i = first; i < first + runs; ++i) simulation.run(i, out);
  for (double& x : out.of) x /= static_cast<double>(runs);
  return out;
}

// ------------------------------------------------------------------------------- other rules

const char* rule_name(Rule r) {
  switch (r) {
    case Rule::plain: return "plain t, Holm";
    case Rule::prior: return "prior of 4 degrees, Holm";
    case Rule::limma: return "limma, at most 2 (K - 1)(n - 1), Holm";
    case Rule::ours: break;
  }
  return "this page";
}

namespace {

Company company_by(Rule rule, const std::vector<Differences>& others, std::size_t encodings) {
  if (rule == Rule::plain || others.empty()) return {};
  if (rule == Rule::limma) {
    Company out = company_of(others, std::max<std::size_t>(4, encodings), {0, 0, 2});
    out.floor = 0;
    return out;
  }
  std::vector<double> variances;
  for (const Differences& d : others) {
    const double deviation = PairedTest(d).deviation();
    variances.push_back(deviation * deviation);
  }
  const auto own = static_cast<double>(others[0].size() - 1);
  const boost::math::chi_squared_distribution<> chance(own);
  return {median(variances) * own / boost::math::quantile(chance, 0.5), 4, 0};
}

struct Called {
  bool far = false;  // the pair has the last encoding in it
  bool yes = false;
};

std::vector<Called> calls_by(Rule rule, const Values& values) {
  std::vector<Differences> contrasts;
  std::vector<Called> out;
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = a + 1; b < values.size(); ++b) {
      contrasts.emplace_back();
      for (std::size_t s = 0; s < values[a].size(); ++s)
        contrasts.back().push_back(values[a][s] - values[b][s]);
      out.push_back({b + 1 == values.size(), false});
    }
  std::vector<double> p;
  Possible possible;
  if (rule == Rule::ours) {
    for (const PairedTest& t : tests_of(contrasts, values.size())) p.push_back(t.p_two_sided());
    possible = possible_equalities({values.size()});
  }
  for (std::size_t i = 0; i < contrasts.size() && rule != Rule::ours; ++i) {
    std::vector<Differences> others = contrasts;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    p.push_back(PairedTest(contrasts[i], company_by(rule, others, values.size())).p_two_sided());
  }
  p = holm(p, possible);
  for (std::size_t i = 0; i < p.size(); ++i) out[i].yes = p[i] < significance;
  return out;
}

}  // namespace

double power(Rule rule, const Conditions& s, std::uint64_t runs) {
  double found = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    Values values = made_up(s, i);
    move_last(values, 3);
    for (const Called& c : calls_by(rule, values)) found += c.far && c.yes ? 1 : 0;
  }
  return found / static_cast<double>(runs * (s.encodings - 1));
}

double false_calls(Rule rule, const Conditions& s, std::uint64_t runs) {
  double wrong = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    const auto all = calls_by(rule, made_up(s, i));
    wrong += std::any_of(all.begin(), all.end(), [](const Called& c) { return c.yes; }) ? 1 : 0;
  }
  return wrong / static_cast<double>(runs);
}

// --------------------------------------------------------------------------------- intervals

double mean_coverage(const Conditions& s, std::uint64_t runs) {
  const double truth = calibration_shapes()[s.shape].mean;
  double covered = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    std::vector<SeedValue> values;
    const Values one = made_up(s, i);
    for (const double x : one[0]) values.push_back({0, x, ""});
    const Spread spread = summarize(values);
    covered += spread.t_low <= truth && truth <= spread.t_high ? 1 : 0;
  }
  return covered / static_cast<double>(runs);
}

namespace {

// Scores of one encoding on 3 tasks at 4 lengths: a seed's model gives all lengths of a task.
Values made_up_scores(const Conditions& conditions, std::uint64_t run) {
  constexpr std::size_t tasks = 3, lengths = 4;
  Values out(conditions.seeds);
  pes::Random random = stream("scores", conditions, run);
  for (auto& of_seed : out)
    for (std::size_t task = 0; task < tasks; ++task) {
      const double x = conditions.shape == accuracies  ? accuracy_with(0.05, random)
                       : conditions.shape == two_peaks ? one_of_two_peaks(random)
                                                       : 0.5 + 0.1 * random.normal();
      for (std::size_t l = 0; l < lengths; ++l)
        of_seed.push_back(x - 0.05 * static_cast<double>(l) + 0.01 * random.normal());
    }
  return out;
}

}  // namespace

double score_coverage(const Conditions& s, std::uint64_t runs) {
  std::vector<double> all;
  for (const auto& one : made_up_scores({s.shape, 1, 40000}, 0))
    all.insert(all.end(), one.begin(), one.end());
  const double truth = interquartile_mean(std::move(all));
  double covered = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    const Interval x = interquartile_interval(made_up_scores(s, i));
    covered += x.low <= truth && truth <= x.high ? 1 : 0;
  }
  return covered / static_cast<double>(runs);
}

double share_coverage(double share, std::size_t seeds, std::uint64_t runs) {
  double covered = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    pes::Random random = stream("shares", {static_cast<std::size_t>(1000 * share), 1, seeds}, i);
    std::size_t k = 0;
    for (std::size_t s = 0; s < seeds; ++s) k += random.uniform() < share ? 1 : 0;
    const Interval x = clopper_pearson(k, seeds);
    covered += x.low <= share && share <= x.high ? 1 : 0;
  }
  return covered / static_cast<double>(runs);
}

double accuracy_coverage(double share, int together, std::uint64_t runs) {
  constexpr std::size_t examples = 500;
  constexpr int targets = 8;
  double covered = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    pes::Random random =
        stream("examples",
               {static_cast<std::size_t>(1000 * share), static_cast<std::size_t>(together), 1}, i);
    std::vector<Sums> all(examples);
    for (Sums& one : all) {
      one.count = targets;
      const bool first = random.uniform() < share;
      for (int t = 0; t < targets; ++t) {
        const bool alike = together == 2 || (together == 1 && random.uniform() < 0.5);
        one.correct += (alike ? first : random.uniform() < share) ? 1 : 0;
      }
    }
    const Observation o = accuracy(all, "acc", "ood", Json::object(), 0);
    covered += o.low <= share && share <= o.high ? 1 : 0;
  }
  return covered / static_cast<double>(runs);
}

}  // namespace pesuite
