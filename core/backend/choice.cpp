#include "backend/choice.h"

#include "backend/factory.h"
#include "base/error.h"
#include "base/isolate.h"

namespace pesuite {

namespace {

// Loading the libraries and starting the driver take a second on a slow disk.
constexpr double cuda_probe_seconds = 60;

// "" where a device answers, else a sentence.
std::string why_no_cuda() {
  if (std::string why = why_no_driver(); !why.empty()) return why;
  const Isolated asked = run_isolated(why_no_device, cuda_probe_seconds);
  if (asked.end == Isolated::End::returned || asked.end == Isolated::End::threw) return asked.text;
  return "asking for CUDA devices ended badly: " + asked.text;
}

}  // namespace

Precision usual_precision(std::string_view backend) {
  return backend == "cuda" ? Precision::bf16 : Precision::fp32;
}

bool bf16_is_faster(std::string_view backend) {
  return backend == "cuda" || (backend == "cpu" && cpu_bf16_is_fast());
}

Choice choose_backend(std::string_view name, std::optional<Precision> asked, OrFp32 or_fp32) {
  Choice choice{.backend = std::string(name)};
  if (name == "cuda" || name == "auto") {
    const std::string why = why_no_cuda();
    if (!why.empty() && name == "cuda") fail(Exit::device, "{}; use --device cpu", why);
    choice.backend = why.empty() ? "cuda" : "cpu";
    if (!why.empty()) choice.notes.push_back("the CPU computes: " + why);
  }
  choice.precision = asked.value_or(usual_precision(choice.backend));
  if (choice.backend == "cuda") return choice;
  std::string why;
  try {
    open_backend(choice.backend, {.precision = choice.precision});
    if (or_fp32 == OrFp32::where_faster && !bf16_is_faster(choice.backend))
      why = "on this processor products are slower in bf16";
  } catch (const Error& e) {
    if (or_fp32 == OrFp32::no || choice.precision == Precision::fp32) throw;
    why = e.what();
    why = why.substr(0, why.find(';'));
  }
  if (choice.precision == Precision::fp32 || why.empty()) return choice;
  choice.precision = Precision::fp32;
  open_backend(choice.backend, {});
  choice.notes.push_back("fp32 multiplies: " + why);
  return choice;
}

}  // namespace pesuite
