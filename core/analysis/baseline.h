// Baselines: what runs are held against. One small file each, made to live in git beside the code.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measurement.h"

namespace pesuite {

// A change that somebody took note of.
struct BaselineNote {
  std::string time, who, what, why;  // what: "saved", "accepted", "calibrated", "suppressed"
};

// Alarms of these series are shown and do not count until the day is over.
struct Suppression {
  std::string series;  // a pattern of series_text(): "rope on copy*"
  std::string until;   // "2026-12-31"
  std::string who, why;
};

struct Baseline {
  std::string name;
  Measurement measured;
  Json prefix;                         // of trainings, see run/prefix.h; null: none
  double false_alarms = Number::none;  // share of gates of calibration that alarmed; NaN: not known
  std::vector<Suppression> suppressions;
  std::vector<BaselineNote> history;
};

// NAME is a file, or BASELINES/NAME.json. Error (usage) for a name that no file can have.
fs::path baseline_file(const std::string& name, const fs::path& folder);
// Error (data) where the file is missing, damaged, was edited by hand, or is of another schema; a
// sentence that says what to do.
Baseline read_baseline(const fs::path&);
// Whole or not at all. What was there is replaced.
void write_baseline(const fs::path&, const Baseline&);
std::string baseline_text(const Baseline&);  // as it is written

// Takes what a run measured; calibration and suppressions stay with the series that are still
// there. Gives what was dropped, a sentence each.
std::vector<std::string> accept(Baseline&, Measurement);

// Of today; empty where none fits or all have expired.
const Suppression* suppression_of(const Baseline&, const SeriesName&, const std::string& today);
// "2026-12-31"; Error (usage) where it is no day of the calendar.
std::string parse_day(const std::string&);
std::string today();
// For the notes: $PESUITE_WHO, git's author, or the user's name.
std::string who_is_it();

}  // namespace pesuite
