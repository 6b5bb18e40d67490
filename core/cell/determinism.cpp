#include "cell/determinism.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace pesuite {

namespace {

constexpr const char* isa_variable = "ONEDNN_MAX_CPU_ISA";  // which limits our kernels as well

bool fixed_instructions() {
  const char* isa = std::getenv(isa_variable);
  return isa != nullptr && isa != std::string_view("ALL") && isa != std::string_view("DEFAULT");
}

}  // namespace

std::string determinism_level(const Computing& c) {
  // sums over processes have no promised order, and a device's repeats were never measured
  if (c.processes > 1 || c.backend == "cuda") return "data";
  return c.backend == "cpu" && c.threads == 1 && fixed_instructions() ? "strict" : "run";
}

std::string weaker_level(const std::string& a, const std::string& b) {
  for (const char* level : {"data", "run"})
    if (a == level || b == level) return level;
  return "strict";
}

std::string why_not_determined(const std::string& wanted, const Computing& c) {
  if (wanted.empty() || wanted == "data") return "";
  if (c.processes > 1)
    return "several processes add up in no fixed order, so that only 'data' holds; leave --launch "
           "out, or ask for 'data'";
  if (c.backend == "cuda")
    return "backend 'cuda' promises 'data' alone; compute on the CPU (--device cpu), or ask for "
           "'data'";
  if (wanted == "run") return "";
  if (c.backend != "cpu")
    return fmt::format("backend '{}' promises 'run'; use --device cpu, or ask for 'run'",
                       c.backend);
  if (c.threads > 1)
    return fmt::format("'defaults.threads_per_cell' is {}; 'strict' holds with 1", c.threads);
  return "";
}

void fix_instructions() {
  if (!fixed_instructions()) ::setenv(isa_variable, "AVX2", 1);
}

}  // namespace pesuite
