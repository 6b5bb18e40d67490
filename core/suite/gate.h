// What a suite wants to be told of when its numbers change: `[[gate]]`.
#pragma once

#include <string>
#include <vector>

#include "suite/config.h"
#include "suite/filter.h"

namespace pesuite {

// Lengths of evaluation that a gate is about: "eval_len<=4*train_len", "eval_len<=512"; "": all.
struct GateScope {
  std::string text;
  double multiple = 0;  // of the training length; 0: `length` counts
  double length = 0;    // tokens; 0 with multiple 0: no limit
  bool holds(int length, int train_length) const;
};
// Error (usage) where it is none.
GateScope parse_gate_scope(const std::string& text);

// "0.01 nats", "2 points", "0.02". Error (usage) where it is none, or of another unit than the
// metric has.
double parse_margin(const std::string& text, const std::string& metric);

struct GateRule {
  std::string metric = "nll";
  std::string where;     // a filter of cells and protocols, "task=copy* & protocol=last*"; "": all
  double margin = 0.01;  // the smallest change for the worse that counts
  double alpha = 0.05;   // of the whole gate
  bool lower = true;     // is better
  bool one_by_one = true;  // examples are compared one by one where they are known (McNemar)
  GateScope scope;
  bool covers(const Coordinates&, const std::string& metric, int length, int train_length) const;
};
// "nll where task=copy*, margin 0.01".
std::string gate_text(const GateRule&);
Json to_json(const GateRule&);
GateRule gate_from_json(const Json&);  // Error (usage) for what is none

std::vector<GateRule> read_gates(Reader& suite);
// Of a suite that states none: nats and exact matches up to four times the training length.
std::vector<GateRule> usual_gates();

}  // namespace pesuite
