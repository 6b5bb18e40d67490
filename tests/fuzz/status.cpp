// What the store says of a cell beside its numbers.
#include "base/seal.h"
#include "plan/plan.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(status) {
  const Store store(fuzz::folder() / "store");
  PlannedCell cell;
  cell.id = cell.training = "0123456789abcdef";
  cell.config.train.steps = 10;
  cell.evals.push_back({16, 16, {}, {}});
  write_sealed(store.status(cell.id), input);  // damage does not come so far
  for (const bool trained : {false, true}) {
    if (trained) write_sealed(store.training(cell.id), "");
    refresh(cell, store);
    PES_CHECK(!state_name(cell.state).empty());
  }
  fs::remove_all(store.cell(cell.id));
}

}  // namespace pesuite
