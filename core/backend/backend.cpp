#include "backend/backend.h"

#include "backend/factory.h"
#include "base/error.h"

namespace pesuite {

std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions& options) {
  if (name == "cpu" || name == "auto") return make_cpu_backend(options);
  if (name == "reference") return make_reference_backend();
  if (name.starts_with("cuda"))
    fail(Exit::device, "backend '{}' is not part of this build; use --device cpu", name);
  fail(Exit::device, "there is no backend '{}'; known are auto, cpu and reference", name);
}

}  // namespace pesuite
