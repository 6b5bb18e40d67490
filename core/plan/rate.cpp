#include "plan/rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/isolate.h"
#include "base/json.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr double seconds_to_measure = 60, slow = 1e9;
// In training, of a bare product's rate. On a CPU: 0.65 over the main suite in fp32, 0.74 with RoPE
// at 4.5M parameters in bf16, less with encodings that cost more. On a device: small models, and
// 124M.
constexpr double share_on_cpu = 0.6, share_on_device = 0.55;
// Seconds, on an H100: small steps of 2 to 6 layers took 0.33 to 2.7 ms, a cell of one step 1 to 2
// s.
constexpr double layer_on_device = 2e-4, start_on_device = 1.5;

// FLOP/s of a product of n x n, the best of a few.
double rate_of_a_product(const std::string& name, Precision precision, std::int64_t n) {
  const auto backend = open_backend(name, {.precision = precision});
  const Shape square = {n, n};
  void* m[3];
  for (void*& p : m) {
    p = backend->allocate(static_cast<std::size_t>(n * n) * backend->element_size());
    backend->fill({p, square}, 0.5);
  }
  double best = 1e30;
  for (int i = 0; i < 12; ++i)
    best = std::min(best, backend->elapsed([&] {
      backend->matmul({m[2], square}, {m[0], square}, {m[1], square}, false, true);
    }));
  for (void* p : m) backend->release(p);
  return 2.0 * static_cast<double>(n * n * n) / best;
}

// In a process of its own: the library of products crashes where it gets no memory for its code,
// and a driver that was started here would not survive the fork of later ones. 0: none.
double rate_by_child(const std::string& backend, Precision precision, std::int64_t n) {
  const Isolated r = run_isolated(
      [&] { return format_number(rate_of_a_product(backend, precision, n)); }, seconds_to_measure);
  double rate = 0;
  return r.end == Isolated::End::returned && parse_count(r.text, rate) ? rate : 0;
}

fs::path kept_rates() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "rates.json";
}
Json read_rates(const fs::path& file) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return Json::object();
  Json all = Json::parse(read_file(file), nullptr, false);
  return all.is_object() ? all : Json::object();
}

double rate_of_device(const std::string& backend, Precision precision) {
  const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string key = fmt::format("{} {} {} {}", host_name(), backend,
                                      precision_name(precision), seen == nullptr ? "" : seen);
  const fs::path file = kept_rates();
  Json all = read_rates(file);
  if (const auto at = all.find(key); at != all.end() && at->is_number() && at->get<double>() > 0)
    return *at;
  constexpr std::int64_t n = 4096;
  const double rate = rate_by_child(backend, precision, n);
  if (rate <= 0 || file.empty()) return rate;
  all[key] = rate;
  try {
    write_file_atomic(file, all.dump(1) + "\n");
  } catch (const std::exception&) {  // then it is measured again
  }
  return rate;
}

}  // namespace

Rate measured_rate(const std::string& backend, Precision precision) {
  if (backend == "cuda")
    if (const double rate = rate_of_device(backend, precision); rate > 0)
      return {share_on_device * rate, layer_on_device, start_on_device};
  constexpr std::int64_t n = 256;
  // Where a device was meant and does not answer, its precision says nothing about the CPU.
  const Precision here = backend == "cpu" ? precision : Precision::fp32;
  const double rate = share_on_cpu * rate_by_child("cpu", here, n);
  return {.flops = rate > 0 ? rate : slow, .query_step = cpu_query_step};
}

}  // namespace pesuite
