// The error rates of the rules of docs/statistics.md, by simulation: made-up results of encodings
// that do not differ, or by just what a verdict denies, go through the rules themselves.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pesuite {

struct NoiseShape {  // how results vary from seed to seed
  const char* name;
  double mean, spread;  // spread: of a usual encoding
};
const std::vector<NoiseShape>& calibration_shapes();

struct Conditions {
  std::size_t shape = 0, encodings = 2, seeds = 5;
};
// values[encoding][seed] of encodings whose true means are equal. Each run of each has a random
// stream of its own.
std::vector<std::vector<double>> made_up(const Conditions&, std::uint64_t run);

// What goes wrong in a run, the share of runs of which is measured; `uncovered` counts intervals.
enum Wrong : std::size_t {
  called,            // a pair of equal encodings
  called_far,        // the same among those that stay where one encoding lies far away
  tiny,              // p < 0.001 is printed of either
  equivalent,        // said of a pair that differs by what matters
  holds,             // said of an encoding whose true loss is what matters
  fails,             // the same
  reproduced,        // "a < b" of equal encodings, with margin 0
  refuted,           // the same, not reproduced
  reproduced_alone,  // "a < its true mean"
  refuted_alone,
  uncovered,  // 95 % intervals of differences without the true one
  wrongs
};
struct WrongKind {
  const char* name;
  double most;    // that may go wrong,
  double errors;  // and how many simulation errors more
  double limit(std::uint64_t runs) const;
};
const std::array<WrongKind, wrongs>& wrong_kinds();

struct Rates {
  std::array<double, wrongs> of{};
  std::uint64_t runs = 0;
};
Rates rates(const Conditions&, std::uint64_t first, std::uint64_t runs);

// Share of the pairs of one encoding, 3 standard deviations away from the others, that are called;
// and runs in which equal ones are. Of our rule, and of others known.
enum class Rule { ours, plain, prior, limma };
const char* rule_name(Rule);
double power(Rule, const Conditions&, std::uint64_t runs);
double false_calls(Rule, const Conditions&, std::uint64_t runs);

// Coverage of 95 % intervals: of a mean over seeds; of the interquartile mean over 3 tasks at 4
// lengths; of the share of seeds that reach something, whose true value is the shape's; of an
// accuracy over 500 examples of 8 targets that are right apart (0), partly (1) or only together
// (2).
double mean_coverage(const Conditions&, std::uint64_t runs);
double score_coverage(const Conditions&, std::uint64_t runs);
double share_coverage(double share, std::size_t seeds, std::uint64_t runs);
double accuracy_coverage(double share, int together, std::uint64_t runs);

// The tables of docs/statistics.md, all rates as CSV, and what in them is not as it must be.
struct Calibration {
  std::string text, csv;
  std::vector<std::string> faults;
};
Calibration calibrate(std::uint64_t runs, const std::function<void(const std::string&)>& progress);

}  // namespace pesuite
