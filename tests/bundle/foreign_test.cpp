// Results of other programs, as records.
#include "bundle/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "tests/failure.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

class Foreign : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  static ForeignResults read(const fs::path& path, Pairs columns = {},
                             std::map<std::string, std::string> constants = {}, Pairs where = {}) {
    return foreign_results(path, {columns, constants, where, "suite"});
  }
  std::string why(const std::string& text, Pairs columns = {},
                  std::map<std::string, std::string> constants = {}, Pairs where = {}) {
    return failure([&] { read(file("x.csv", text), columns, constants, where); });
  }
  // "rope 1 nll at 64: 2", a record each.
  static std::vector<std::string> lines(const ForeignResults& results) {
    std::vector<std::string> out;
    for (const Json& j : results.records) {
      const Json& c = j["coords"];
      out.push_back(
          fmt::format("{} {} {} at {}: {}", j["encoding"]["id"].get<std::string>(),
                      j["seed"].get<int>(), j["metric"].get<std::string>(), c.value("eval_len", 0),
                      j["value"].is_null() ? j["status"].get<std::string>()
                                           : fmt::format("{:.4g}", j["value"].get<double>())));
    }
    return out;
  }
  Scratch folder;
};

TEST_F(Foreign, ColumnsAreFoundByTheirUsualNames) {
  const ForeignResults r = read(file("x.csv",
                                     "PE type,Seed,train_len,eval-length,loss,note\r\n"
                                     "rope,1,64,64,2.5,\"a, \"\"b\"\"\"\r\n\r\n"
                                     "alibi,2,64,128,inf,\r\n"
                                     "alibi,3,64,128,,\r\n"
                                     "alibi,4,64,256,NaN,\r\n"));
  EXPECT_EQ(lines(r), (std::vector<std::string>{"rope 1 nll at 64: 2.5", "alibi 2 nll at 128: inf",
                                                "alibi 4 nll at 256: nan"}));
  EXPECT_EQ(r.records[0]["split"], "id");
  EXPECT_EQ(r.records[1]["split"], "ood");
  EXPECT_EQ(r.records[1]["coords"]["protocol"], "reported");
  EXPECT_EQ(r.records[1]["series"], r.records[2]["series"]);
  EXPECT_NE(r.records[1]["cell"], r.records[2]["cell"]);
  EXPECT_THAT(r.notes.back(), HasSubstr("1 column not read: note"));
}

TEST_F(Foreign, AMetricMayStandInAColumnOfItsOwn) {
  const ForeignResults r = read(file("x.tsv",
                                     "encoding\tseed\tmetric\tvalue\ttask\tn\n"
                                     "rope\t1\taccuracy\t0.5\tcopy\t100\n"
                                     "rope\t1\texact_match\t0.25\tcopy\t100\n"),
                                {}, {{"train_len", "20"}, {"model", "107M"}});
  EXPECT_EQ(lines(r), (std::vector<std::string>{"rope 1 acc at 20: 0.5", "rope 1 em at 20: 0.25"}));
  EXPECT_EQ(r.records[0]["task"], "copy");
  EXPECT_EQ(r.records[0]["model"], "107M");
  EXPECT_EQ(r.records[0]["n"], 100);
  EXPECT_FALSE(r.records[0]["coords"].contains("protocol"));
}

TEST_F(Foreign, AStarStandsForTheLengthAndRowsCanBeChosen) {
  const ForeignResults r = read(
      file("x.jsonl",
           R"({"cfg": {"pe": "none", "seed": 7}, "state": "finished", "acc_8": 90, "acc_16": 12.5})"
           "\n\n"
           R"({"cfg": {"pe": "none", "seed": 8}, "state": "crashed", "acc_8": 1, "acc_x": 3})"
           "\n"),
      {{"encoding", "cfg.pe"}, {"seed", "cfg.seed"}, {"acc", "acc_*"}}, {{"train_len", "8"}},
      {{"state", "finished"}});
  EXPECT_EQ(lines(r),
            (std::vector<std::string>{"none 7 acc at 8: 0.9", "none 7 acc at 16: 0.125"}));
  EXPECT_THAT(r.notes, ::testing::Contains(HasSubstr("read as percent")));
  EXPECT_THAT(r.notes, ::testing::Contains(HasSubstr("as --where says: 1 row")));
}

TEST_F(Foreign, PerplexityBecomesLossAndCurvesHaveTheirSteps) {
  const ForeignResults r = read(file("x.json",
                                     R"([{"step": 10, "train_loss": 3.5, "val_loss": 3.25,
                                          "perplexity": 25.8, "tokens": 80, "timestamp": "x"},
                                         {"step": 20, "train_loss": 3.0, "val_loss": null}])"),
                                {}, {{"encoding", "rope"}, {"seed", "1"}, {"train_len", "64"}});
  ASSERT_EQ(r.records.size(), 3u);
  EXPECT_EQ(r.records[2]["step"], 20);
  EXPECT_EQ(r.records[1]["split"], "val");
  EXPECT_EQ(r.records[1]["part"], "train");
  EXPECT_FALSE(r.records[1]["coords"].contains("eval_len"));
  EXPECT_EQ(r.records[0]["tokens"], 80);
  EXPECT_THAT(r.notes.back(), HasSubstr("not read: perplexity, timestamp"));
  EXPECT_EQ(lines(read(file("both.csv", "encoding,seed,train_len,loss,ppl\nrope,1,64,2,7.4\n"))),
            std::vector<std::string>{"rope 1 nll at 64: 2"});
  const ForeignResults p =
      read(file("p.csv", "encoding;seed;train_len;ppl\nrope;1;64;7.5\n"));  // by semicolons
  EXPECT_NEAR(p.records[0]["value"].get<double>(), std::log(7.5), 1e-12);
}

TEST_F(Foreign, SaysWhatIsMissingOrWrongAndWhere) {
  const std::string head = "encoding,seed,train_len,eval_len,nll\n";
  EXPECT_THAT(why("encoding,seed,nll\nrope,1,2\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("--constant 'train_len=...'")));
  EXPECT_THAT(why(head + "rope,1,64,64,2\nrope,1,64,64,3\n"),
              AllOf(HasSubstr("lines 2 and 3 both have nll at 64"), HasSubstr("model=COLUMN")));
  EXPECT_THAT(why(head + "rope,x,64,64,2\n"), HasSubstr("has 'x' for seed"));
  EXPECT_THAT(why(head + "rope,1.5,64,64,2\n"), HasSubstr("whole number from 0 on"));
  EXPECT_THAT(why(head + "rope,1,0,64,2\n"), HasSubstr("whole number from 1 on"));
  EXPECT_THAT(why(head + "rope,1,64,64,two\n"), HasSubstr("'two' for nll, which is no number"));
  EXPECT_THAT(why(head + "rope,1,64,64,2,3\n"), HasSubstr("has 6 fields, and the header names 5"));
  EXPECT_THAT(why(head + "rope,1,64,64,2\nrope,2,64"),  // as a file that was cut off
              HasSubstr("line 3 has 3 fields, and the header names 5"));
  for (const std::string& name : {std::string("ro\xE9pe"), std::string("ro\0pe", 5)})
    EXPECT_THAT(why(head + name + ",1,64,64,2\n"), HasSubstr("line 2 is no text in UTF-8; save"));
  EXPECT_THAT(why(head + "\"rope,1,64,64,2\n"), HasSubstr("line 2 has a quote that is not closed"));
  EXPECT_THAT(why(head + "\"rope\"x,1,64,64,2\n"), HasSubstr("more behind a quote"));
  EXPECT_THAT(why("a,a\n1,2\n"), HasSubstr("two columns are named 'a'"));
  EXPECT_THAT(why(""), HasSubstr("is empty"));
  EXPECT_THAT(why(head), HasSubstr("has no number in 0 rows"));
  EXPECT_THAT(why("encoding,seed,train_len,fitness\nrope,1,64,2\n"),
              AllOf(HasSubstr("no column of numbers"), HasSubstr("fitness")));
  EXPECT_THAT(why("encoding,seed,train_len,metric,value\nrope,1,64,joy,2\n"),
              HasSubstr("the metric 'joy', which is not known"));
  EXPECT_THAT(why("encoding,seed,train_len,acc\nrope,1,64,200\n"), HasSubstr("nor a percentage"));
  EXPECT_THAT(why("encoding,seed,train_len,acc\nrope,1,64,-1\n"), HasSubstr("which is a share"));
  EXPECT_THAT(why("encoding,seed,train_len,acc\nrope,1,64,inf\n"), HasSubstr("which is a share"));
  EXPECT_THAT(why("encoding,seed,train_len,nll\nrope,1,64,-inf\n"), HasSubstr("is no number"));
  EXPECT_THAT(
      why("encoding,seed,train_len,nll,ppl\nrope,1,64,2,7\n", {{"nll", "nll"}, {"ppl", "ppl"}}),
      HasSubstr("lines 2 and 2 both have ppl"));
  EXPECT_THAT(why("encoding,seed,train_len,bpb\nrope,1,64,1\n"), HasSubstr("bits per byte alone"));
  EXPECT_THAT(why("encoding,seed,train_len,ppl\nrope,1,64,0\n"), HasSubstr("the perplexity 0"));
  EXPECT_THAT(why(head, {{"nll", "los"}}), HasSubstr("has no column 'los'"));
  EXPECT_THAT(why(head, {{"nll", "loss_*"}}), HasSubstr("no column like 'loss_*'"));
  EXPECT_THAT(why(head, {{"seed", "s*"}}), HasSubstr("only numbers stand in several columns"));
  EXPECT_THAT(why(head, {{"sed", "seed"}}), HasSubstr("did you mean"));
  EXPECT_THAT(why(head, {}, {{"joy", "1"}}), HasSubstr("'joy' is nothing"));
  EXPECT_THAT(why(head, {}, {}, {{"state", "x"}}), HasSubstr("has no column 'state'"));
  EXPECT_THAT(failure([&] { read(file("x.jsonl", "{\"a\": 1}\n[2]\n")); }),
              HasSubstr("item 2 is no JSON object"));
}

}  // namespace
}  // namespace pesuite::testing
