#include "analysis/length_metrics.h"

#include <algorithm>
#include <cmath>

#include "analysis/places.h"

namespace pesuite {

namespace {

double nats_at(const CellData& c, const char* metric, const std::string& protocol, int length) {
  const Number* n = c.find(whole(metric, protocol, length));
  return n == nullptr ? Number::none : n->value;
}

constexpr double worth_measuring = 0.005;  // nats that the optimum gains

}  // namespace

double above_chance(double accuracy, double chance) {
  return std::clamp((accuracy - chance) / (1 - chance), -0.1, 1.0);
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
        out.points.push_back({l, x, 0, l > t.train_length});
    return out;
  }
  for (const int l : t.lengths) {
    double sum = 0, chance = 0, n = 0;
    bool unseen = true;
    for (const Setting& s : t.settings) {
      if (s.length != l || l < t.train_length) continue;
      const Place part = score_place(t, {&s, s.seen && s.unseen ? "unseen" : "", ""});
      const Number* found = c.find(part);
      if (found == nullptr || std::isnan(found->value)) continue;
      sum += found->value, chance += chance_to_beat(t, part), ++n;
      if (s.trained) unseen = false;
    }
    if (n > 0) out.points.push_back({l, sum / n, chance / n, unseen});
  }
  return out;
}

int effective_length(const LengthCurve& c, const LengthSettings& s) {
  int longest = 0;
  for (const LengthCurve::Point& p : c.points) {
    const bool good =
        c.lower_is_better ? p.score <= c.points[0].score + s.slack : p.score >= s.accuracy;
    if (!good) break;
    longest = p.length;
  }
  return longest;
}

double half_life(const LengthCurve& c, int train_length) {
  if (c.lower_is_better || c.points.empty() || c.points[0].length != train_length)
    return Number::none;
  const double start = above_chance(c.points[0].score, c.points[0].chance);
  if (!(start > 0)) return Number::none;  // half of nothing
  for (const LengthCurve::Point& p : c.points) {
    const double here = above_chance(p.score, p.chance);
    if (std::isnan(here)) return Number::none;
    if (here < start / 2) return static_cast<double>(p.length) / train_length;
  }
  return std::numeric_limits<double>::infinity();
}

namespace {

double weight_of(const LengthSettings& s, std::size_t i, std::size_t n) {
  if (!s.own.empty()) return s.own[std::min(i, s.own.size() - 1)];
  if (s.weights == "rising") return static_cast<double>(i + 1);
  if (s.weights == "falling") return static_cast<double>(n - i);
  return 1;
}

}  // namespace

double mean_over_unseen(const LengthCurve& c) {
  double sum = 0, n = 0;
  for (const LengthCurve::Point& p : c.points)
    if (p.unseen) sum += p.score, ++n;
  return n > 0 ? sum / n : Number::none;
}

double area_under_curve(const LengthCurve& c, const LengthSettings& s) {
  if (c.points.size() < 2) return Number::none;
  if (!s.own.empty() || s.weights != "log2") {
    double sum = 0, all = 0;
    for (std::size_t i = 0; i < c.points.size(); ++i) {
      const double w = weight_of(s, i, c.points.size());
      if (w > 0) sum += w * c.points[i].score, all += w;  // 0 takes out an infinite loss too
    }
    return all > 0 ? sum / all : Number::none;
  }
  double area = 0;
  for (std::size_t i = 1; i < c.points.size(); ++i)
    area += (c.points[i].score + c.points[i - 1].score) / 2 *
            std::log2(static_cast<double>(c.points[i].length) / c.points[i - 1].length);
  return area / std::log2(static_cast<double>(c.points.back().length) / c.points[0].length);
}

}  // namespace pesuite
