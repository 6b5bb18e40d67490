#include "model/sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/interval.h"
#include "model/metrics.h"

namespace pesuite {

void score_all(const Scorer& model, const Task& task, int pass_tokens, int length,
               std::uint64_t seed, std::int64_t steps, const std::vector<Task::Request>& requests,
               const std::function<void(double)>& progress,
               const std::function<void(const Scored&)>& body) {
  const auto n = static_cast<std::size_t>(length);  // with FILL
  const auto pass = static_cast<std::size_t>(std::max(1, pass_tokens / length));
  for (std::size_t done = 0; done < requests.size(); done += pass) {
    const std::size_t size = std::min(pass, requests.size() - done);
    const Batch b = batch_of(task, std::span(requests).subspan(done, size));
    const Scores scores = model(b, evaluation_step(b.size, length, seed, steps));
    for (std::size_t k = 0; k < scores.nats.size(); ++k) {
      const auto place = static_cast<std::size_t>(scores.place[k]);
      body(Scored{done + place / n, static_cast<int>(place % n), b.targets[place], scores.nats[k],
                  b.optimum[place], scores.best[k] == b.targets[place],
                  scores.rank.empty() ? 0 : scores.rank[k], b.distances[place]});
    }
    if (progress) progress(static_cast<double>(done + size) / static_cast<double>(requests.size()));
  }
}

Clustered mean(const std::vector<Sums>& units, double (*sum)(const Sums&)) {
  double total = 0;
  std::int64_t count = 0;
  for (const Sums& u : units) {
    total += sum(u);
    count += u.count;
  }
  const double value = total / static_cast<double>(count);
  double squares = 0;
  const auto n = static_cast<double>(units.size());
  for (const Sums& u : units) {
    const double r = sum(u) - value * static_cast<double>(u.count);
    squares += r * r;
  }
  const double se =
      n > 1 ? std::sqrt(squares * n / (n - 1)) / static_cast<double>(count) : Observation::none;
  return {value, se};
}

std::int64_t units_of(const std::vector<Sums>& all) {
  return std::count_if(all.begin(), all.end(), [](const Sums& s) { return s.count > 0; });
}
std::int64_t targets_of(const std::vector<Sums>& all) {
  std::int64_t count = 0;
  for (const Sums& s : all) count += s.count;
  return count;
}

void Recalled::add(std::size_t unit, int distance, const Sums& one) {
  if (distance < 0) return;
  const auto b = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(distance)));
  while (buckets_.size() <= b) buckets_.emplace_back(units_);
  buckets_[b][unit] += one;
}

void Recalled::each(Json coords,
                    const std::function<void(const std::vector<Sums>&, const Json&)>& body) const {
  if (buckets_.empty()) return;
  coords["bucket"] = "recall";
  std::vector<Sums> all(units_);
  for (const auto& bucket : buckets_)
    for (std::size_t u = 0; u < units_; ++u) all[u] += bucket[u];
  body(all, coords);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (std::all_of(buckets_[b].begin(), buckets_[b].end(),
                    [](const Sums& s) { return s.count == 0; }))
      continue;
    coords["dist_lo"] = b == 0 ? 0 : 1 << (b - 1);
    coords["dist_hi"] = 1 << b;
    body(buckets_[b], coords);
  }
}

Observation observation(const char* name, const std::string& split, const Json& coords,
                        const char* unit) {
  const Metric& m = metric(name);
  Observation o;
  o.metric = name, o.unit = unit != nullptr ? unit : std::string(m.unit);
  o.direction = m.direction(), o.split = split, o.coords = coords;
  return o;
}

Observation loss_of(const std::vector<Sums>& units, const char* unit, const std::string& split,
                    const Json& coords) {
  Sums all;
  for (const Sums& u : units) all += u;
  Observation o = observation("nll", split, coords, unit);
  const Clustered m = mean(units, [](const Sums& s) { return s.nats; });
  o.value = m.value, o.standard_error = m.standard_error;
  o.n = units_of(units);
  o.sum = all.nats, o.count = all.count;
  o.settle();
  return o;
}

void add_regret(const std::vector<Sums>& units, const char* unit, const std::string& split,
                const Json& coords, std::vector<Observation>& out) {
  Sums all;
  for (const Sums& u : units) all += u;
  if (!std::isfinite(all.optimum)) return;
  Observation o = observation("regret", split, coords, unit);
  const Clustered m = mean(units, [](const Sums& s) { return s.nats - s.optimum; });
  o.value = m.value, o.standard_error = m.standard_error;
  o.n = units_of(units);
  o.sum = all.nats - all.optimum, o.count = all.count;
  o.settle();
  out.push_back(o);
  o = observation("optimum", split, coords, unit);
  o.value = all.optimum / static_cast<double>(all.count);
  o.n = units_of(units);
  o.sum = all.optimum, o.count = all.count;
  out.push_back(std::move(o));
}

Observation accuracy(const std::vector<Sums>& examples, const char* metric,
                     const std::string& split, const Json& coords, double chance) {
  Observation o = observation(metric, split, coords);
  const Clustered m = mean(examples, [](const Sums& s) { return s.correct; });
  o.count = targets_of(examples);
  o.n = units_of(examples);
  o.value = m.value, o.standard_error = m.standard_error;
  o.sum = m.value * static_cast<double>(o.count);
  o.chance = chance;
  const auto n = static_cast<double>(o.n), most = static_cast<double>(o.count);
  const double spread = m.value * (1 - m.value);
  const double effective =
      m.standard_error > 0 ? spread / (m.standard_error * m.standard_error) : n;
  const Interval i = wilson(m.value, std::clamp(effective, std::min(n, most), most));
  o.low = i.low, o.high = i.high;
  return o;
}

}  // namespace pesuite
