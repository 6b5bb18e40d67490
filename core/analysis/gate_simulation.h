// What the gate's rule costs in false alarms and what it catches, beside other rules, by
// simulation: the tables of docs/regressions.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pesuite {

struct GateConditions {
  std::size_t series = 24, seeds = 3;
  double sigma = 0.5;        // of the lognormal spreads of the series, around 0.005 nats
  bool one_noisy = false;    // one series ten times noisier than the others
  double correlation = 0.5;  // of before and after under one seed
  double calibration_correlation = 0.5;  // the same of the pairs of calibration,
  std::size_t differences = 20;          // of which there are so many
  bool families = false;  // three series of a model each go together, as its lengths do
  double change = 0;      // nats, of every series
};
enum class GateRuleKind { ours, moderated, paired, welch, bootstrap, threshold };
const char* gate_rule_name(GateRuleKind);

struct GateRates {
  double alarms = 0;        // share of gates with at least one alarm
  double caught = 0;        // share of series called worse
  double caught_quiet = 0;  // the same without the noisy series
  double equivalent = 0;    // share of series called equivalent
};
GateRates gate_rates(GateRuleKind, const GateConditions&, std::uint64_t runs);

struct GateSimulation {
  std::string text;                 // Markdown
  std::vector<std::string> faults;  // what is not as docs/regressions.md promises
};
GateSimulation simulate_gate(std::uint64_t runs,
                             const std::function<void(const std::string&)>& progress);

}  // namespace pesuite
