#include "suite/length_metrics.h"

#include <algorithm>
#include <cmath>

#include "suite/report_tables.h"

namespace pesuite {

namespace {

double nats_at(const CellData& c, const char* metric, const std::string& protocol, int length) {
  const Number* n = c.find(whole(metric, protocol, length));
  return n == nullptr ? Number::none : n->value;
}

constexpr double worth_measuring = 0.005;  // nats that the optimum gains

}  // namespace

bool same_tokens(const std::string& protocol) {
  return protocol.starts_with("last") || protocol.starts_with("sliding");
}

double context_use(const TaskData& t, const CellData& c, const std::string& protocol, int longer) {
  const auto gain = [&](const char* metric) {
    return nats_at(c, metric, protocol, t.train_length) - nats_at(c, metric, protocol, longer);
  };
  const double possible = gain("optimum");
  return possible >= worth_measuring ? gain("nll") / possible : Number::none;
}

double extrapolation_ratio(const TaskData& t, const CellData& c, const std::string& protocol,
                           int length) {
  return std::exp(nats_at(c, "nll", protocol, length) -
                  nats_at(c, "nll", protocol, t.train_length));
}

LengthCurve length_curve(const TaskData& t, const CellData& c, const std::string& protocol) {
  LengthCurve out;
  if (!protocol.empty()) {
    out.lower_is_better = true;
    const char* metric = t.has("regret") ? "regret" : "nll";
    for (const int l : t.lengths)
      if (const double x = nats_at(c, metric, protocol, l); l >= t.train_length && !std::isnan(x))
        out.points.emplace_back(l, x);
    return out;
  }
  for (const int l : t.lengths) {
    double sum = 0, chance = 0, n = 0;
    for (const Setting& s : t.settings) {
      if (s.length != l || l < t.train_length) continue;
      const SettingPart part{&s, s.seen && s.unseen ? "unseen" : "", ""};
      const Number* found = c.find(accuracy_place(part));
      if (found == nullptr || std::isnan(found->value)) continue;
      sum += found->value, chance += chance_of(t, part), ++n;
    }
    if (n == 0) continue;
    if (out.points.empty()) out.chance = chance / n;
    out.points.emplace_back(l, sum / n);
  }
  return out;
}

int effective_length(const LengthCurve& c, double threshold, double slack) {
  int longest = 0;
  for (const auto& [length, score] : c.points) {
    const bool good = c.lower_is_better ? score <= c.points[0].second + slack : score >= threshold;
    if (!good) break;
    longest = length;
  }
  return longest;
}

double half_life(const LengthCurve& c, int train_length) {
  if (c.lower_is_better || c.points.empty() || c.points[0].first != train_length ||
      std::isnan(c.chance))
    return Number::none;
  const double start = c.points[0].second - c.chance;
  for (const auto& [length, score] : c.points)
    if (score - c.chance < start / 2) return static_cast<double>(length) / train_length;
  return std::numeric_limits<double>::infinity();
}

double area_under_curve(const LengthCurve& c) {
  if (c.points.size() < 2) return Number::none;
  double area = 0;
  for (std::size_t i = 1; i < c.points.size(); ++i)
    area += (c.points[i].second + c.points[i - 1].second) / 2 *
            std::log2(static_cast<double>(c.points[i].first) / c.points[i - 1].first);
  return area / std::log2(static_cast<double>(c.points.back().first) / c.points[0].first);
}

}  // namespace pesuite
