#include "analysis/gate_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <future>
#include <numeric>
#include <pesuite/random.hpp>

#include "analysis/gate_tests.h"
#include "analysis/numbers.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "plugin/card.h"

namespace pesuite {

namespace {

constexpr double gate_margin = 0.005, typical = 0.005, all_worse = 0.02;
constexpr std::uint32_t gate_purpose = pes::purpose("gate simulation");

struct MadeUpGate {
  std::vector<std::vector<double>> before, after;  // [series][seed]
  std::vector<Differences> worse;
  std::vector<Calibrated> calibrated;
  Calibrated of_mean;
};

// Of one seed, for every series; those of a family share most of it.
std::vector<double> noise_of(const GateConditions& c, pes::Random& random) {
  constexpr std::size_t of_a_family = 3;
  constexpr double shared = 0.8;
  std::vector<double> out;
  double common = 0;
  for (std::size_t i = 0; i < c.series; ++i) {
    if (i % of_a_family == 0) common = random.normal();
    const double own = random.normal();
    out.push_back(c.families ? std::sqrt(shared) * common + std::sqrt(1 - shared) * own : own);
  }
  return out;
}

MadeUpGate made_up_gate(const GateConditions& c, std::uint64_t run) {
  std::uint64_t key = pes::hash64("gate");
  for (const double x : {static_cast<double>(c.series), static_cast<double>(c.seeds), c.sigma,
                         c.one_noisy ? 1.0 : 0.0, c.correlation, c.calibration_correlation,
                         static_cast<double>(c.differences), c.families ? 1.0 : 0.0, c.change})
    key = pes::mix64(key, static_cast<std::uint64_t>(1000 * x));
  pes::Random random(pes::mix64(key, run), gate_purpose, 0);
  std::vector<double> spread;
  for (std::size_t i = 0; i < c.series; ++i)
    spread.push_back(typical * std::exp(c.sigma * random.normal()) *
                     (c.one_noisy && i == 0 ? 10 : 1));
  MadeUpGate out;
  out.before.resize(c.series), out.after.resize(c.series), out.worse.resize(c.series);
  const auto pairs = [&](std::size_t n, double correlation, const auto& put) {
    for (std::size_t s = 0; s < n; ++s) {
      const std::vector<double> old = noise_of(c, random), fresh = noise_of(c, random);
      for (std::size_t i = 0; i < c.series; ++i)
        put(i, spread[i] * old[i],
            spread[i] *
                (correlation * old[i] + std::sqrt(1 - correlation * correlation) * fresh[i]));
    }
  };
  pairs(c.seeds, c.correlation, [&](std::size_t i, double a, double b) {
    out.before[i].push_back(a), out.after[i].push_back(b + c.change);
    out.worse[i].push_back(b + c.change - a);
  });
  std::vector<Differences> known(c.series);
  pairs(c.differences, c.calibration_correlation,
        [&](std::size_t i, double a, double b) { known[i].push_back(b - a); });
  for (const Differences& d : known) out.calibrated.push_back(calibrated_by(d));
  out.of_mean = calibrated_by(mean_over_series(known));
  return out;
}

double variance_of(const std::vector<double>& x) {
  const double deviation = PairedTest(x).deviation();
  return deviation * deviation;
}

std::vector<double> p_moderated(const MadeUpGate& g) {
  std::vector<double> variances, p;
  for (const Differences& d : g.worse) variances.push_back(variance_of(d));
  const auto own = static_cast<double>(g.worse[0].size() - 1);
  const boost::math::chi_squared_distribution<> chance(own);
  const Company prior{median(variances) * own / boost::math::quantile(chance, 0.5), 4, 0};
  for (const Differences& d : g.worse) p.push_back(PairedTest(d, prior).p_above(gate_margin));
  return p;
}

double p_welch(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double va = variance_of(a) / n, vb = variance_of(b) / n;
  const auto mean = [n](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / n;
  };
  const double degrees = (va + vb) * (va + vb) / ((va * va + vb * vb) / (n - 1));
  return t_above((mean(b) - mean(a) - gate_margin) / std::sqrt(va + vb), degrees);
}

// Whether the lower 5 % quantile of 300 resampled means lies above the margin.
bool bootstrap_calls(const Differences& d, pes::Random& random) {
  constexpr std::size_t draws = 300;
  std::vector<double> means;
  const auto n = static_cast<double>(d.size());
  for (std::size_t k = 0; k < draws; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < d.size(); ++i)
      sum += d[std::min(d.size() - 1, static_cast<std::size_t>(random.uniform() * n))];
    means.push_back(sum / n);
  }
  std::nth_element(means.begin(), means.begin() + draws / 20, means.end());
  return means[draws / 20] > gate_margin;
}

struct GateCalls {
  std::vector<bool> series;
  bool anything = false;
  std::size_t equivalent = 0;
};

GateCalls by_p(const std::vector<double>& p, std::size_t series) {
  GateCalls out;
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) {
    const bool called = adjusted[i] < significance;
    out.anything |= called;
    if (i < series) out.series.push_back(called);
  }
  return out;
}

// As analysis/changes.cpp does: all series and their mean are one family.
GateCalls by_our_rule(const MadeUpGate& g) {
  std::vector<double> p;
  std::size_t equivalent = 0;
  for (const PairedTest& t : gate_tests(g.worse, g.calibrated)) {
    p.push_back(t.p_above(gate_margin));
    equivalent += t.p_equivalent(gate_margin) < significance ? 1 : 0;
  }
  const double larger = enlargement(g.worse, g.calibrated);
  Company company;
  if (is_used(g.of_mean))
    company = {g.of_mean.variance * larger, static_cast<double>(g.of_mean.differences - 1), 0};
  p.push_back(PairedTest(mean_over_series(g.worse), company).p_above(gate_margin));
  GateCalls out = by_p(p, g.worse.size());
  out.equivalent = equivalent;
  return out;
}

GateCalls calls_of(GateRuleKind rule, const MadeUpGate& g, std::uint64_t run) {
  std::vector<double> p;
  GateCalls out;
  switch (rule) {
    case GateRuleKind::ours: return by_our_rule(g);
    case GateRuleKind::moderated: return by_p(p_moderated(g), g.worse.size());
    case GateRuleKind::paired:
      for (const Differences& d : g.worse) p.push_back(PairedTest(d).p_above(gate_margin));
      return by_p(p, p.size());
    case GateRuleKind::welch:
      for (std::size_t i = 0; i < g.worse.size(); ++i)
        p.push_back(p_welch(g.before[i], g.after[i]));
      return by_p(p, p.size());
    case GateRuleKind::bootstrap:
    case GateRuleKind::threshold: break;
  }
  pes::Random random(pes::mix64(pes::hash64("bootstrap"), run), gate_purpose, 1);
  for (const Differences& d : g.worse) {
    const bool called = rule == GateRuleKind::bootstrap ? bootstrap_calls(d, random)
                                                        : PairedTest(d).mean() > gate_margin;
    out.series.push_back(called), out.anything |= called;
  }
  return out;
}

}  // namespace

const char* gate_rule_name(GateRuleKind r) {
  switch (r) {
    case GateRuleKind::moderated: return "prior of 4 degrees, Holm";
    case GateRuleKind::paired: return "paired t, Holm";
    case GateRuleKind::welch: return "Welch, Holm";
    case GateRuleKind::bootstrap: return "bootstrap over seeds, 95 %";
    case GateRuleKind::threshold: return "bare threshold on means";
    case GateRuleKind::ours: break;
  }
  return "calibrated t, Holm (this gate)";
}

GateRates gate_rates(GateRuleKind rule, const GateConditions& c, std::uint64_t runs) {
  GateRates out;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const GateCalls called = calls_of(rule, made_up_gate(c, run), run);
    const auto share = [&](std::size_t from) {
      return static_cast<double>(
                 std::count(called.series.begin() + static_cast<std::ptrdiff_t>(from),
                            called.series.end(), true)) /
             static_cast<double>(c.series - from);
    };
    out.alarms += called.anything ? 1 : 0;
    out.caught += share(0);
    out.caught_quiet += share(c.one_noisy ? 1 : 0);
    out.equivalent += static_cast<double>(called.equivalent) / static_cast<double>(c.series);
  }
  const auto n = static_cast<double>(runs);
  out.alarms /= n, out.caught /= n, out.caught_quiet /= n, out.equivalent /= n;
  return out;
}

// --------------------------------------------------------------------------------- the tables

namespace {

using TextTable = std::vector<std::vector<std::string>>;

struct SimulationPage {
  std::uint64_t runs;
  std::function<void(const std::string&)> progress;
  GateSimulation out;

  void table(const std::string& title, const TextTable& rows) {
    out.text += fmt::format("{}\n\n{}\n", title, markdown_text_table(rows));
  }
  double limit(double most) const {
    return most + 2 * std::sqrt(most * (1 - most) / static_cast<double>(runs));
  }
  void hold(const std::string& what, double found, double most) {
    if (found > limit(most))
      out.faults.push_back(fmt::format("{}: {:.4f}, promised is {:.3f}", what, found, most));
  }
  void reach(const std::string& what, double found, double least) {
    if (found < least)
      out.faults.push_back(fmt::format("{}: {:.3f}, promised is {:.2f}", what, found, least));
  }

  static std::string of(double x, int digits) { return format_fixed(x, digits); }

  void rules() {
    TextTable rows = {{"rule", "alarms, 3 seeds (correlation 0 / 0.5)", "5 seeds",
                       "caught, 3 seeds (0 / 0.5)", "5 seeds"}};
    for (const GateRuleKind rule :
         {GateRuleKind::threshold, GateRuleKind::bootstrap, GateRuleKind::welch,
          GateRuleKind::paired, GateRuleKind::moderated, GateRuleKind::ours}) {
      progress(gate_rule_name(rule));
      std::vector<std::future<GateRates>> all;
      for (const double shift : {0.0, all_worse})
        for (const std::size_t seeds : {std::size_t{3}, std::size_t{5}})
          for (const double correlation : {0.0, 0.5})
            all.push_back(std::async(std::launch::async, [=, this] {
              GateConditions c;
              c.seeds = seeds, c.correlation = c.calibration_correlation = correlation;
              c.change = shift;
              return gate_rates(rule, c, runs);
            }));
      std::vector<GateRates> r;
      for (auto& f : all) r.push_back(f.get());
      rows.push_back({gate_rule_name(rule), of(r[0].alarms, 3) + " / " + of(r[1].alarms, 3),
                      of(r[2].alarms, 3) + " / " + of(r[3].alarms, 3),
                      of(r[4].caught, 2) + " / " + of(r[5].caught, 2),
                      of(r[6].caught, 2) + " / " + of(r[7].caught, 2)});
      if (rule != GateRuleKind::ours) continue;
      for (std::size_t i = 0; i < 4; ++i)
        hold(fmt::format("alarms, {} seeds, correlation {}", i < 2 ? 3 : 5, i % 2 == 0 ? 0 : 0.5),
             r[i].alarms, 0.02);
      reach("caught, 3 seeds, correlation 0.5", r[5].caught, 0.9);
    }
    table(fmt::format("Gates of 24 series with at least one alarm where nothing changed, and the "
                      "share of series caught where all are worse by {} nats:",
                      all_worse),
          rows);
  }

  // Spreads that are unlike, and pairs of calibration that go together as little or much as they
  // please: neither may alarm, and the other series must still be caught.
  void spreads() {
    TextTable rows = {{"spreads", "pairs of calibration", "seeds",
                       "alarms (correlation 0 / 0.5 / 0.9)", "caught (0 / 0.5 / 0.9)",
                       "equivalent at the margin"}};
    const struct {
      const char* name;
      double sigma;
      bool noisy;
    } shapes[] = {{"lognormal, sigma 0.5", 0.5, false},
                  {"sigma 1", 1, false},
                  {"sigma 1.5", 1.5, false},
                  {"sigma 0.5, one ten times noisier", 0.5, true}};
    for (const auto& shape : shapes)
      for (const double known : {0.0, 0.5, 0.9})
        for (const std::size_t seeds : {std::size_t{3}, std::size_t{5}}) {
          progress(fmt::format("{}, calibrated at {}, {} seeds", shape.name, known, seeds));
          std::vector<std::future<GateRates>> all;
          for (const double shift : {0.0, all_worse, gate_margin})
            for (const double correlation : {0.0, 0.5, 0.9})
              all.push_back(std::async(std::launch::async, [=, this] {
                GateConditions c;
                c.seeds = seeds, c.sigma = shape.sigma, c.one_noisy = shape.noisy;
                c.correlation = correlation, c.calibration_correlation = known;
                c.families = true, c.change = shift;
                return gate_rates(GateRuleKind::ours, c, runs);
              }));
          std::vector<GateRates> r;
          for (auto& f : all) r.push_back(f.get());
          double equivalent = 0;
          for (std::size_t i = 0; i < 3; ++i) {
            const std::string where = fmt::format("{}, calibrated at {}, {} seeds, correlation {}",
                                                  shape.name, known, seeds,
                                                  i == 0   ? 0.0
                                                  : i == 1 ? 0.5
                                                           : 0.9);
            hold("alarms, " + where, r[i].alarms, 0.05);
            hold("called equivalent at the margin, " + where, r[6 + i].equivalent, 0.05);
            equivalent = std::max(equivalent, r[6 + i].equivalent);
          }
          rows.push_back(
              {shape.name, fmt::format("correlation {}", known), std::to_string(seeds),
               fmt::format("{:.3f} / {:.3f} / {:.3f}", r[0].alarms, r[1].alarms, r[2].alarms),
               fmt::format("{:.2f} / {:.2f} / {:.2f}", r[3].caught_quiet, r[4].caught_quiet,
                           r[5].caught_quiet),
               of(equivalent, 3)});
        }
    table(fmt::format("The same of this gate, three series of a model going together (0.8 of their "
                      "variance is shared); caught: all but the noisy one:"),
          rows);
  }

  void sizes() {
    TextTable rows = {{"series", "differences", "alarms, 3 seeds", "caught at 0.02"}};
    for (const std::size_t series :
         {std::size_t{1}, std::size_t{3}, std::size_t{6}, std::size_t{24}})
      for (const std::size_t known : {std::size_t{0}, fewest_calibrating, std::size_t{20}}) {
        progress(fmt::format("{} series, {} differences", series, known));
        GateConditions c;
        c.series = series, c.differences = known, c.families = true;
        c.correlation = 0, c.calibration_correlation = 0.9;
        const GateRates quiet = gate_rates(GateRuleKind::ours, c, runs);
        c.change = all_worse, c.correlation = 0.5;
        const GateRates changed = gate_rates(GateRuleKind::ours, c, runs);
        hold(fmt::format("alarms of {} series, {} differences", series, known), quiet.alarms, 0.05);
        rows.push_back({std::to_string(series), std::to_string(known), of(quiet.alarms, 3),
                        of(changed.caught, 2)});
      }
    table(
        "Gates of other sizes, by the number of calibrating differences (0: none, the plain paired "
        "t), calibrated at correlation 0.9; alarms at correlation 0, caught at 0.5:",
        rows);
  }
};

}  // namespace

GateSimulation simulate_gate(std::uint64_t runs,
                             const std::function<void(const std::string&)>& progress) {
  SimulationPage page{runs, progress, {}};
  page.out.text = fmt::format(
      "{} gates each; margin {}, spread over seeds {} nats; simulation error {:.4f} at 0.02.\n\n",
      runs, gate_margin, typical, std::sqrt(0.02 * 0.98 / static_cast<double>(runs)));
  page.rules();
  page.spreads();
  page.sizes();
  return page.out;
}

}  // namespace pesuite
