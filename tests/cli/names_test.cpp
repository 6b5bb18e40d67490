// Names resolve both ways, what is not known is told with what is, and nobody waits in silence.
#include <gmock/gmock.h>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Names : public Run {};

TEST_F(Names, InfoFindsTheKind) {
  EXPECT_THAT(pesuite({"info", "rope"}).out, StartsWith("rope "));
  EXPECT_THAT(pesuite({"info", "toylag", "--example"}).out, HasSubstr("example 0 of training"));
  EXPECT_THAT(pesuite({"info", "nano"}).out, HasSubstr("about a minute a cell"));
  EXPECT_THAT(pesuite({"info", "smoke"}).out, StartsWith("smoke: "));
  const Ended lags = pesuite({"info", "lags"});
  EXPECT_EQ(lags.code, 0) << lags.err;
  EXPECT_THAT(lags.out, HasSubstr("task 'lags' is toylag"));
  const Ended none = pesuite({"info", "rpoe"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err,
              HasSubstr("there is no encoding, task, model or suite 'rpoe', did you mean 'rope'?"));
  EXPECT_THAT(pesuite({"info", "task"}).err, HasSubstr("the name is missing"));
}

TEST_F(Names, IdsOfShippedSuitesAreKnown) {
  const Ended lags = pesuite({"info", "task", "lags"});
  EXPECT_EQ(lags.code, 0) << lags.err;
  EXPECT_THAT(lags.out, HasSubstr("task 'lags' is toylag"));
  EXPECT_THAT(lags.out, HasSubstr("length_generalization"));
  EXPECT_EQ(Json::parse(pesuite({"info", "task", "lags", "--json"}).out)["name"], "toylag");
  EXPECT_THAT(pesuite({"list", "task"}).out, HasSubstr("id in suites"));
  const Ended suite = pesuite({"info", "suite", "length_generalization"});
  EXPECT_THAT(suite.out, HasSubstr("task lags"));
  EXPECT_THAT(suite.out, HasSubstr("profiles: "));
}

TEST_F(Names, NumbersAreAsShortAsTheyReadBack) {
  EXPECT_THAT(pesuite({"info", "suite", "smoke"}).out, HasSubstr("lr = 0.003\n"));
  EXPECT_THAT(pesuite({"bench", "--help"}).out, HasSubstr("--window arg (=0.3)"));
}

TEST_F(Names, FiltersThatFitNothingSayWhatThereIs) {
  const fs::path s = suite({"rope", "t5"}, 10);
  const Ended e = pesuite({"plan", s, "--only", "encoding=rpe"});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err,
              HasSubstr("filter 'encoding=rpe': the suite has no encoding 'rpe', did you mean "
                        "'rope'?; it has rope, t5"));
  EXPECT_EQ(pesuite({"plan", s, "--only", "encoding=r*"}).code, 0);
  const Ended task =
      pesuite({"plan", "length_generalization", "--profile", "ci", "--only", "task=corpus"});
  EXPECT_EQ(task.code, 2);
  EXPECT_THAT(task.err, HasSubstr("the suite, with profile ci, has no task 'corpus'"));
}

TEST_F(Names, PresetsAndProfilesAreListed) {
  EXPECT_THAT(pesuite({"train", "--encoding", "rope", "--model-size", "nanno"}).err,
              HasSubstr("did you mean 'nano'?; known are micro, nano, "));
  EXPECT_THAT(pesuite({"plan", "length_generalization", "--profile", "cii"}).err,
              HasSubstr("did you mean 'ci'?; it has "));
  EXPECT_THAT(pesuite({"run", "--help"}).out, Not(HasSubstr("paper")));
}

TEST_F(Names, ValidateTakesSeveralFiles) {
  const fs::path s = suite({"rope"}, 10);
  const Ended both = pesuite({"validate", s, "smoke"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("s.toml is sound"));
  EXPECT_THAT(both.out, HasSubstr("smoke.toml is sound"));
  const Ended one = pesuite({"validate", "nowhere.toml", s, "elsewhere.toml"});
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.out, HasSubstr("s.toml is sound"));
  EXPECT_THAT(one.err, HasSubstr("nowhere.toml: there is no such file"));
  EXPECT_THAT(one.err, HasSubstr("elsewhere.toml: there is no such file"));
}

TEST_F(Names, CellsOfARunAreCheckpoints) {
  ASSERT_EQ(pesuite({"run", suite({"rope", "t5"}, 10)}).code, 0);
  const auto evaluated = [&](const std::string& name) {
    return pesuite({"eval", name, "--lengths", "16", "--examples", "4"});
  };
  const std::string run = run_folder().string();
  const std::string wanted = evaluated(run + "/t5/toylag/micro/1").out;
  EXPECT_THAT(wanted, StartsWith("t5("));
  for (const std::string& name :
       {run + "/t5", run + "/t5/", std::string("t/t5/s1"), std::string("t/t5·toylag·micro·s1")})
    EXPECT_EQ(evaluated(name).out, wanted) << name;
  EXPECT_EQ(evaluated("t/t5/best").code, 0);
  for (const auto& [name, why] : std::map<std::string, std::string>{
           {run, "fits 2 cells: rope/toylag/micro/1, t5/toylag/micro/1; name one by its"},
           {"t/alibi", "t/alibi: the run has no such cell; it has rope/toylag/micro/1, t5"},
           {"t/t5/step_7", "step_7.safetensors; there is best, last"},
           {"nowhere/t5", "neither a file nor a training's folder nor a cell of a run"}}) {
    const Ended e = evaluated(name);
    EXPECT_NE(e.code, 0) << name;
    EXPECT_THAT(e.err, HasSubstr(why)) << name;
  }
}

TEST_F(Names, ADamagedPlanNamesNoCell) {
  fs::create_directories(folder_ / "r");
  for (const char* plan :
       {"", "[]", "{}", "{\"cells\": [{}]}", "{\"cells\": [{\"seed\": \"x\"}]}"}) {
    write("r/plan.json", plan);
    const Ended e = pesuite({"eval", "r/rope"});
    EXPECT_EQ(e.code, 5) << plan;
    EXPECT_THAT(e.err, HasSubstr("r/plan.json")) << plan;
  }
  write("r/records.jsonl", "");
  for (const char* verb : {"eval", "reproduce"}) {
    write("r/plan.json", R"({"schema": "pesuite.plan/1", "cells": [{}]})");
    const Ended e = pesuite({verb, verb == std::string("eval") ? "r/rope" : "r"});
    EXPECT_EQ(e.code, 5) << verb;
    EXPECT_THAT(e.err, HasSubstr("r/plan.json is damaged: it does not say what its cells are"));
  }
}

// Of `rope => ntk` the weights are rope's, and to evaluate those alone would be another cell.
TEST_F(Names, ACellWithASwappedEncodingSaysWhatToSwapIn) {
  ASSERT_EQ(pesuite({"run", suite({"rope => ntk(scale=2)"}, 10)}).code, 0);
  const Ended e = pesuite({"eval", run_folder().string()});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err, HasSubstr("was evaluated with another encoding than it trained with; give "));
  EXPECT_THAT(e.err, HasSubstr("last.safetensors and --encoding 'ntk("));
}

TEST_F(Names, PlacesOfPluginsAreThere) {
  const fs::path s = suite({"hope"}, 10);
  const Ended missing = pesuite({"plan", s, "--plugin-path", "/no/such/place"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "error: --plugin-path /no/such/place: there is no such folder or file\n");
  fs::create_directories(folder_ / "empty");
  const Ended empty = pesuite({"list", "encoding", "--plugin-path", "empty"});
  EXPECT_EQ(empty.code, 0);
  EXPECT_THAT(empty.err, HasSubstr("note: empty: this folder for plugins holds none"));
  const Ended refused = pesuite({"plan", s, "--plugin-path", PESUITE_TEST_OTHER});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("unknown encoding 'hope'"));
  EXPECT_THAT(refused.err, HasSubstr("error: plugin refused: "));
}

TEST_F(Names, TheLearningRateFollowsTheModelSize) {
  const Ended e = pesuite({"train", "--encoding", "rope", "--model-size", "micro", "--task",
                           "toylag(document=128)", "--max-steps", "2", "--batch-size", "2"});
  ASSERT_EQ(e.code, 0) << e.err;
  const fs::path run = folder_ / "outputs/by-name/micro-rope-toylag-2steps-seed42";
  ASSERT_TRUE(fs::exists(run / "run.json")) << e.err;
  const Json j = Json::parse(slurp(run / "run.json"));
  EXPECT_THAT(j.dump(), HasSubstr("\"lr\":0.003"));
  EXPECT_THAT(pesuite({"train", "--help"}).out, HasSubstr("0.003 for"));
}

TEST_F(Names, LongVerbsSayWhatTheyDo) {
  const Ended e = pesuite({"bench", "overhead", "--config", "A", "--encoding", "rope", "--lengths",
                           "256", "--repetitions", "4", "--window", "0.3", "--threads", "1"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.err, HasSubstr("bench overhead: "));
}

}  // namespace
}  // namespace pesuite::testing
