// Cells: what follows from their configuration.
#include "cell/cell.h"

#include <gtest/gtest.h>

namespace pesuite::testing {
namespace {

// 'eval', 'search' and runs of suites ask for lengths and protocols; the rest follows from the
// cell.
TEST(Cells, TellEvaluationsWhatTheyWereTrainedOn) {
  CellConfig cell;
  cell.train.length = 64;
  cell.train.lengths.fill = 4, cell.train.lengths.shots = 2;
  SwitchConfig later;
  later.step = 10, later.length = 128;
  cell.switches = {later};
  EvalConfig asked;
  asked.lengths = {64, 256}, asked.examples = 7, asked.split = PES_SPLIT_VALIDATION;
  const EvalConfig c = eval_config_of(cell, asked);
  EXPECT_EQ(c.train_length, 64);
  EXPECT_EQ(c.longest_trained, 128);
  EXPECT_EQ(c.fill_trained, 4);
  EXPECT_EQ(c.shots_trained, 2);
  EXPECT_TRUE(c.trained_on(128));
  EXPECT_EQ(c.lengths, asked.lengths);
  EXPECT_EQ(c.examples, 7);
  EXPECT_EQ(c.split, PES_SPLIT_VALIDATION);
}

}  // namespace
}  // namespace pesuite::testing
