// Which backend the name of a device means on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace pesuite {

struct Choice {
  std::string backend;  // for open_backend()
  Precision precision = Precision::fp32;
  std::vector<std::string> notes = {};  // sentences for the user
};

// Whether a backend's products are faster in bf16 than in fp32.
bool bf16_is_faster(std::string_view backend);

// A backend's default precision: bf16 on devices, which are made for it, else fp32.
Precision usual_precision(std::string_view backend);

// auto: cuda where a device answers, else cpu, and why. Any other backend: itself, or an Error
// (device) where it cannot be opened with that precision, unless fp32 will do. Starts no CUDA in
// this process: it would not survive in the child processes that run cells. Call before threads
// exist.
enum class OrFp32 { no, where_refused, where_faster };
Choice choose_backend(std::string_view name, std::optional<Precision> asked, OrFp32 = OrFp32::no);

}  // namespace pesuite
