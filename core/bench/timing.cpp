#include "bench/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "base/text.h"

namespace pesuite::bench {

namespace {

double cpu_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Quartiles quartiles(std::vector<double> v) {
  if (v.empty()) return {};
  std::sort(v.begin(), v.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(v.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, v.size() - 1);
    return v[below] + (place - static_cast<double>(below)) * (v[above] - v[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

std::pair<double, double> median_interval(std::vector<double> values) {
  const std::size_t n = values.size();
  std::sort(values.begin(), values.end());
  // P(fewer than k + 1 of n lie below the median), for k that grows as long as that is small
  double term = std::pow(0.5, static_cast<double>(n)), tail = term;
  std::size_t k = 0;
  for (; k < n && tail <= 0.025; ++k) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    tail += term;
  }
  if (k == 0) return {std::nan(""), std::nan("")};
  return {values[k - 1], values[n - k]};
}

double Timing::rate() const {
  const double t = time().median;
  return t > 0 ? flops / t : 0;
}
double Timing::tokens_per_second() const {
  const double t = time().median;
  return t > 0 ? tokens / t : 0;
}

std::vector<Timing> interleave(std::span<const Subject> subjects, const Plan& plan) {
  std::vector<Timing> out;
  const auto elapsed = [&](const std::function<void()>& body) {
    if (plan.elapsed) return plan.elapsed(body);
    const double start = seconds_now();
    body();
    return seconds_now() - start;
  };
  double round = 0;  // seconds of a window of each
  for (const Subject& s : subjects) {
    if (plan.progress)
      plan.progress(
          fmt::format("warming up {} of {}: {}", out.size() + 1, subjects.size(), s.name));
    elapsed(s.run);  // makes its primitives, touches its memory
    Timing t;
    t.name = s.name, t.flops = s.flops, t.tokens = s.tokens;
    const double once = elapsed(s.run);
    t.iterations = std::max<std::int64_t>(1, std::llround(plan.window / once));
    round += once * static_cast<double>(t.iterations);
    out.push_back(std::move(t));
  }
  const double start = seconds_now();
  for (int repetition = 0; repetition < plan.repetitions; ++repetition) {
    if (plan.progress) {
      if (repetition > 0) round = (seconds_now() - start) / repetition;
      const double left = round * (plan.repetitions - repetition);
      plan.progress(fmt::format("window {} of {}, {} left", repetition + 1, plan.repetitions,
                                format_seconds(left)));
    }
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      Timing& t = out[i];
      const double cpu_start = cpu_now();
      const double seconds = elapsed([&] {
        for (std::int64_t k = 0; k < t.iterations; ++k) subjects[i].run();
      });
      const auto n = static_cast<double>(t.iterations);
      t.seconds.push_back(seconds / n);
      t.cpu_seconds.push_back((cpu_now() - cpu_start) / n);
    }
  }
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i].facts) out[i].facts = subjects[i].facts();
  return out;
}

std::string timing_table(std::span<const Timing> all, double peak) {
  const auto any = [&](auto what) { return std::any_of(all.begin(), all.end(), what); };
  const bool tokens = any([](const Timing& t) { return t.tokens > 0; });
  const bool rates = any([](const Timing& t) { return t.flops > 0; });
  Facts facts;
  for (const Timing& t : all)
    if (t.facts.size() > facts.size()) facts = t.facts;
  std::vector<std::vector<std::string>> rows = {{"benchmark", "ms", "quartiles"}};
  if (tokens) rows[0].push_back("tokens/s");
  if (rates) rows[0].insert(rows[0].end(), {"GFLOP/s", "of peak"});
  for (const auto& [name, value] : facts) rows[0].push_back(name);
  const auto ms = [](double s) { return fmt::format("{:.4g}", 1e3 * s); };
  for (const Timing& t : all) {
    const Quartiles q = t.time();
    rows.push_back({t.name, ms(q.median), fmt::format("{} .. {}", ms(q.low), ms(q.high))});
    auto& row = rows.back();
    if (tokens) row.push_back(t.tokens > 0 ? format_count(t.tokens_per_second()) : "");
    if (rates) {
      row.push_back(t.flops > 0 ? fmt::format("{:.1f}", 1e-9 * t.rate()) : "");
      row.push_back(t.flops > 0 && peak > 0 ? fmt::format("{:.0f} %", 100 * t.rate() / peak) : "");
    }
    for (const auto& [name, value] : facts) {
      const auto it = std::find_if(t.facts.begin(), t.facts.end(),
                                   [&name = name](const auto& f) { return f.first == name; });
      row.push_back(it == t.facts.end() ? "" : format_count(it->second));
    }
  }
  std::string table = plain_table(rows);
  for (const Timing& t : all)
    if (peak > 0 && t.rate() > believable * peak)
      table += fmt::format(
          "{} did {:.1f} times the FLOP/s of a large product, if all keys before a token count: its "
          "encoding leaves far ones out, or the product was held up.\n",
          t.name, t.rate() / peak);
  return table;
}

Json google_benchmark(std::span<const Timing> all, const Json& context) {
  Json list = Json::array();
  std::size_t family = 0;
  for (const Timing& t : all) {
    const auto entry = [&](const char* type, double seconds, double cpu) {
      Json j = {{"name", t.name},
                {"family_index", family},
                {"run_name", t.name},
                {"run_type", type},
                {"repetitions", t.seconds.size()},
                {"threads", 1},
                {"iterations", t.iterations},
                {"real_time", 1e9 * seconds},
                {"cpu_time", 1e9 * cpu},
                {"time_unit", "ns"}};
      if (t.tokens > 0) j["tokens_per_second"] = t.tokens / seconds;
      if (t.flops > 0) j["flops_per_second"] = t.flops / seconds;
      for (const auto& [name, value] : t.facts) j[name] = value;
      return j;
    };
    for (std::size_t i = 0; i < t.seconds.size(); ++i) {
      Json j = entry("iteration", t.seconds[i], t.cpu_seconds[i]);
      j["repetition_index"] = i;
      list.push_back(std::move(j));
    }
    const Quartiles real = t.time(), cpu = quartiles(t.cpu_seconds);
    for (const auto& [name, r, c] :
         {std::tuple{"median", real.median, cpu.median}, std::tuple{"q1", real.low, cpu.low},
          std::tuple{"q3", real.high, cpu.high}}) {
      Json j = entry("aggregate", r, c);
      j["name"] = fmt::format("{}_{}", t.name, name);
      j["aggregate_name"] = name;
      j["aggregate_unit"] = "time";
      list.push_back(std::move(j));
    }
    ++family;
  }
  return {{"context", context}, {"benchmarks", list}};
}

}  // namespace pesuite::bench
