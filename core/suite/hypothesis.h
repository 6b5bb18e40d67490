// Executable hypotheses: what a suite expects, e.g. "regret(a, 4x) < regret(b, 4x)", written down
// before the run and judged from its records (analysis/judge.h). The grammar stands in
// docs/suites.md.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "suite/config.h"

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
  double margin = std::numeric_limits<double>::quiet_NaN();  // in the units of the comparison; NaN:
                                                             // the effect that matters
  bool planned = true;                                       // in the suite before the run
  std::vector<Comparison> comparisons;
};
// Reads `[[hypothesis]]` of a suite; names are checked against `known`, where that is not null.
struct SuiteNames {
  std::vector<std::string> encodings, tasks, models;
};
std::vector<Hypothesis> read_hypotheses(Reader& suite, const SuiteNames* known);
// Throws Error (usage) for a name that is not there, or a task that is needed to tell tasks apart.
void check_names(const std::vector<Comparison>&, const SuiteNames&);

}  // namespace pesuite
