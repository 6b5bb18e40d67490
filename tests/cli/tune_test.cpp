// `pesuite run` with learning rates to choose and hypotheses to judge, as a user meets it.
#include <fmt/format.h>

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

constexpr const char* suite = R"toml(
name = "t"
defaults = {seeds = [1, 2]}
model = {micro = {}}
encoding = [{expr = "none"}, {expr = "learned"}]
task = [{task = "toylag", options = {document = 128}, train_len = 16}]
eval = [{lengths = [16, 32], examples = 4}]
[train]
steps = 12
batch = 4
validation_examples = 4
tune = {lr = [0.000001, 0.003], seeds = [7]}
[[hypothesis]]
says = "a model knows something"
expect = "nll(none, 1x) < 100 and nll(learned, 1x) < 100"
[[hypothesis]]
expect = "nll(none, 1x) > 100"
)toml";

class Tune : public ::testing::Test {
 protected:
  Tune() { std::ofstream(folder_ / "s.toml") << suite; }
  Ended pesuite(std::vector<std::string> arguments) {
    return Command(folder_, std::move(arguments)).wait();
  }
  fs::path own_run() const {  // the suite's, not one of a rate that was tried
    for (const auto& item : fs::directory_iterator(folder_ / "results/runs"))
      if (fs::exists(item.path() / "tuning.json")) return item.path();
    return {};
  }
  const Scratch folder_;
};

TEST_F(Tune, TriesRatesThenTrainsEachEncodingAtItsBest) {
  const Ended planned = pesuite({"plan", "s.toml"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.out.find("2 learning rates and 2 attempts more for each"), std::string::npos)
      << planned.out;
  const Ended ran = pesuite({"run", "s.toml"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const fs::path run = own_run(), runs = folder_ / "results/runs";
  EXPECT_EQ(std::distance(fs::directory_iterator(runs), fs::directory_iterator()), 5)
      << "one of each rate, two of what lies beside, and the suite's own";

  const Json tuning = Json::parse(slurp(run / "tuning.json"));
  ASSERT_EQ(tuning["chosen"].size(), 2u);
  for (const Json& c : tuning["chosen"]) {
    EXPECT_GE(c["lr"], 0.003) << "at 1e-6 nothing is learned in 12 steps";
    EXPECT_EQ(c["losses"].size(), 4u) << "as many attempts for each";
  }
  const Json plan = Json::parse(slurp(run / "plan.json"));
  for (const Json& c : plan["cells"]) {
    const Json& chosen = tuning["chosen"][c["encoding"] == "none" ? 0 : 1];
    EXPECT_EQ(c["config"]["train"]["optimizer"]["lr"], chosen["lr"]);
  }
  std::set<int> seeds;
  std::ifstream in(run / "records.jsonl");
  for (std::string line; std::getline(in, line);)
    seeds.insert(Json::parse(line)["seed"].get<int>());
  EXPECT_EQ(seeds, (std::set<int>{1, 2})) << "tuning seeds are not reported";
  EXPECT_NE(slurp(run / "details.md").find("### Tuning"), std::string::npos);

  const Ended again = pesuite({"run", "s.toml"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.err.find("nothing to do"), std::string::npos) << again.err;
}

TEST_F(Tune, KeptChoicesAreUsedForWhatIsStillAsItWas) {
  ASSERT_EQ(pesuite({"run", "s.toml"}).code, 0);
  fs::create_directory(folder_ / "suites");
  fs::copy_file(own_run() / "tuning.json", folder_ / "suites/kept.json");
  const Json chosen = Json::parse(slurp(folder_ / "suites/kept.json"))["chosen"];
  std::ofstream(folder_ / "suites/k.toml") << "extends = [\"../s.toml\"]\ntuning = \"kept.json\"\n";
  const Ended ran = pesuite({"run", "suites/k.toml", "--out", "again"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto runs = fs::directory_iterator(folder_ / "again/runs");
  ASSERT_EQ(std::distance(begin(runs), end(runs)), 1) << "nothing is tuned";
  const fs::path run = fs::directory_iterator(folder_ / "again/runs")->path();
  EXPECT_EQ(Json::parse(slurp(run / "tuning.json"))["chosen"], chosen);
  EXPECT_NE(slurp(run / "details.md").find("more 1"), std::string::npos)
      << "the attempts are shown";
  EXPECT_EQ(pesuite({"validate", (run / "suite.resolved.toml").string()}).code, 0);

  const Ended other = pesuite({"plan", "suites/k.toml", "--json", "--set", "train.tune={}", "--set",
                               R"(encoding=[{expr="none"}, {id="learned", expr="rope"}])"});
  ASSERT_EQ(other.code, 0) << other.err;
  const Json plan = Json::parse(other.out);
  for (const Json& c : plan["cells"])
    if (c["encoding"] == "learned") {
      EXPECT_EQ(c["config"]["train"]["optimizer"]["lr"], 3e-4) << "the suite's own";
    }
  const Ended missing = pesuite({"validate", "suites/k.toml", "--set", "tuning=none.json"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("tuning"), std::string::npos) << missing.err;
  EXPECT_NE(missing.err.find("none.json"), std::string::npos) << missing.err;
  const Ended wrong = pesuite({"validate", "suites/k.toml", "--set", "tuning=s.toml"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("no tuning.json of a run"), std::string::npos) << wrong.err;
}

TEST_F(Tune, JudgesHypothesesWithExitCodeZeroAndRefusesBadOnes) {
  ASSERT_EQ(pesuite({"run", "s.toml", "--set", "train.tune.lr=[0.001, 0.003]", "--set",
                     "defaults.seeds=[1, 2, 3]"})
                .code,
            0);
  const std::string run = own_run().string();
  const Ended said = pesuite({"report", run, "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json verdicts = Json::parse(said.out);
  ASSERT_EQ(verdicts["hypotheses"].size(), 2u);
  EXPECT_EQ(verdicts["hypotheses"][0]["verdict"], "reproduced at this size");
  EXPECT_EQ(verdicts["hypotheses"][1]["verdict"], "not reproduced at this size")
      << "which is a result, no failure";
  const Ended text = pesuite({"report", run, "--expect", "nll(none, 2x) < 100"});
  EXPECT_NE(text.out.find("X3 not applicable (not learned)"), std::string::npos) << text.out;
  const Ended bad = pesuite({"report", run, "--expect", "nll(nonne, 2x) < 100"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("column 1: nll(nonne, 2x): the suite has no encoding 'nonne'"),
            std::string::npos)
      << bad.err;
  const Ended refused =
      pesuite({"validate", "s.toml", "--set", "hypothesis.1.expect=nll(none, 1x) <"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("is no hypothesis: column"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace pesuite::testing
