// Executable hypotheses: what a suite expects, e.g. "regret(a, 4x) < regret(b, 4x)", written down
// before the run and judged from its records. The grammar stands in docs/suites.md.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "suite/config.h"
#include "analysis/run_data.h"

namespace pesuite {

// A number that each seed has: a metric of an encoding at a place.
struct Quantity {
  std::string metric;                         // "regret"; see quantity_metrics()
  std::string encoding;                       // id in the suite
  std::string task, model, protocol, bucket;  // "": see docs/suites.md; task may be a pattern
  double length = 1;
  bool multiple = true;                     // of the training length; else tokens
  int train_length = 0;                     // 0: any
  std::map<std::string, std::string> axes;  // values or labels
};
const std::vector<std::string>& quantity_metrics();

struct Term {
  enum class Kind {
    number,
    quantity,
    negate,
    add,
    subtract,
    multiply,
    divide,
    minimum,
    maximum,
    mean,
    magnitude,
    logarithm,
    exponential
  };
  Kind kind = Kind::number;
  double value = 0;
  Quantity quantity = {};
  std::vector<Term> parts = {};
  std::string text = {};  // as written
  std::size_t column = 0;
};

struct Comparison {
  enum class Relation { less, less_equal, greater, greater_equal, equal };
  Term left, right;
  Relation relation = Relation::less;
  std::string text() const;
};
std::string_view relation_text(Comparison::Relation);

// Comparisons that are all meant to hold. Error (usage) with the column where the text is wrong.
std::vector<Comparison> parse_hypothesis(std::string_view text);

struct Hypothesis {
  std::string id, says, source, expect;
  double alpha = 0.05;
  double margin = Number::none;  // in the units of the comparison; NaN: the effect that matters
  bool planned = true;           // in the suite before the run
  std::vector<Comparison> comparisons;
};
// Reads `[[hypothesis]]` of a suite; names are checked against `known`, where that is not null.
struct SuiteNames {
  std::vector<std::string> encodings, tasks, models;
};
std::vector<Hypothesis> read_hypotheses(Reader& suite, const SuiteNames* known);
// Of a recorded run: those of its suite, which was checked when it ran, and its names. What cannot
// be read any more is a note of the run.
std::vector<Hypothesis> hypotheses_of(RunData&);
SuiteNames names_of(const RunData&);
// Throws Error (usage) for a name that is not there, or a task that is needed to tell tasks apart.
void check_names(const std::vector<Comparison>&, const SuiteNames&);

// ---------------------------------------------------------------------------------- judgement

enum class Judgement { holds, refuted, undecided };
std::string_view judgement_name(Judgement);

struct Evidence {  // of one comparison; differences are left - right, seed by seed
  std::string text;
  std::vector<std::uint64_t> seeds;
  std::vector<double> left, right;  // of each seed; may be infinite
  double left_mean = Number::none, right_mean = Number::none;
  double difference = Number::none, low = Number::none, high = Number::none;  // 95 % interval
  double margin = 0;
  double p_holds = 1, p_refuted = 1;  // one-sided
  std::string test = "none";
  std::size_t needed = 0;            // seeds at which this mean and spread would decide; 0: none
  std::vector<std::string> missing;  // what was not evaluated, or whose seeds failed
  bool satisfied = false;            // by the means, margin included
};

struct Judged {
  Hypothesis hypothesis;
  Judgement judgement = Judgement::undecided;
  double p_holds = 1, p_refuted = 1;  // over all its comparisons, after Holm over the hypotheses
  std::vector<Evidence> evidence;
  std::vector<std::string> notes;
};
std::vector<Judged> judge(const RunData&, const std::vector<Hypothesis>&);
Json to_json(const RunData&, const std::vector<Judged>&);  // pesuite.hypotheses/1
std::string sentence(const Judged&);                       // the verdict with its evidence

}  // namespace pesuite
