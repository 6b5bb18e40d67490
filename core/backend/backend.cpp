#include "backend/backend.h"

#include "backend/factory.h"
#include "base/error.h"

namespace pesuite {

Precision parse_precision(std::string_view name) {
  for (const Precision p : {Precision::fp32, Precision::bf16})
    if (name == precision_name(p)) return p;
  fail(Exit::usage, "there is no precision '{}'; known are fp32 and bf16", name);
}

std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions& options) {
  if (name == "cpu" || name == "auto") return make_cpu_backend(options);
  if (name == "reference") return make_reference_backend();
  if (name.starts_with("cuda"))
    fail(Exit::device, "backend '{}' is not part of this build; use --device cpu", name);
  fail(Exit::device, "there is no backend '{}'; known are auto, cpu and reference", name);
}

}  // namespace pesuite
