// Prompts and tokens behind a cache, beside the speed at which memory is read in the same run.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "model/cache.h"
#include "pesuite/random.hpp"

namespace pesuite::bench {

namespace {

constexpr int written = 128;         // tokens of an iteration, from an empty cache on
constexpr int texts = 8, apart = 5;  // of texts of several lengths: 5, 10, ... tokens

// A model that reads, with weights of some numbers.
class Writer {
 public:
  Writer(const Catalog& catalog, Backend& backend, const std::string& encoding, const Workload& w,
         int longest)
      : model_(backend, w.model,
               compose(catalog, encoding, shape_of(w.model, w.length, std::max(longest, w.length))),
               1, {.trains = false, .rounds = true}) {
    std::vector<float> values;
    for (const Parameter& p : model_.parameters()) {
      pes::Random random(1, pes::purpose(p.name), 0);
      values.resize(static_cast<std::size_t>(p.shape.count()));
      for (float& x : values) x = static_cast<float>(0.04 * random.uniform() - 0.02);
      backend.upload(p.out(), values.data());
      const std::size_t number =
          p.storage == Storage::bf16 ? sizeof(std::uint16_t) : backend.element_size();
      bytes_ += static_cast<double>(values.size() * number);
    }
  }
  Model& model() { return model_; }
  double bytes() const { return bytes_; }  // of its weights

 private:
  Model model_;
  double bytes_ = 0;
};

// A buffer that no cache holds, read by all threads: the C library looks for a byte that is not
// there, with the widest vectors that it knows.
class Memory {
 public:
  Memory(Backend& backend, int threads)
      : backend_(backend), threads_(threads), numbers_(backend.allocate(bytes)) {
    backend.fill({numbers_, {bytes / 4}}, 0);
  }
  ~Memory() { backend_.release(numbers_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void read() {
    const auto* const all = static_cast<const char*>(numbers_);
    std::int64_t found = 0;
#pragma omp parallel for num_threads(threads_) reduction(+ : found) schedule(static)
    for (std::int64_t part = 0; part < threads_; ++part) {
      const std::int64_t first = bytes * part / threads_, last = bytes * (part + 1) / threads_;
      found += std::memchr(all + first, 1, static_cast<std::size_t>(last - first)) != nullptr;
    }
    PES_CHECK(found == 0);
  }

  static constexpr std::int64_t bytes = 256 << 20;

 private:
  Backend& backend_;
  int threads_;
  void* numbers_;
};

std::vector<std::int32_t> some_tokens(std::size_t n, int vocabulary) {
  std::vector<std::int32_t> out(n);
  pes::Random random(1, pes::purpose("tokens"), 0);
  for (std::int32_t& t : out)
    t = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary)));
  return out;
}

// Texts of several lengths, each behind a cache of its own, that are continued side by side.
Subject continued(const std::string& name, Model& model,
                  std::vector<std::unique_ptr<Cache>>& caches, const ModelConfig& m) {
  std::vector<Cache*> all;
  for (int i = 1; i <= texts; ++i) {
    all.push_back(
        caches.emplace_back(std::make_unique<Cache>(model, 1, i * apart + written)).get());
    model.read(*all.back(), some_tokens(static_cast<std::size_t>(i * apart), m.vocabulary));
  }
  return {name,
          [&model, all, next = some_tokens(texts, m.vocabulary)] {
            for (int i = 0; i < texts; ++i) all[static_cast<std::size_t>(i)]->cut((i + 1) * apart);
            for (int n = 0; n < written; ++n) model.read(all, next);
          },
          texts * written * forward_flops(m, written),
          double(texts) * written,
          {}};
}

}  // namespace

Result bench_generate(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  const auto backend = open(s);
  const int longest = std::max(texts * apart + written, *std::ranges::max_element(s.lengths));
  std::vector<std::unique_ptr<Writer>> writers;
  std::vector<std::unique_ptr<Cache>> caches;
  std::vector<Subject> subjects;
  Memory memory(*backend, s.threads);
  subjects.push_back({"memory", [&] { memory.read(); }, 0, 0, {}});
  for (const std::string& e : s.encodings) {
    writers.push_back(std::make_unique<Writer>(catalog, *backend, e, w, longest));
    Model& model = writers.back()->model();
    for (const int length : s.lengths) {
      Cache& cache = *caches.emplace_back(std::make_unique<Cache>(model, 1, length));
      const auto prompt = some_tokens(static_cast<std::size_t>(length), w.model.vocabulary);
      subjects.push_back({fmt::format("prompt/{}/{}/{}", s.config, e, length),
                          [&model, &cache, prompt] {
                            cache.cut(0);
                            model.read(cache, prompt);
                          },
                          length * forward_flops(w.model, length),
                          double(length),
                          {}});
    }
    for (const int batch : {1, 8}) {
      Cache& cache = *caches.emplace_back(std::make_unique<Cache>(model, batch, written));
      const auto next = some_tokens(static_cast<std::size_t>(batch), w.model.vocabulary);
      subjects.push_back({fmt::format("generate/{}/{}/{}", s.config, e, batch),
                          [&model, &cache, next] {
                            cache.cut(0);
                            for (int n = 0; n < written; ++n) model.read(cache, next);
                          },
                          batch * written * forward_flops(w.model, written),
                          double(batch) * written,
                          {}});
    }
    subjects.push_back(continued(fmt::format("generate/{}/{}/{} lengths", s.config, e, texts),
                                 model, caches, w.model));
  }
  Result r = finish(std::move(subjects), *backend, s.plan);
  double speed = 0;
  for (const Timing& t : r.timings)
    if (t.name == "memory") speed = static_cast<double>(Memory::bytes) / t.time().median;
  r.table += fmt::format("\nmemory is read at {:.1f} GB/s", 1e-9 * speed);
  const double bytes = writers.front()->bytes();
  for (const Timing& t : r.timings)
    if (t.name.starts_with("generate/") && t.name.ends_with("/1"))
      r.table += fmt::format("; {}: its {:.0f} MB of weights at {:.1f} GB/s, {:.0f} %", t.name,
                             1e-6 * bytes, 1e-9 * bytes * t.tokens_per_second(),
                             100 * bytes * t.tokens_per_second() / speed);
  r.table += "\n";
  return r;
}

}  // namespace pesuite::bench
