// What changed between two measurements, series by series, and whether it got worse.
#pragma once

#include <string>
#include <vector>

#include "analysis/baseline.h"
#include "analysis/gate_tests.h"

namespace pesuite {

enum class Outcome {
  identical,     // every number, bit by bit
  improved,      // by at least the margin
  equivalent,    // shown to differ by less than the margin
  regressed,     // worse by more than the margin
  inconclusive,  // none of these is shown
  added,         // was not measured before
  missing,       // is not measured any more
  broken         // a series of another definition: versions or numerics changed on purpose
};
std::string_view outcome_name(Outcome);  // "new" for added

struct SeriesChange {
  SeriesName name;
  std::string label;  // of a group of series, see CompareOptions::by; "": the name says it
  std::size_t members = 1;
  Outcome outcome = Outcome::inconclusive;
  std::string why;                    // of what is broken, inconclusive or not gated
  bool gated = false;                 // counts for the exit code
  std::vector<std::uint64_t> seeds;   // in both
  std::vector<double> before, after;  // of each; may be infinite
  double before_mean = Number::none, after_mean = Number::none;
  double difference = Number::none, low = Number::none, high = Number::none;  // after - before
  double margin = 0, alpha = significance;
  double p = Number::none;  // that it did not get worse by more than the margin, after Holm
  std::size_t needed = 0;   // seeds that would decide with 80 % power; 0: not known
  bool calibrated = false;  // by the baseline
  Discordant examples;      // of all seeds, where records have them
  std::size_t solved_before = 0, solved_after = 0;  // seeds with a share of at least 99 %
  double chance_low = Number::none, chance_high = Number::none;  // of a share after: exact interval
  std::string suppressed;  // "" or by whom, why and until when
};

struct CellChange {
  MeasuredCell before, after;
  bool worse = false;  // a kind of failure that was not there
};

struct MeanChange {  // over all gated series of a metric
  std::string metric;
  std::size_t series = 0;
  double difference = Number::none, low = Number::none, high = Number::none, p = Number::none;
  double margin = 0;
  bool regressed = false;
};

struct Changes {
  std::string before, after;  // names of the two
  std::vector<SeriesChange> series;
  std::vector<CellChange> cells;
  std::vector<MeanChange> means;
  std::size_t cells_equal = 0, cells_compared = 0;
  double enlarged = 1;  // see enlargement()
  std::vector<std::string> notes;

  std::size_t count(Outcome, bool gated_only = true) const;
  bool identical() const;  // all cells of both
  bool regressed() const;  // a gated series, a mean or a cell
  bool conclusive() const;
};

struct CompareOptions {
  std::vector<std::string> by;  // keys of SeriesName::coordinates(): series that agree in them are
                                // one, the mean over the others; "": each by itself
  const Baseline* baseline = nullptr;  // that `before` is of: its suppressions count
  bool gate_all = false;               // also beyond the scope of the rules
  bool some_seeds = false;             // of `before` were asked for: nothing to say of the others
};
// `rules` and calibration are those of `before`. Error (usage) where nothing can be compared: no
// series or no seed in common.
Changes compare(const Measurement& before, const Measurement& after, const CompareOptions& = {});

}  // namespace pesuite
