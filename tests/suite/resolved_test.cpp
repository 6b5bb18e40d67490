// What a suite has come to: values with their origins, and a resolved file that is a suite by
// itself.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/file.h"
#include "plan/plan.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

const std::string base_suite = R"toml([defaults]
seeds = [1]
[model.micro]
layers = 1
[train]
steps = 40
batch = 8
)toml";
const std::string top_suite = R"toml(extends = "base.toml"
[train]
lr = 1e-3
[[encoding]]
expr = "rope"
[[task]]
id = "corpus"
task = "toylag"
train_len = 32
train.batch = 4
[[task]]
task = "kback_copy"
train_len = 16
[[eval]]
task = "corpus"
lengths = ["1x", "4x"]
[[eval]]
task = "corpus"
lengths = [64]
protocol = "last(8)"
[profile.ci.train]
steps = 3
)toml";

class Resolved : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file_atomic(folder_ / "base.toml", base_suite);
    write_file_atomic(folder_ / "top.toml", top_suite);
  }
  Suite load(const SuiteChoices& c = {}) const { return load_suite(folder_ / "top.toml", c); }
  // The origin of a value without the folder's name, and the value.
  std::pair<std::string, std::string> of(const Suite& s, const std::string& path) const {
    for (const ReadValue& v : s.values)
      if (v.path == path) {
        std::string origin = v.origin;
        if (const std::size_t at = origin.find(folder_.string() + "/"); at == 0)
          origin.erase(0, folder_.string().size() + 1);
        return {v.value.dump(), origin};
      }
    return {"", "is not there"};
  }
  std::set<std::string> cells(const Suite& s) const {
    std::set<std::string> out;
    for (const PlannedCell& c :
         make_plan(s, {PESUITE_TEST_PLUGINS}, Store(folder_ / "store")).cells) {
      std::string parts;
      for (const CellEval& e : c.evals) parts += fmt::format(" {}", part_id(e));
      out.insert(c.id + parts);
    }
    return out;
  }
  const Scratch folder_;
};

using Pair = std::pair<std::string, std::string>;

TEST_F(Resolved, EachValueSaysWhereItComesFrom) {
  SuiteChoices c;
  c.profile = "ci";
  c.set = {"task.corpus.train_len=16"};
  c.seeds = {5, 6};
  c.device = "reference";
  c.limit = 2;
  const Suite s = load(c);
  EXPECT_EQ(of(s, "defaults.seeds"), Pair("[5,6]", "--seeds"));
  EXPECT_EQ(of(s, "defaults.backend"), Pair("\"reference\"", "--device"));
  EXPECT_EQ(of(s, "defaults.limit"), Pair("2", "--limit"));
  EXPECT_EQ(of(s, "train.steps"), Pair("3", "top.toml:22:1 (profile ci)"));
  EXPECT_EQ(of(s, "train.lr"), Pair("0.001", "top.toml:3:1"));
  EXPECT_EQ(of(s, "train.batch"), Pair("8", "base.toml:7:1"));
  EXPECT_EQ(of(s, "train.schedule.warmup"), Pair("\"3%\"", "default"));
  EXPECT_EQ(of(s, "train.optimizer.clip").second, "default");
  EXPECT_EQ(of(s, "model.micro.layers"), Pair("1", "base.toml:4:1"));
  EXPECT_EQ(of(s, "model.micro.norm").second, "preset micro");
  EXPECT_EQ(of(s, "task.corpus.train_len"), Pair("16", "--set task.corpus.train_len"));
  EXPECT_EQ(of(s, "task.corpus.train.batch"), Pair("4", "top.toml:10:7"));
  EXPECT_EQ(of(s, "task.corpus.train.micro_batch").second, "is not there") << "it is train's";
  EXPECT_EQ(of(s, "eval.corpus.lengths"), Pair("[\"1x\",\"4x\"]", "top.toml:16:1"));
  EXPECT_EQ(of(s, "eval.corpus#2.lengths"), Pair("[64]", "top.toml:19:1"));
  EXPECT_EQ(of(s, "eval.corpus.protocol").second, "default");
  EXPECT_EQ(of(load(), "defaults.seeds"), Pair("[1]", "base.toml:2:1"));
  EXPECT_EQ(of(load(), "train.steps"), Pair("40", "base.toml:6:1"));
}

// --seeds 5 left seeds = [1] in the file, and extends pointed at what is not beside it.
TEST_F(Resolved, TheFileOfARunIsASuiteByItself) {
  SuiteChoices c;
  c.profile = "ci";
  c.set = {"train.batch=2"};
  c.seeds = {5};
  c.limit = 3;
  const Suite asked = load(c);
  EXPECT_FALSE(asked.resolved.contains("extends"));
  EXPECT_EQ(asked.resolved["defaults"]["seeds"].dump(), "[5]");
  EXPECT_EQ(asked.asked, "--profile ci --set 'train.batch=2' --seeds 5 --limit 3");
  const Scratch elsewhere;
  write_file_atomic(elsewhere / "suite.resolved.toml", to_toml(asked.resolved));
  const Suite again = load_suite(elsewhere / "suite.resolved.toml");
  EXPECT_EQ(again.name, "top") << "not the name of its file";
  EXPECT_EQ(cells(again), cells(asked));
  EXPECT_NE(cells(load()), cells(asked));
}

TEST_F(Resolved, ALimitedEvaluationIsAnother) {
  SuiteChoices c;
  c.limit = 3;
  const Plan whole = make_plan(load(), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
  const Plan cut = make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
  EXPECT_EQ(cut.cells[0].id, whole.cells[0].id) << "it trains the same";
  EXPECT_EQ(cut.cells[0].evals[0].config.examples, 3);
  EXPECT_EQ(cut.cells[0].evals[0].config.limit, 3);
  c.set = {"eval.corpus.examples=3"};
  c.limit = 0;
  const Plan few = make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
  std::set<std::string> parts;
  for (const Plan* p : {&whole, &cut, &few})
    for (const CellEval& e : p->cells[0].evals)
      if (e.length == 64) parts.insert(part_id(e));
  EXPECT_EQ(parts.size(), 3u) << "3 of 64 examples are not the 3 that a suite asks for";
  EXPECT_EQ(part_id(eval_from_json(to_json(cut.cells[0].evals[0]))),
            part_id(cut.cells[0].evals[0]));
  EXPECT_THAT(cut.notes, ::testing::Contains(::testing::HasSubstr("at most 3 examples")));
}

TEST_F(Resolved, LengthsMayBeRanges) {
  const auto lengths = [&](const std::string& value, const std::string& task = "kback_copy") {
    SuiteChoices c;
    c.only = {"task=" + task};
    c.set = {fmt::format("eval=[{{task = \"{}\", lengths = {}}}]", task, value)};
    std::vector<int> out;
    const Plan plan = make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
    for (const CellEval& e : plan.cells.at(0).evals) out.push_back(e.length);
    return out;
  };
  EXPECT_EQ(lengths(R"(["14..18"])"), (std::vector<int>{14, 15, 16, 17, 18}));
  EXPECT_EQ(lengths(R"("16..24:4")"), (std::vector<int>{16, 20, 24}));
  EXPECT_EQ(lengths(R"(["1x..3x:1x", 40])"), (std::vector<int>{16, 32, 40, 48}));
  EXPECT_EQ(lengths(R"(["8..10"])", "corpus"), (std::vector<int>{8, 9, 10}));
  for (const std::string wrong :
       {R"(["20..1"])", R"(["1..20:"])", R"(["1.."])", R"(["1..9999999"])"})
    EXPECT_THROW(lengths(wrong), Error) << wrong;
}

// Who asks for every length up to 20 does not know the shortest example.
TEST_F(Resolved, RangesLeaveOutLengthsThatATaskLacks) {
  SuiteChoices c;
  c.only = {"task=c"};
  c.set = {"task=[{id = \"c\", task = \"copy\", train_len = 23}]",
           "eval=[{task = \"c\", lengths = [\"1..46\"]}]"};
  const Plan p = make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
  EXPECT_LT(p.cells.at(0).evals.size(), 46u);
  EXPECT_GT(p.cells.at(0).evals.size(), 10u);
  EXPECT_THAT(p.notes,
              ::testing::Contains(::testing::HasSubstr("ranges of lengths leave them out")));
}

// Before the training, which would be over when the evaluation has nothing to ask.
TEST_F(Resolved, ALengthOrAValueThatATaskLacksIsRefused) {
  const auto why = [&](const std::string& eval) -> std::string {
    SuiteChoices c;
    c.only = {"task=c"};
    c.set = {"task=[{id = \"c\", task = \"copy\", train_len = 23}]", "eval=[{" + eval + "}]"};
    try {
      make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(why("lengths = [23, 46]"), "");
  EXPECT_THAT(why("lengths = [23, 4]"),
              ::testing::HasSubstr("length 4 is too short, 5 tokens are needed"));
  EXPECT_EQ(why("lengths = [23], axes = {items = [1, 10]}"), "");
  EXPECT_THAT(why("lengths = [23], axes = {items = [1, 11]}"),
              ::testing::HasSubstr("axis items takes whole numbers from 1 to 10 at length 23"));
}

TEST_F(Resolved, ALevelThatCannotBeHadIsRefused) {
  const auto why = [&](std::vector<std::string> set) -> std::string {
    SuiteChoices c;
    c.set = std::move(set);
    try {
      make_plan(load(c), {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(why({"defaults.determinism=strict"}), "");
  EXPECT_EQ(why({"defaults.determinism=data", "defaults.threads_per_cell=2"}), "");
  EXPECT_EQ(why({"defaults.determinism=strict", "defaults.threads_per_cell=2"}),
            "'defaults.determinism' is 'strict', but 'defaults.threads_per_cell' is 2; 'strict' "
            "holds with 1");
  EXPECT_THAT(why({"defaults.determinism=strict", "defaults.backend=reference"}),
              ::testing::HasSubstr("backend 'reference' promises 'run'"));
}

}  // namespace
}  // namespace pesuite::testing
