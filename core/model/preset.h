// Named model sizes: those of the source studies with their stated parameter counts, and small ones
// for two CPU cores.
#pragma once

#include <span>
#include <string_view>

#include "model/model.h"

namespace pesuite {

struct Preset {
  std::string_view name, summary;
  ModelConfig config;        // with the vocabulary it was stated for
  double stated_parameters;  // what its source says; 0: nobody said
  double tokens;             // stated training budget in tokens; 0: none
  int train_length;
  double lr;  // of its source, or what suites of that size take
};

std::span<const Preset> presets();
const Preset& preset(std::string_view name);  // Error (usage) with the nearest name

}  // namespace pesuite
