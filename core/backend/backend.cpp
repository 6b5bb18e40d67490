#include "backend/backend.h"

#include "backend/choice.h"
#include "backend/factory.h"
#include "base/error.h"

namespace pesuite {

Precision parse_precision(std::string_view name) {
  for (const Precision p : {Precision::fp32, Precision::bf16, Precision::fp16})
    if (name == precision_name(p)) return p;
  fail(Exit::usage, "there is no precision '{}'; known are fp32, bf16 and fp16", name);
}

int usual_pass_tokens(std::string_view backend) {
  return backend == "cuda" ? 32768 : 2048;
}

std::unique_ptr<Backend> open_backend(std::string_view name, const BackendOptions& options) {
  if (name == "cpu") return make_cpu_backend(options);
  if (name == "cuda") return make_cuda_backend(options);
  if (name == "reference" && options.precision != Precision::fp32)
    fail(Exit::device,
         "the reference backend computes in double and knows no {}; leave precision out, or use "
         "--device cpu",
         precision_name(options.precision));
  if (name == "reference") return make_reference_backend();
  if (name == "auto") return open_backend(choose_backend(name, options.precision).backend, options);
  if (name.starts_with("cuda"))
    fail(Exit::device, "there is no backend '{}'; CUDA_VISIBLE_DEVICES says which device 'cuda' is",
         name);
  fail(Exit::device, "there is no backend '{}'; known are auto, cpu, cuda and reference", name);
}

}  // namespace pesuite
