// The error rates of the rules of docs/statistics.md, by simulation: made-up results of encodings
// that do not differ go through the rules themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pesuite {

struct NoiseShape {  // how results vary from seed to seed
  const char* name;
  const char* about;
};
const std::vector<NoiseShape>& calibration_shapes();

// values[encoding][seed] of encodings whose true means are equal, the first moved by `shift`.
std::vector<std::vector<double>> made_up(std::size_t shape, std::size_t encodings,
                                         std::size_t seeds, double shift, std::uint64_t key);

struct Rates {
  double alarm = 0;     // runs in which any pair is called, at 0.05 after Holm
  double tiny = 0;      // runs in which a report prints p < 0.001
  double coverage = 0;  // of the 95 % intervals of all pairs; 1 where none is printed
};
Rates pair_rates(std::size_t shape, std::size_t encodings, std::size_t seeds, int runs);
// Share of the pairs of an encoding that are called where it lies 3 standard deviations away.
double pair_power(std::size_t encodings, std::size_t seeds, int runs);
// Runs in which "holds" or "fails" is called of any encoding whose true loss is what matters.
double answer_alarm(std::size_t shape, std::size_t encodings, std::size_t seeds, int runs);
// Coverage of the interval of a mean over seeds, and of the interquartile mean over 3 tasks at 4
// lengths.
double mean_coverage(std::size_t shape, std::size_t seeds, int runs);
double score_coverage(std::size_t shape, std::size_t seeds, int runs);

// The tables of docs/statistics.md, and what in them is not as it must be.
struct Calibration {
  std::string text;
  std::vector<std::string> faults;
};
Calibration calibrate(int runs);

}  // namespace pesuite
