// The CUDA backend on the first device of this machine.
#include "backend/factory.h"
#include "base/error.h"
#include "tests/gpu/subject.h"

namespace pesuite::testing {

std::string absent() {
  try {
    const std::string why = why_no_driver();
    return why.empty() ? why_no_device() : why;
  } catch (const Error& e) {
    return e.what();
  }
}
std::unique_ptr<Backend> subject(Precision precision) {
  return open_backend("cuda", {.precision = precision});
}
std::unique_ptr<Backend> subject_backwards() {  // a device has no order to begin with
  return subject(Precision::fp32);
}
long launches() {
  return -1;
}

}  // namespace pesuite::testing
