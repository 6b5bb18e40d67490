// What a cell is made of must be what it was planned with.
#include "run/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/group.h"
#include "base/error.h"
#include "encoding/expression.h"
#include "tests/catalog.h"

namespace pesuite::testing {
namespace {

// A plan takes a task that crashes when it is asked for one without symbols. Should it not crash
// again, its cell trained on a model of one symbol, and nobody noticed.
TEST(Stage, RefusesACellThatWasPlannedWithoutItsTasksAnswer) {
  CellConfig cell;
  cell.task = "kback_copy(k=2, symbols=8)";
  const Task task(built_catalog(), parse_expression(cell.task, "task"), 16, 16);
  const auto backend = open_backend("reference", {});
  Group alone;
  cell.model.vocabulary = task.info().inputs;
  EXPECT_NO_THROW(Stage(built_catalog(), *backend, task, cell, alone));
  cell.model.vocabulary = 1;
  try {
    Stage(built_catalog(), *backend, task, cell, alone);
    FAIL() << "trains with the wrong alphabet";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::data);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("was planned for 1"));
  }
}

}  // namespace
}  // namespace pesuite::testing
