// What a gate's series do where nothing changed: from pairs of trainings that should give the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/measurement.h"

namespace pesuite {

struct GateCalibration {
  std::map<SeriesName, Calibrated> series;
  std::map<std::string, Calibrated> means;  // over the gated series, by metric
  std::size_t pairs = 0, gated = 0;
  double false_alarms = Number::none;  // share of gates made of these pairs that alarm
  std::size_t gates = 0;               // so many were made; 0: too few pairs
  struct Advice {
    std::size_t seeds;
    double margin;      // at which nine of ten series that did not change are called equivalent
    double detectable;  // a change that is called in eight of ten, of the series in the middle
  };
  std::vector<Advice> advice;  // of metrics in nats
};
// Pairs go by seed: `first` and `second` have the same, at least 2.
GateCalibration calibrate_gate(const Measurement& first, const Measurement& second,
                               const std::vector<GateRule>&, std::size_t seeds);

}  // namespace pesuite
