// What kept runs have measured of each encoding: measured.json, which `pesuite docs` writes from
// docs/results and an installation brings. Beside it stand the claims of cards.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "plugin/library.h"

namespace pesuite {

// How an encoding did on one task of one run, at lengths beyond training.
struct LengthMeasured {
  std::string encoding;    // what was evaluated
  std::string trained;     // with what, where that is another encoding; else ""
  std::string expression;  // as the suite wrote it
  std::string suite, task;
  int train_length = 0;
  std::size_t seeds = 0;
  std::string verdict;  // "fails from 4x"
  double holds = 0,
         fails = 0;      // shown to hold up to, to fail from, in training lengths; 0: not shown
  double factor = 0;     // that an extension was made for, in training lengths; 0: none
  bool telling = false;  // another encoding of the run is shown to fail where this one holds
  bool beaten = false;   // another one is shown to hold where this one fails
  std::string start, changes;  // "97.5 %", "2x -3, 4x -12 points"
};

// A hypothesis of a kept run, and what became of it.
struct ClaimMeasured {
  std::vector<std::string> encodings;  // that it names
  std::string suite, id, says, source, verdict, numbers;
};

struct Measured {
  std::vector<LengthMeasured> lengths;
  std::vector<ClaimMeasured> claims;

  std::vector<LengthMeasured> of(const std::string& encoding) const;
  // "reproduced at this size F12a, F12c; undecided 7 claims" of claims that name it; "" for none.
  std::string claims_on(const std::string& encoding) const;
};

std::string measured_text(const Measured&);  // as the file has it: a line each
// Error (data) for a text that is not of pesuite.measured/2.
Measured read_measured(const std::string& text, const std::string& file);
// Of the file beside the program, or in the source tree; nothing where neither is there.
Measured shipped_measured();

// Shown to fail up to `reach` times the training length, and within what it was made for.
bool fails_within(const LengthMeasured&, double reach);
// "holds to 4x on majority; fails on 24 tasks, from 1.1x (copy) to 8x (needle); undecided on 5
// tasks": few tasks are named, many counted; "" for no rows. A task that one run decides is not
// open in another.
std::string verdicts_text(const std::vector<LengthMeasured>&);
// What a card claims of lengths.
struct LengthClaim {
  std::string rating, extension;
};
LengthClaim length_claim(const pes_card&);
LengthClaim length_claim(const Json& card);
// "rated excellent (Press et al. 2021), reach 2-30x (Press et al. 2021)"; "" for none.
std::string claim_text(const LengthClaim&);
// Where the rows contradict the claim, and how; "" where they do not.
std::string disagreement(const LengthClaim&, const std::vector<LengthMeasured>&);

}  // namespace pesuite
