#include "analysis/gate_calibration.h"

#include <algorithm>
#include <cmath>
#include <pesuite/random.hpp>

#include "analysis/gate_tests.h"
#include "analysis/numbers.h"
#include "analysis/statistics.h"
#include "model/metrics.h"

namespace pesuite {

namespace {

struct CalibrationSeries {
  SeriesName name;
  Differences worse;  // a pair each
  double margin = 0, spread = 0;
  bool gated = false, nats = false;
};

double deviation_of(const std::vector<double>& x) {
  if (x.size() < 2) return 0;
  double mean = 0, sum = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(x.size() - 1));
}

std::vector<CalibrationSeries> pairs_of(const Measurement& first, const Measurement& second,
                                        const std::vector<GateRule>& rules) {
  std::vector<CalibrationSeries> out;
  for (const MeasuredSeries& a : first.series) {
    const auto b = std::find_if(second.series.begin(), second.series.end(),
                                [&](const MeasuredSeries& s) { return s.name == a.name; });
    if (b == second.series.end()) continue;
    CalibrationSeries s;
    s.name = a.name;
    std::vector<double> values;
    for (const auto& [seed, number] : a.seeds) {
      const auto other = b->seeds.find(seed);
      if (other == b->seeds.end() || !std::isfinite(number.value) ||
          !std::isfinite(other->second.value))
        continue;
      values.push_back(number.value);
      s.worse.push_back(other->second.value - number.value);
    }
    s.spread = deviation_of(values);
    s.nats = metric(a.name.place.metric).written == Metric::Written::nats;
    for (const GateRule& r : rules)
      if (r.covers(a.name.coordinates(), a.name.place.metric, a.name.place.length,
                   a.name.train_length)) {
        s.gated = true, s.margin = r.margin;
        break;
      }
    out.push_back(std::move(s));
  }
  return out;
}

// Some pairs stand for a gate's seeds, the others calibrate it: how often does it alarm?
void count_alarms(const std::vector<CalibrationSeries>& all, std::size_t seeds,
                  GateCalibration& out) {
  constexpr std::size_t gates = 400;
  if (out.pairs < seeds + fewest_calibrating) return;
  std::size_t alarms = 0;
  for (std::size_t g = 0; g < gates; ++g) {
    pes::Random random(g, pes::purpose("gate calibration"), 0);
    std::vector<std::size_t> order(out.pairs);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1],
                order[std::min(
                    i - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(i)))]);
    std::vector<Differences> fresh;
    std::vector<Calibrated> known;
    std::vector<double> margins, p;
    for (const CalibrationSeries& s : all) {
      if (!s.gated || s.worse.size() != out.pairs) continue;
      Differences a, b;
      for (std::size_t i = 0; i < order.size(); ++i)
        (i < seeds ? a : b).push_back(s.worse[order[i]]);
      fresh.push_back(a), known.push_back(calibrated_by(b)), margins.push_back(s.margin);
    }
    const std::vector<PairedTest> tests = gate_tests(fresh, known);
    for (std::size_t i = 0; i < tests.size(); ++i) p.push_back(tests[i].p_above(margins[i]));
    for (const double x : holm(p))
      if (x < significance) {
        ++alarms;
        break;
      }
  }
  out.gates = gates;
  out.false_alarms = static_cast<double>(alarms) / static_cast<double>(gates);
}

void advise(const std::vector<CalibrationSeries>& all, GateCalibration& out) {
  std::vector<double> deviations;
  for (const CalibrationSeries& s : all)
    if (s.gated && s.nats && s.worse.size() >= 2) deviations.push_back(deviation_of(s.worse));
  if (deviations.empty()) return;
  std::sort(deviations.begin(), deviations.end());
  const double most = deviations[(deviations.size() - 1) * 9 / 10], usual = median(deviations);
  for (const std::size_t seeds : {std::size_t{3}, std::size_t{5}, std::size_t{8}}) {
    const auto degrees = static_cast<double>(out.pairs + seeds) - 2;
    const double root = std::sqrt(static_cast<double>(seeds));
    const double needed = (t_quantile(0.95, degrees) + t_quantile(0.95, degrees)) * most / root;
    double margin = 0.001;  // 1, 2, 5, 10, 20, 50 thousandths ...
    for (int i = 0; margin < needed && i < 20; ++i) margin *= i % 3 == 1 ? 2.5 : 2;
    const double level = significance / static_cast<double>(std::max<std::size_t>(1, out.gated));
    const double detectable =
        margin + (t_quantile(1 - level, degrees) + t_quantile(0.8, degrees)) * usual / root;
    out.advice.push_back({seeds, margin, detectable});
  }
}

}  // namespace

GateCalibration calibrate_gate(const Measurement& first, const Measurement& second,
                               const std::vector<GateRule>& rules, std::size_t seeds) {
  GateCalibration out;
  const std::vector<CalibrationSeries> all = pairs_of(first, second, rules);
  std::map<std::string, std::vector<Differences>> gated;
  for (const CalibrationSeries& s : all) {
    out.pairs = std::max(out.pairs, s.worse.size());
    out.series[s.name] = calibrated_by(s.worse, s.spread);
    if (!s.gated) continue;
    ++out.gated;
    gated[s.name.place.metric].push_back(s.worse);
  }
  for (const auto& [metric, series] : gated)
    if (const Differences mean = mean_over_series(series); mean.size() > 1)
      out.means[metric] = calibrated_by(mean);
  count_alarms(all, seeds, out);
  advise(all, out);
  return out;
}

}  // namespace pesuite
