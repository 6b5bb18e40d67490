// What a run or a baseline measured, series by series: what comparisons are made of.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/run_data.h"
#include "suite/gate.h"

namespace pesuite {

// What is followed over seeds and versions of the program.
struct SeriesName {
  std::string encoding, task, model;  // ids in the suite
  int train_length = 0;
  Place place;
  auto operator<=>(const SeriesName&) const = default;
  Coordinates coordinates() const;
};
// "rope on copy, em at 64": the model where `with_model`.
std::string series_text(const SeriesName&, bool with_model = false);
// "nll at 256, last(32), depth 0.5".
std::string place_text(const Place&);
Json to_json(const SeriesName&);
SeriesName series_from_json(const Json&);

struct MeasuredSeries {
  SeriesName name;
  std::string settings;  // hash of what it was trained with, seed and builds apart; "": not known
  std::map<std::uint64_t, Number> seeds;
};

struct MeasuredCell {
  std::string encoding, task, model;
  int train_length = 0;
  std::uint64_t seed = 0;
  std::string status = "ok";  // or "diverged", the kind of a failure, "missing"
  std::string reason = {};
  std::string digest = {};  // of all its numbers; "" where there are none
  auto key() const { return std::tie(encoding, task, model, train_length, seed); }
};
std::string cell_text(const MeasuredCell&);

// How much a series differs from itself: of pairs of trainings that should give the same.
struct Calibrated {
  double variance = 0;          // of a difference
  std::size_t differences = 0;  // that it is from
  double spread = 0;            // standard deviation over fresh seeds
};

struct Measurement {
  std::string name;   // for people: "run 2026...", "baseline main"
  std::string suite;  // its name
  int epoch = 0;      // of its numerics; 0: not known
  Json machine;       // see fingerprint(); null: not known
  std::string program;
  std::map<std::string, std::string>
      versions;                        // by "encoding NAME" and "task NAME", their versions
  std::vector<MeasuredSeries> series;  // sorted by name
  std::vector<MeasuredCell> cells;     // sorted by key
  std::set<std::uint64_t> seeds;
  std::vector<GateRule> gates;
  std::map<SeriesName, Calibrated> calibration;
  std::map<std::string, Calibrated> mean_calibration;  // of the mean over a metric's gated series
  std::string calibrated_by;  // "" or what the pairs were: "rounding", "seeds"
  std::vector<std::string> notes;
};

// Of a recorded run. What is derived from another number (perplexity, regret) is left out unless
// `metrics` names it.
Measurement measure(const RunData&, const std::vector<std::string>& metrics = {});
// The machine and the build, as far as numbers hang on them.
Json fingerprint(const RunData&);
// What two fingerprints differ in, as the end of a sentence: "another processor (A, was B)"; "".
std::string machine_difference(const Json& before, const Json& after);
// The rules that a run's suite states, else the usual ones.
std::vector<GateRule> gates_of(const RunData&);

// As a run, for figures; `mark` goes behind each encoding's id.
RunData as_run(const std::vector<std::pair<const Measurement*, std::string>>&);

}  // namespace pesuite
