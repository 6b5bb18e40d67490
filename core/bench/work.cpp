#include "bench/work.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace pesuite::bench {

namespace {

// As makers publish them, of dense products with sums in fp32; fp32 itself without tensor cores.
struct Published {
  const char* name;
  const char* of;
  double bytes, bf16, fp32;
};
constexpr Published all_published[] = {
    {"a100", "A100 SXM 80 GB", 2.039e12, 312e12, 19.5e12},
    {"h100", "H100 SXM 80 GB", 3.35e12, 989e12, 66.9e12},
    {"h200", "H200 SXM", 4.8e12, 989e12, 66.9e12},
    {"b200", "B200", 8.0e12, 2250e12, 75e12},
    {"l40s", "L40S", 0.864e12, 362e12, 91.6e12},
    {"rtx5090", "RTX 5090", 1.792e12, 209.5e12, 104.8e12},
};
// What the smallest op takes on an H100 where one follows the other.
constexpr double seconds_of_a_start = 4e-6;

}  // namespace

Rates published_rates(const std::string& device, Precision precision) {
  std::vector<std::string> names;
  for (const Published& p : all_published) {
    if (p.name == device)
      return {p.of, p.bytes, precision == Precision::fp32 ? p.fp32 : p.bf16, seconds_of_a_start};
    names.emplace_back(p.name);
  }
  fail(Exit::usage, "--device '{}': no figures of it are known here{}; known are {}", device,
       did_you_mean(device, names), join(names, ", "));
}

}  // namespace pesuite::bench
