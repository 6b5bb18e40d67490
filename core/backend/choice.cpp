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

Choice choose_backend(std::string_view name, std::optional<Precision> asked) {
  std::string backend(name), note;
  if (name == "cuda" || name == "auto") {
    const std::string why = why_no_cuda();
    if (!why.empty() && name == "cuda") fail(Exit::device, "{}; use --device cpu", why);
    backend = why.empty() ? "cuda" : "cpu";
    if (!why.empty()) note = "the CPU computes: " + why;
  }
  const Precision precision = asked.value_or(usual_precision(backend));
  if (backend != "cuda") open_backend(backend, {.precision = precision});
  return {backend, precision, note};
}

}  // namespace pesuite
