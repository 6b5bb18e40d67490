// What the store says of a cell beside its numbers.
#include "plan/plan.h"
#include "tests/fuzz/fuzz.h"

namespace pesuite {

FUZZ_TARGET(status) {
  const Store store(fuzz::folder() / "store");
  PlannedCell cell;
  cell.id = cell.training = "0123456789abcdef";
  cell.config.train.steps = 10;
  cell.evals.push_back({16, 16, {}, {}});
  fs::create_directories(store.cell(cell.id));
  fuzz::file_of(input, fs::relative(store.status(cell.id), fuzz::folder()).c_str());
  for (const bool trained : {false, true}) {
    if (trained) fuzz::file_of("", fs::relative(store.training(cell.id), fuzz::folder()).c_str());
    refresh(cell, store);
    PES_CHECK(!state_name(cell.state).empty());
  }
  fs::remove_all(store.cell(cell.id));
}

}  // namespace pesuite
