// What each encoding trains with: one number of attempts for all, with seeds that are not reported,
// chosen by the validation loss at the training length alone. The first attempts are learning
// rates, from one grid; the others are settings of the encoding's own that its card names, and
// further rates where it names too few.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/run_data.h"
#include "plugin/library.h"
#include "suite/suite.h"

namespace pesuite {

// Whether a suite has something left to choose: it tries rates and does not say what it chose.
bool is_tuned(const Suite&);

// The suites that try one rate of the grid each, ascending. They have their own names, the tuning
// seeds, the tasks that try this rate, and evaluations of one example (their lengths are part of a
// cell).
std::vector<Suite> rate_suites(const Suite&);

struct Attempt {
  double rate = 0;
  std::string expression;
  double loss = 0;  // mean final validation loss of the tuning seeds; infinite where one diverged,
                    // NaN where one has none
};
struct Chosen {
  std::string encoding, task, model;  // ids
  std::vector<Attempt> attempts;      // rates first, ascending
  std::size_t best = 0;
  std::size_t rates = 0;  // so many attempts are of the grid
  bool at_edge() const;   // of the grid: the best rate may lie outside
};
// From the records of each attempt, in their order. Error (cells_failed) where an encoding has no
// loss in any of them.
std::vector<Chosen> choose(const std::vector<std::pair<Suite, RunData>>& tried);

// The suites of the attempts behind the grid: setting k of every encoding at its best rate so far,
// or where its card does not name so many, a rate beside the best one.
int most_knobs(const Suite&);  // attempts of that kind
std::vector<Suite> knob_suites(const Suite&, const std::vector<Chosen>&, const Catalog&);

// Puts them into a suite, for its plan and its resolved file.
void use(Suite&, const std::vector<Chosen>&);
// Those of attempts that are finished below `out`; false where some are not, and nothing is set.
bool load_chosen(const Suite&, const fs::path& out, const Catalog&, std::vector<Chosen>&);

// "learning rate 0.003, rope(base=0)": the setting only where it is not the suite's own.
std::string chosen_text(const Suite&, const Chosen&);
Json to_json(const Suite&, const std::vector<Chosen>&);  // pesuite.tuning/1

}  // namespace pesuite
