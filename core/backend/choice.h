// What the name of a device stands for on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace pesuite {

struct Choice {
  std::string backend;  // for open_backend()
  Precision precision = Precision::fp32;
  std::string note;  // a sentence for the user, or ""
};

// What a backend computes in where nobody asked: bf16 on devices, which are made for it, else fp32.
Precision usual_precision(std::string_view backend);

// auto: cuda where a device answers, else cpu, and why. Any other backend: itself, or an Error
// (device) where it cannot be opened with the precision that was asked for. Starts no CUDA in this
// process, since what is started does not live on in the children that cells are run in. To be used
// before threads exist.
Choice choose_backend(std::string_view name, std::optional<Precision> asked);

}  // namespace pesuite
