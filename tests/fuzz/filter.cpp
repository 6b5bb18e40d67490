// --only, and a suite's include and exclude.
#include "suite/filter.h"

#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(filter) {
  const std::string hard(100, 'a');  // for patterns of many stars
  const Filter filter(input);
  filter.matches({{"encoding", hard}, {"task", "ledger"}, {"model", "nano"}, {"seed", "42"}});
  filter.check({{"encoding", {hard, "rope"}},
                {"task", {"ledger", "text"}},
                {"model", {"nano"}},
                {"seed", {"1", "42"}}},
               "the suite");
}

}  // namespace pesuite
