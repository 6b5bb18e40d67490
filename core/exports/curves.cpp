#include "exports/curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/paired.h"
#include "base/error.h"
#include "base/json_error.h"
#include "base/text.h"

namespace pesuite {

namespace {

using Points = std::map<std::uint64_t, std::map<std::int64_t, double>>;  // by seed and step

// Only what all seeds have; a seed that lacks most steps, as one that diverged does, is left out.
void fill(Curve& c, const Points& points) {
  std::size_t most = 0;
  for (const auto& [seed, of] : points) most = std::max(most, of.size());
  std::map<std::int64_t, std::size_t> count;
  for (const auto& [seed, of] : points) {
    if (of.size() < most) continue;
    c.seeds.push_back(seed);
    for (const auto& [step, value] : of) ++count[step];
  }
  for (const auto& [step, n] : count)
    if (n == c.seeds.size()) c.steps.push_back(step);
  for (const std::uint64_t seed : c.seeds) {
    c.values.emplace_back();
    for (const std::int64_t step : c.steps) c.values.back().push_back(points.at(seed).at(step));
  }
}

// Mean over the second half of the steps, the validation's last ones where it has few.
double late_mean(const std::vector<double>& values) {
  double sum = 0;
  const std::size_t from = values.size() / 2;
  for (std::size_t i = from; i < values.size(); ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - from);
}

CurveVerdict compare_one(const Curve& r, const Curve& n, double margin) {
  using Kind = CurveVerdict::Kind;
  if (r.series != n.series || r.steps != n.steps)
    return {Kind::other, r.name(),
            "it is of another definition: steps, settings or versions differ"};
  if (r.seeds == n.seeds && r.values == n.values)
    return {Kind::identical, r.name(),
            fmt::format("all {} numbers are the same", r.steps.size() * r.seeds.size())};
  Differences d;
  for (std::size_t i = 0; i < r.seeds.size(); ++i) {
    const auto it = std::find(n.seeds.begin(), n.seeds.end(), r.seeds[i]);
    if (it != n.seeds.end())
      d.push_back(late_mean(n.values[static_cast<std::size_t>(it - n.seeds.begin())]) -
                  late_mean(r.values[i]));
  }
  const PairedTest t(d);
  if (!t.possible())
    return {Kind::inconclusive, r.name(),
            fmt::format("{}: {} in common", t.why_not(), counted(d.size(), "seed"))};
  const Interval i = t.interval();
  const std::string numbers = fmt::format("{:+.4f} nats over the second half ({:+.4f} to {:+.4f})",
                                          t.mean(), i.low, i.high);
  if (t.p_above(margin) < significance) return {Kind::slower, r.name(), numbers};
  if (t.p_below(-margin) < significance) return {Kind::faster, r.name(), numbers};
  if (t.p_equivalent(margin) < significance) return {Kind::equivalent, r.name(), numbers};
  return {Kind::inconclusive, r.name(), numbers};
}

}  // namespace

std::string Curve::name() const {
  return fmt::format("{} · {} · {}, {}", task, encoding, model, split);
}

std::vector<Curve> curves_of(const std::vector<Json>& records) {
  std::vector<Curve> out;
  std::vector<Points> points;
  std::map<std::string, std::size_t> known;
  for (const Json& r : records) {
    if (r.value("part", "") != "train" || r.value("metric", "") != "nll" || !r.contains("value") ||
        !r["value"].is_number() || r["coords"].contains("mix"))
      continue;
    Curve c;
    c.suite = r.value("suite", ""), c.encoding = r.at("encoding").value("id", "");
    c.task = r.value("task", ""), c.model = r.value("model", ""), c.split = r.value("split", "");
    c.series = r.value("series", "");
    const auto [it, is_new] = known.emplace(c.name() + c.series, out.size());
    if (is_new) out.push_back(c), points.emplace_back();
    points[it->second][r.value("seed", std::uint64_t{0})][r.value("step", std::int64_t{0})] =
        r["value"].get<double>();
  }
  for (std::size_t i = 0; i < out.size(); ++i) fill(out[i], points[i]);
  return out;
}

Json to_json(const std::vector<Curve>& all) {
  Json curves = Json::array();
  for (const Curve& c : all)
    curves.push_back({{"suite", c.suite},
                      {"encoding", c.encoding},
                      {"task", c.task},
                      {"model", c.model},
                      {"split", c.split},
                      {"series", c.series},
                      {"unit", "nats/token"},
                      {"steps", c.steps},
                      {"seeds", c.seeds},
                      {"values", c.values}});
  return {{"schema", "pesuite.curves/1"}, {"curves", curves}};
}

std::vector<Curve> read_curves(const fs::path& file) {
  const Json j = Json::parse(read_file(file), nullptr, false);
  if (!j.is_object() || j.value("schema", Json()) != "pesuite.curves/1")
    fail(Exit::data, "{}: these are no curves; 'pesuite export RUN --to curves' writes them",
         file.string());
  std::vector<Curve> out;
  try {
    for (const Json& c : j.at("curves")) {
      Curve x{c.at("suite"),  c.at("encoding"), c.at("task"),  c.at("model"), c.at("split"),
              c.at("series"), c.at("steps"),    c.at("seeds"), c.at("values")};
      bool whole = x.values.size() == x.seeds.size();
      for (const auto& v : x.values) whole = whole && v.size() == x.steps.size();
      if (!whole || x.steps.empty())
        fail(Exit::data, "{}: the curve {} is damaged", file.string(), x.name());
      out.push_back(std::move(x));
    }
  } catch (const Json::exception& e) {
    fail(Exit::data, "{}: its curves are damaged: {}", file.string(), json_error(e));
  }
  return out;
}

std::vector<CurveVerdict> compare_curves(const std::vector<Curve>& reference,
                                         const std::vector<Curve>& now, double margin) {
  std::vector<CurveVerdict> out;
  for (const Curve& r : reference) {
    const auto it = std::find_if(now.begin(), now.end(), [&](const Curve& n) {
      return n.suite == r.suite && n.name() == r.name();
    });
    if (it == now.end())
      out.push_back({CurveVerdict::Kind::missing, r.name(), "the run does not have it"});
    else
      out.push_back(compare_one(r, *it, margin));
  }
  return out;
}

}  // namespace pesuite
