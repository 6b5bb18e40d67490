// What open_backend() chooses from.
#pragma once

#include "backend/backend.h"

namespace pesuite {

std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions&);

}  // namespace pesuite
