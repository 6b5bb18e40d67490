// What suites expect.
#include "suite/hypothesis.h"

#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(hypothesis) {
  const std::vector<Comparison> all = parse_hypothesis(input);
  for (const Comparison& c : all) {
    const std::vector<Comparison> again = parse_hypothesis(c.text());
    PES_CHECK(again.size() == 1 && again[0].text() == c.text());
  }
  check_names(all, {{"rope", "alibi"}, {"ledger", "copy"}, {"nano"}});
}

}  // namespace pesuite
