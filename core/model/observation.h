// One number about a model: what was measured, where, on how much, and how sure it is.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/json.h"

namespace pesuite {

struct Observation {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  std::string metric, unit;
  std::string direction;  // "lower", "higher" is better, or "none"
  std::string split;      // train, val, id, ood
  double value = none;    // of status "ok" where finite
  std::string status = "ok";
  double standard_error = none;    // clustered by sequence or document
  double low = none, high = none;  // 95 % interval
  double chance = none;
  std::int64_t n = 0;      // independent units: sequences or documents
  double sum = none;       // value = sum / count where given
  std::int64_t count = 0;  // scored targets
  // Of exact match: which examples were right, in their order, four a hexadecimal digit, the first
  // at its highest bit; "": not said.
  std::string right = {};
  Json coords = Json::object();
  std::int64_t step = 0, tokens = 0;  // of training, when it was made
  double flops = 0, seconds = 0;      // spent on training until then

  // Of all scored targets there, not of those at some places or distances.
  bool whole() const { return !coords.contains("pos_lo") && !coords.contains("bucket"); }
  // Gives a value that is not finite the status that says so; the value is then not written.
  void settle() {
    if (std::isnan(value))
      status = "nan";
    else if (std::isinf(value))
      status = "inf";
  }
};

Json to_json(const Observation&);
Observation observation_from_json(const Json&);

}  // namespace pesuite
