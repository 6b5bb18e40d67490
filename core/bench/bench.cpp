#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/isolate.h"
#include "base/text.h"
#include "bench/common.h"
#include "bench/dry_backend.h"
#include "bench/timed_backend.h"

namespace pesuite::bench {

Result bench_train(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  const auto backend = open(s);
  const Batch batch = random_batch(w.batch, w.length, w.model.vocabulary);
  const double tokens = static_cast<double>(batch.tokens.size());
  std::vector<std::unique_ptr<Trainee>> all;
  std::vector<Subject> subjects;
  for (const std::string& e : s.encodings) {
    all.push_back(std::make_unique<Trainee>(catalog, *backend, e, w.model, w.length, w.length));
    Trainee& t = *all.back();
    subjects.push_back({fmt::format("train/{}/{}", s.config, e), [&] { t.train(batch); },
                        3 * tokens * forward_flops(w.model, w.length), tokens,
                        [&] { return t.facts(); }});
  }
  return finish(std::move(subjects), *backend, s.plan);
}

Result bench_eval(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  const auto backend = open(s);
  const int longest = *std::max_element(s.lengths.begin(), s.lengths.end());
  std::vector<Batch> batches;
  for (const int length : s.lengths)
    batches.push_back(random_batch(std::max(1, usual_pass_tokens(backend->name()) / length), length,
                                   w.model.vocabulary));
  std::vector<std::unique_ptr<Trainee>> all;
  std::vector<Subject> subjects;
  for (const std::string& e : s.encodings) {
    all.push_back(std::make_unique<Trainee>(catalog, *backend, e, w.model, w.length, longest));
    Trainee& t = *all.back();
    for (const Batch& b : batches) {
      const auto tokens = static_cast<double>(b.tokens.size());
      subjects.push_back({fmt::format("eval/{}/{}/{}", s.config, e, b.length), [&] { t.score(b); },
                          tokens * forward_flops(w.model, b.length), tokens,
                          [&] { return t.facts(); }});
    }
  }
  return finish(std::move(subjects), *backend, s.plan);
}

namespace {

struct Part {  // of a step
  std::string name;
  double calls = 0, seconds = 0;
  Work work;
};
// What a backend did in `steps` steps, a step's part each; the longest first.
std::vector<Part> parts_of(const TimedBackend& backend, std::int64_t steps) {
  std::vector<Part> parts;
  const double share = 1 / static_cast<double>(steps);
  for (const auto& [name, t] : backend.times())
    parts.push_back({name,
                     share * static_cast<double>(t.calls),
                     share * t.seconds,
                     {share * t.work.bytes, share * t.work.flops}});
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
  return parts;
}
// The least time of the calls of a part, which are much alike.
double least(const Part& p, const Rates& rates) {
  return p.calls * rates.seconds({p.work.bytes / p.calls, p.work.flops / p.calls});
}
std::string in_ms(double seconds) {
  return fmt::format("{:.4f}", 1e3 * seconds);
}
std::string in_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}
// Cells for people about what a part has to do.
std::vector<std::string> work_cells(const Work& w) {
  return {fmt::format("{:.3g}", 1e-6 * w.bytes), fmt::format("{:.3g}", 1e-9 * w.flops)};
}
Timing timing_of(const std::string& name, double seconds, std::int64_t steps) {
  Timing t;
  t.name = name, t.seconds = {seconds}, t.cpu_seconds = {seconds}, t.iterations = steps;
  return t;
}
void add_table(Result& result, const std::string& heading,
               const std::vector<std::vector<std::string>>& rows) {
  result.table +=
      fmt::format("{}{}\n\n{}", result.table.empty() ? "" : "\n", heading, plain_table(rows));
}
double step_flops(const Workload& w, double tokens) {
  return 3 * tokens * forward_flops(w.model, w.length);
}

}  // namespace

Result bench_profile(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  Result result;
  for (const std::string& e : s.encodings) {
    TimedBackend backend(open(s));
    // On a CPU most of a small step stays in caches, which memory's speed says nothing about.
    std::optional<Rates> rates;
    if (backend.name() == "cuda") rates = measured_rates(backend, s.plan);
    Trainee t(catalog, backend, e, w.model, w.length, w.length);
    const Batch batch = random_batch(w.batch, w.length, w.model.vocabulary);
    const auto tokens = static_cast<double>(batch.tokens.size());
    t.train(batch);  // makes primitives and the arena
    backend.clear();
    std::int64_t steps = 0;
    double total = 0, kernels = 0;  // seconds of all steps that ran, warm-up included
    const Subject counted{fmt::format("profile/{}/{}", s.config, e),
                          [&] {
                            const double start = seconds_now();
                            t.train(batch);
                            total += seconds_now() - start;
                            ++steps;
                          },
                          step_flops(w, tokens),
                          tokens,
                          {}};
    const Timing whole = interleave(std::span(&counted, 1), s.plan)[0];
    total /= static_cast<double>(steps);
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "calls", "ms a step", "share", "MB", "GFLOP"}};
    if (rates) rows[0].insert(rows[0].end(), {"at least ms", "times that"});
    for (const Part& p : parts_of(backend, steps)) {
      kernels += p.seconds;
      rows.push_back({p.name, fmt::format("{:.4g}", p.calls), in_ms(p.seconds),
                      in_percent(p.seconds / total)});
      auto& row = rows.back();
      for (const std::string& cell : work_cells(p.work)) row.push_back(cell);
      if (rates && least(p, *rates) > 0) {
        row.push_back(in_ms(least(p, *rates)));
        row.push_back(fmt::format("{:.2f}", p.seconds / least(p, *rates)));
      }
      result.timings.push_back(timing_of(whole.name + "/" + p.name, p.seconds, steps));
    }
    rows.push_back(
        {"outside of kernels", "", in_ms(total - kernels), in_percent((total - kernels) / total)});
    rows.push_back({"step", "", in_ms(total), "100 %"});
    result.timings.push_back(timing_of(whole.name + "/outside of kernels", total - kernels, steps));
    result.timings.push_back(whole);
    std::string heading = fmt::format("{}, encoding {}", s.config, e);
    if (rates)
      heading += fmt::format(
          "; at least: {:.0f} GB/s of memory, {:.0f} TFLOP/s of products, as "
          "measured before",
          1e-9 * rates->bytes, 1e-12 * rates->flops);
    add_table(result, heading, rows);
  }
  result.memory = peak_memory();
  return result;
}

Result bench_model(const Catalog& catalog, const Settings& s, const std::string& device) {
  const Rates rates = published_rates(device, s.precision);
  const Workload w = workload(s.config);
  Result result;
  result.peak = rates.flops;
  for (const std::string& e : s.encodings) {
    DryBackend backend(s.precision);
    Trainee t(catalog, backend, e, w.model, w.length, w.length);
    backend.clear();
    const Batch batch = random_batch(w.batch, w.length, w.model.vocabulary);
    t.train(batch);
    std::vector<Part> parts = parts_of(backend, 1);
    for (Part& p : parts) p.seconds = least(p, rates);
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
    Part step{"step", 0, 0, {}};
    for (const Part& p : parts)
      step.calls += p.calls, step.seconds += p.seconds, step.work += p.work;
    parts.push_back(step);
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "calls", "at least ms", "share", "MB", "GFLOP", "bound by"}};
    const std::string name = fmt::format("model/{}/{}/{}", device, s.config, e);
    for (const Part& p : parts) {
      const double memory = p.work.bytes / rates.bytes, products = p.work.flops / rates.flops;
      rows.push_back({p.name, fmt::format("{:.4g}", p.calls), in_ms(p.seconds),
                      in_percent(p.seconds / step.seconds)});
      for (const std::string& cell : work_cells(p.work)) rows.back().push_back(cell);
      if (&p != &parts.back())
        rows.back().push_back(p.seconds > std::max(memory, products) * 1.0001 ? "its start"
                              : products > memory                             ? "products"
                                                                              : "memory");
      result.timings.push_back(
          timing_of(p.name == "step" ? name : name + "/" + p.name, p.seconds, 1));
    }
    Timing& whole = result.timings.back();
    whole.tokens = static_cast<double>(batch.tokens.size());
    whole.flops = step_flops(w, whole.tokens);
    add_table(result,
              fmt::format("{}, encoding {}, {}: {:.4g} GB/s of memory, {:.4g} TFLOP/s of "
                          "products as published, {:.0f} us an op at least\n"
                          "{} tokens/s at most, {:.0f} % of the peak",
                          s.config, e, rates.of, 1e-9 * rates.bytes, 1e-12 * rates.flops,
                          1e6 * rates.start, format_count(whole.tokens_per_second()),
                          100 * whole.rate() / rates.flops),
              rows);
  }
  result.memory = peak_memory();
  return result;
}

}  // namespace pesuite::bench
