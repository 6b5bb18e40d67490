// Does a run's folder give the same numbers when it is computed again, here and now?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/run.h"

namespace pesuite {

// What of records is computed, a line each in a fixed order, without times, memory and builds: two
// runs that computed the same have the same digest.
std::string digest_of_numbers(const std::vector<Json>& records);

// A number that came out otherwise.
struct OtherNumber {
  std::string cell;         // "rope·ledger·nano·s42"
  std::string what;         // "val nll at step 20, train_len 16"
  std::string before, now;  // as JSON writes them; "no record" where there is none
  double relative = 0;      // |now - before| / |before|; infinite where that is no number
  bool promised = true;     // to be equal, by the record's determinism
  std::string sentence() const;
};
// The first in the order of `before` where the same cell came out otherwise; cells go by their
// names in the suite. None where all are equal.
std::optional<OtherNumber> first_other_number(const std::vector<Json>& before,
                                              const std::vector<Json>& now);

struct Reproduction {
  RunResult again;                     // in a folder of its own
  std::size_t cells = 0;               // that were compared
  std::vector<OtherNumber> different;  // the first of each cell that differs
  std::string digest_before, digest_now;
  std::vector<std::string> notes;  // what else is not as it was: builds, compiler, machine
};

// Plans the cells that a run's folder has records of exactly as it did, computes them below
// `options.out`, which should be a folder of their own, and compares. Error (data) where the
// folder lacks what is needed, or this program would plan other cells, with what differs.
Reproduction reproduce(const fs::path& run, const RunOptions& options);

}  // namespace pesuite
