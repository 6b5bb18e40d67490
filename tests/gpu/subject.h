// The backend that conformance tests are about. Two programs are made of the same tests: in one its
// kernels run on the host, in the other on a device.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace pesuite::testing {

// "", or why there is nothing to test.
std::string absent();
std::unique_ptr<Backend> subject(Precision);
// Runs its threads in another order, where that can be asked for.
std::unique_ptr<Backend> subject_backwards();
// Kernels started so far; -1 where nobody counts them.
long launches();

}  // namespace pesuite::testing
