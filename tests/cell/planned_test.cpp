// plan.json as its readers take it: whole, or not at all.
#include "tests/cell/planned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

class PlanOfARun : public ::testing::Test {
 protected:
  std::string refused(const std::string& text) const {
    write_file_atomic(folder_ / plan_file, text);
    try {
      read_plan(folder_);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data);
      return e.what();
    }
    ADD_FAILURE() << text << " was taken";
    return "";
  }
  const Scratch folder_;
};

TEST_F(PlanOfARun, IsReadWhole) {
  const Json plan = plan_of_a_cell("ab12ab12ab12ab12");
  write_file_atomic(folder_ / plan_file, plan.dump());
  EXPECT_EQ(read_plan(folder_), plan);
}

TEST_F(PlanOfARun, IsRefusedWithAReason) {
  for (const char* text : {"", "[]", "{", "5"})
    EXPECT_THAT(refused(text), HasSubstr("plan.json is damaged: it is no JSON object")) << text;
  for (const char* text :
       {"{}", R"({"schema": 1})", R"({"schema": "pesuite.plan/9", "cells": []})"})
    EXPECT_THAT(refused(text), HasSubstr("this is no plan that this program knows")) << text;
  for (const char* cells : {"null", "5", "{\"a\": 1}", "[1]", "[{}]"})
    EXPECT_THAT(refused(fmt::format(R"({{"schema": "{}", "cells": {}}})", plan_schema, cells)),
                HasSubstr("it does not say what its cells are"))
        << cells;
  fs::remove(folder_ / plan_file);
  EXPECT_THROW(read_plan(folder_), Error);
}

TEST_F(PlanOfARun, NamesCellsByDigestsOnly) {
  const Json plan = plan_of_a_cell("ab12ab12ab12ab12");
  for (const auto& [field, value] : plan["cells"][0].items()) {
    Json without = plan, other = plan;
    without["cells"][0].erase(field);
    other["cells"][0][field] = 1.5;
    for (const Json& p : {without, other})
      EXPECT_THAT(refused(p.dump()), HasSubstr("what its cells are")) << field;
  }
  for (const char* id : {"", "../../../../etc/", "AB12AB12AB12AB12"})
    EXPECT_THAT(refused(plan_of_a_cell(id).dump()), HasSubstr("what its cells are")) << id;
}

}  // namespace
}  // namespace pesuite::testing
