// The tests of a gate: differences of each series over seeds, in the company of what calibration
// says of that series' own spread (docs/regressions.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/measurement.h"
#include "analysis/paired.h"

namespace pesuite {

// Fewer differences do not count as a calibration.
inline constexpr std::size_t fewest_calibrating = 12;

// Calibration knows pairs that should be alike. Where the new differences of all series together
// spread more than that (other random numbers, say), its variances are enlarged by as much. 1
// where nothing is calibrated.
double enlargement(const std::vector<Differences>&, const std::vector<Calibrated>&);
// Of each series; a calibration of fewer differences, or without any spread, is not used.
std::vector<PairedTest> gate_tests(const std::vector<Differences>&, const std::vector<Calibrated>&);
bool is_used(const Calibrated&);

// Variance of differences whose mean should be 0, and their number.
Calibrated calibrated_by(const Differences&, double spread = 0);

// Seed by seed the mean over all series, where all have equally many seeds; empty elsewhere.
Differences mean_over_series(const std::vector<Differences>&);

// One set of examples, seen before and after: who was right before alone, and after alone.
struct Discordant {
  std::int64_t lost = 0, won = 0;
};
// Of two texts as Observation::right; none where their lengths differ.
Discordant discordant(const std::string& before, const std::string& after);
// McNemar's test, one-sided, of H0: not more are lost than won; exact below 25 discordant
// examples. Over several seeds by Stouffer, weighted by the root of the discordant examples.
double p_lost(const Discordant&);
double p_lost(const std::vector<Discordant>&);

}  // namespace pesuite
