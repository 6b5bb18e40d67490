#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/isolate.h"
#include "base/text.h"
#include "bench/common.h"
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

Result bench_profile(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  Result result;
  for (const std::string& e : s.encodings) {
    TimedBackend backend(open(s));
    Trainee t(catalog, backend, e, w.model, w.length, w.length);
    const Batch batch = random_batch(w.batch, w.length, w.model.vocabulary);
    const auto tokens = static_cast<double>(batch.tokens.size());
    t.train(batch);  // makes primitives and the arena
    backend.clear();
    const Subject step{
        fmt::format("profile/{}/{}", s.config, e),
        [&] { t.train(batch); },
        3 * static_cast<double>(batch.tokens.size()) * forward_flops(w.model, w.length),
        static_cast<double>(batch.tokens.size()),
        {}};
    std::int64_t steps = 0;
    double total = 0, kernels = 0;  // seconds of all steps that ran, warm-up included
    const Subject counted{fmt::format("profile/{}/{}", s.config, e),
                          [&] {
                            const double start = seconds_now();
                            t.train(batch);
                            total += seconds_now() - start;
                            ++steps;
                          },
                          3 * tokens * forward_flops(w.model, w.length),
                          tokens,
                          {}};
    const Timing whole = interleave(std::span(&counted, 1), s.plan)[0];
    total /= static_cast<double>(steps);
    std::vector<std::tuple<double, std::string, double>> parts;
    for (const auto& [name, time] : backend.times()) {
      const double seconds = time.seconds / static_cast<double>(steps);
      kernels += seconds;
      parts.emplace_back(seconds, name,
                         static_cast<double>(time.calls) / static_cast<double>(steps));
    }
    std::sort(parts.rbegin(), parts.rend());
    std::vector<std::vector<std::string>> rows = {{"kernel", "calls", "ms a step", "share"}};
    const auto row = [&](const std::string& name, const std::string& calls, double seconds) {
      rows.push_back({name, calls, fmt::format("{:.4f}", 1e3 * seconds),
                      fmt::format("{:.1f} %", 100 * seconds / total)});
      Timing part;
      part.name = whole.name + "/" + name, part.seconds = {seconds}, part.cpu_seconds = {seconds};
      part.iterations = steps;
      result.timings.push_back(part);
    };
    for (const auto& [seconds, name, calls] : parts)
      row(name, fmt::format("{:.4g}", calls), seconds);
    row("outside of kernels", "", total - kernels);
    rows.push_back({"step", "", fmt::format("{:.4f}", 1e3 * total), "100 %"});
    result.timings.push_back(whole);
    result.table += fmt::format("{}{}, encoding {}\n\n{}", result.table.empty() ? "" : "\n",
                                s.config, e, plain_table(rows));
  }
  result.memory = peak_memory();
  return result;
}

}  // namespace pesuite::bench
