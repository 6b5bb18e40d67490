// What open_backend() chooses from.
#pragma once

#include <string>

#include "backend/backend.h"

namespace pesuite {

std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions&);
// On the first device, in a library that is opened then. Error (device) with a sentence.
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&);

// "", or why there is no backend `cuda` here. The first is cheap and starts nothing; the second
// starts the driver. Error (device) where the library is missing or cannot be opened.
std::string why_no_driver();
std::string why_no_device();

}  // namespace pesuite
