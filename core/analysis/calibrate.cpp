#include "analysis/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <pesuite/random.hpp>

#include "analysis/across.h"
#include "analysis/answer.h"
#include "analysis/contest.h"
#include "analysis/places.h"
#include "base/text.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

constexpr std::uint32_t purpose = pes::purpose("calibrate");
constexpr double scale = 10;  // nats a unit: what matters, 0.02, must not decide here

double gamma(double shape, pes::Random& random) {  // Marsaglia and Tsang 2000
  if (shape < 1) return gamma(shape + 1, random) * std::pow(random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

// An accuracy of 90 % in the mean: its spread from seed to seed, and that of 500 examples.
double accuracy(double deviation, pes::Random& random) {
  const double weight = 0.9 * 0.1 / (deviation * deviation) - 1;
  const double good = gamma(0.9 * weight, random), bad = gamma(0.1 * weight, random);
  const double p = good / (good + bad);
  return p + std::sqrt(p * (1 - p) / 500) * random.normal();
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

}  // namespace

const std::vector<NoiseShape>& calibration_shapes() {
  static const std::vector<NoiseShape> all = {
      {"equal", "normal, all encodings vary alike"},
      {"uneven", "normal, spreads lognormal with sigma 1"},
      {"very uneven", "normal, spreads lognormal with sigma 1.5"},
      {"ten-fold", "normal, one encoding varies ten times as much"},
      {"accuracy",
       "beta with mean 0.9 and a spread of about 0.03, unlike by encoding; 500 examples"},
      {"two peaks", "0.98 or 0.3 by a fair coin, and a spread of 0.01"}};
  return all;
}

std::vector<std::vector<double>> made_up(std::size_t shape, std::size_t encodings,
                                         std::size_t seeds, double shift, std::uint64_t key) {
  pes::Random random(pes::mix64(key, 1000 * encodings + seeds), purpose, shape);
  std::vector<double> common;
  for (std::size_t s = 0; s < seeds; ++s)
    common.push_back(shape < accuracies ? random.normal() : 0);
  std::vector<std::vector<double>> out(encodings);
  for (std::size_t e = 0; e < encodings; ++e) {
    const double spread = spread_of(shape, e, random);
    for (std::size_t s = 0; s < seeds; ++s)
      out[e].push_back((e == 0 ? shift : 0) + common[s] +
                       (shape == accuracies ? accuracy(spread, random)
                        : shape == two_peaks
                            ? (random.uniform() < 0.5 ? 0.98 : 0.3) + 0.01 * random.normal()
                            : spread * random.normal()));
  }
  return out;
}

namespace {

// A recorded task: 2 nats at the training length, 64; at 128 more by `losses`.
TaskData task_of(const std::vector<std::vector<double>>& losses) {
  TaskData t;
  t.task = "made up", t.train_length = 64, t.corpus = true;
  t.protocols = {"last"}, t.lengths = {64, 128};
  for (std::size_t e = 0; e < losses.size(); ++e) {
    t.encodings.push_back(e);
    for (std::size_t s = 0; s < losses[e].size(); ++s) {
      if (e == 0) t.seeds.push_back(s);
      CellData& c = t.cells[{e, s}];
      c.evals[whole("nll", "last", 64)].value = 2;
      c.evals[whole("optimum", "last", 64)].value = 2;
      c.evals[whole("nll", "last", 128)].value = 2 + losses[e][s];
    }
  }
  return t;
}

// A recorded problem: all right at the training length, 64; at 128 less by `losses`.
TaskData problem_of(const std::vector<std::vector<double>>& losses) {
  TaskData t;
  t.task = "made up", t.train_length = 64, t.problem = true;
  t.lengths = {64, 128};
  t.settings = {{64, {}, true, false, false}, {128, {}, false, false, false}};
  for (std::size_t e = 0; e < losses.size(); ++e) {
    t.encodings.push_back(e);
    for (std::size_t s = 0; s < losses[e].size(); ++s) {
      if (e == 0) t.seeds.push_back(s);
      CellData& c = t.cells[{e, s}];
      c.evals[whole("acc", "", 64)].value = 1;
      c.evals[whole("acc", "", 128)].value = 1 - losses[e][s];
    }
  }
  return t;
}

std::vector<std::vector<double>> scaled(std::vector<std::vector<double>> all, double centre) {
  for (auto& one : all)
    for (double& x : one) x = centre + scale * x;
  return all;
}

std::vector<Duel> duels_of(const std::vector<std::vector<double>>& values) {
  const TaskData t = task_of(scaled(values, 0));
  for (Contest& c : contests(t))
    if (c.ground.length == 128) return std::move(c.duels);
  return {};
}

double true_mean(std::size_t shape) {
  return shape == accuracies ? 0.9 : shape == two_peaks ? 0.64 : 0;
}

bool called(const Duel& d) {
  return d.verdict == Verdict::first || d.verdict == Verdict::second;
}

}  // namespace

Rates pair_rates(std::size_t shape, std::size_t encodings, std::size_t seeds, int runs) {
  Rates r;
  double covered = 0, intervals = 0;
  for (int i = 0; i < runs; ++i) {
    bool alarm = false, tiny = false;
    for (const Duel& d :
         duels_of(made_up(shape, encodings, seeds, 0, static_cast<std::uint64_t>(i)))) {
      alarm |= called(d);
      tiny |= d.adjusted < 0.001 && smallest_p(d.seeds) <= 0.001;
      if (std::isnan(d.low)) continue;
      covered += d.low <= 0 && 0 <= d.high ? 1 : 0, ++intervals;
    }
    r.alarm += alarm ? 1.0 / runs : 0, r.tiny += tiny ? 1.0 / runs : 0;
  }
  r.coverage = intervals == 0 ? 1 : covered / intervals;
  return r;
}

double pair_power(std::size_t encodings, std::size_t seeds, int runs) {
  double found = 0;
  for (int i = 0; i < runs; ++i)
    for (const Duel& d :
         duels_of(made_up(equal, encodings, seeds, 3, static_cast<std::uint64_t>(i))))
      found += (d.first == 0 || d.second == 0) && called(d) ? 1 : 0;
  return found / runs / static_cast<double>(encodings - 1);
}

double answer_alarm(std::size_t shape, std::size_t encodings, std::size_t seeds, int runs) {
  double alarms = 0;
  for (int i = 0; i < runs; ++i) {
    const auto values = made_up(shape, encodings, seeds, 0, static_cast<std::uint64_t>(i));
    const bool share = shape >= accuracies;
    auto losses = share ? values : scaled(values, 0.02);
    for (auto& one : losses)
      for (double& x : one)
        if (share) x = 0.05 + true_mean(shape) - x;
    const TaskData t = share ? problem_of(losses) : task_of(losses);
    const TaskAnswer a = answer_of(t);
    alarms += std::any_of(a.encodings.begin(), a.encodings.end(),
                          [](const LengthAnswer& e) { return e.verdict == LengthVerdict::holds; });
  }
  return alarms / runs;
}

double mean_coverage(std::size_t shape, std::size_t seeds, int runs) {
  double covered = 0;
  for (int i = 0; i < runs; ++i) {
    std::vector<SeedValue> values;
    const auto one = made_up(shape, 1, seeds, 0, static_cast<std::uint64_t>(i));
    for (const double x : one[0]) values.push_back({0, x, ""});
    const Spread s = summarize(values);
    covered += s.t_low <= true_mean(shape) && true_mean(shape) <= s.t_high ? 1 : 0;
  }
  return covered / runs;
}

namespace {

// Scores of one encoding on 3 tasks at 4 lengths: a seed's model gives all lengths of a task.
std::vector<std::vector<double>> made_up_scores(std::size_t shape, std::size_t seeds,
                                                std::uint64_t key) {
  constexpr std::size_t tasks = 3, lengths = 4;
  std::vector<std::vector<double>> out(seeds);
  pes::Random random(key, purpose, 100 + shape);
  for (std::size_t s = 0; s < seeds; ++s)
    for (std::size_t task = 0; task < tasks; ++task) {
      const double x = shape == accuracies ? accuracy(0.05, random)
                       : shape == two_peaks
                           ? (random.uniform() < 0.5 ? 0.98 : 0.3) + 0.01 * random.normal()
                           : 0.5 + 0.1 * random.normal();
      for (std::size_t l = 0; l < lengths; ++l)
        out[s].push_back(x - 0.05 * static_cast<double>(l) + 0.01 * random.normal());
    }
  return out;
}

}  // namespace

double score_coverage(std::size_t shape, std::size_t seeds, int runs) {
  std::vector<double> all;
  for (const auto& one : made_up_scores(shape, 40000, 1ull << 40))
    all.insert(all.end(), one.begin(), one.end());
  const double truth = interquartile_mean(std::move(all));
  double covered = 0;
  for (int i = 0; i < runs; ++i) {
    const Interval x =
        interquartile_interval(made_up_scores(shape, seeds, static_cast<std::uint64_t>(i)));
    covered += x.low <= truth && truth <= x.high ? 1 : 0;
  }
  return covered / runs;
}

namespace {

using TextRows = std::vector<std::vector<std::string>>;
// f of each shape, at the same time.
template <class F>
auto each_shape(F f) {
  std::vector<std::future<decltype(f(std::size_t{}))>> running;
  for (std::size_t shape = 0; shape < calibration_shapes().size(); ++shape)
    running.push_back(std::async(std::launch::async, f, shape));
  std::vector<decltype(f(std::size_t{}))> out;
  for (auto& r : running) out.push_back(r.get());
  return out;
}

constexpr std::size_t seed_counts[] = {2, 3, 5, 10, 20, 30};
constexpr std::size_t encoding_counts[] = {2, 3, 6, 10};

struct Page {
  int runs;
  Calibration out;

  void table(const std::string& title, const TextRows& rows) {
    out.text += fmt::format("{}\n\n{}\n", title, markdown_text_table(rows));
  }
  void fault(bool wrong, const std::string& what) {
    if (wrong) out.faults.push_back(what);
  }
  static TextRows head(std::vector<std::string> row) {
    for (const NoiseShape& s : calibration_shapes()) row.emplace_back(s.name);
    return {std::move(row)};
  }

  void pairs() {
    TextRows alarms = head({"encodings", "seeds"}), tiny = alarms, covered = alarms;
    alarms[0].emplace_back("power");
    // Of some 150 cells a few lie beyond two simulation errors by chance; three are a fault.
    const double noise = std::sqrt(0.05 * 0.95 / runs), small = std::sqrt(0.002 / runs);
    for (const std::size_t k : encoding_counts)
      for (const std::size_t n : seed_counts) {
        const std::vector<std::string> place = {std::to_string(k), std::to_string(n)};
        std::vector<std::string> a = place, t = place, c = place;
        const auto rates =
            each_shape([&](std::size_t shape) { return pair_rates(shape, k, n, runs); });
        for (std::size_t shape = 0; shape < calibration_shapes().size(); ++shape) {
          const Rates r = rates[shape];
          const std::string at =
              fmt::format("{} encodings, {} seeds, {}", k, n, calibration_shapes()[shape].name);
          fault(r.alarm > 0.05 + 3 * noise, fmt::format("{}: alarms {:.4f}", at, r.alarm));
          fault(r.tiny > 0.002 + 3 * small, fmt::format("{}: p < 0.001 in {:.4f}", at, r.tiny));
          fault(r.coverage < 0.93, fmt::format("{}: intervals cover {:.3f}", at, r.coverage));
          a.push_back(format_fixed(r.alarm, 3)), t.push_back(format_fixed(r.tiny, 4));
          c.push_back(n < fewest_seeds ? "–" : format_fixed(r.coverage, 3));
        }
        a.push_back(format_fixed(pair_power(k, n, std::max(1, runs / 4)), 2));
        alarms.push_back(a), covered.push_back(c);
        if (smallest_p(n) < 0.01) tiny.push_back(t);
      }
    table("Runs in which a pair of equal encodings is called:", alarms);
    table("Runs in which p < 0.001 is printed (never below 20 seeds):", tiny);
    table("Coverage of the 95 % intervals of differences:", covered);
  }

  void answers() {
    TextRows rows = head({"encodings", "seeds"});
    for (const std::size_t k : encoding_counts)
      for (const std::size_t n : seed_counts) {
        rows.push_back({std::to_string(k), std::to_string(n)});
        for (const double x :
             each_shape([&](std::size_t shape) { return answer_alarm(shape, k, n, runs); }))
          rows.back().push_back(format_fixed(x, 3));
      }
    table("Runs in which *holds* is said of an encoding whose true loss is all that matters:",
          rows);
  }

  void intervals() {
    TextRows rows = head({"interval", "seeds"});
    for (const std::size_t n : {5u, 10u, 20u, 30u}) {
      rows.push_back({"of a mean", std::to_string(n)});
      for (std::size_t shape = 0; shape < calibration_shapes().size(); ++shape)
        rows.back().push_back(format_fixed(mean_coverage(shape, n, runs), 3));
    }
    for (const std::size_t n : {5u, 10u, 20u, 30u}) {
      rows.push_back({"of a score", std::to_string(n),
                      format_fixed(score_coverage(equal, n, runs), 3), "–", "–", "–",
                      format_fixed(score_coverage(accuracies, n, runs), 3),
                      format_fixed(score_coverage(two_peaks, n, runs), 3)});
    }
    table("Coverage of the other 95 % intervals:", rows);
  }
};

}  // namespace

Calibration calibrate(int runs) {
  Page page{runs, {}};
  page.out.text = fmt::format("{} runs a cell, simulation error {:.3f} at 0.05.\n\n", runs,
                              std::sqrt(0.05 * 0.95 / runs));
  page.pairs();
  page.answers();
  page.intervals();
  return page.out;
}

}  // namespace pesuite
