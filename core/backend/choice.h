// What the name of a device stands for on this machine.
#pragma once

#include <string>
#include <string_view>

#include "backend/backend.h"

namespace pesuite {

struct Choice {
  std::string backend;  // for open_backend()
  std::string note;     // a sentence for the user, or ""
};

// auto: cuda where a device answers, else cpu, and why. Any other backend: itself, or an Error
// (device) where it cannot be opened. Starts no CUDA in this process, since what is started does
// not live on in the children that cells are run in. To be used before threads exist.
Choice choose_backend(std::string_view name, const BackendOptions&);

}  // namespace pesuite
