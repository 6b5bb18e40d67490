// compare, baseline, regress, run --gate: as CI calls them.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/file.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

class Gate : public Run {
 protected:
  fs::path gate_suite(const std::string& more = "", const std::string& name = "g",
                      const std::string& encodings = "[[encoding]]\nexpr = \"none\"\n") {
    return write(
        name + ".toml",
        fmt::format("name = \"{}\"\n[defaults]\nseeds = [1, 2, 3]\n[model.micro]\npreset = "
                    "\"micro\"\n[train]\nsteps = 6\nbatch = 4\nvalidation_examples = 4\n{}"
                    "[[task]]\ntask = \"toylag\"\noptions = {{document = 128}}\n"
                    "train_len = 16\n[[eval]]\nlengths = [16, 32]\nexamples = 4\n{}",
                    name, encodings, more));
  }
  Ended run(const std::vector<std::string>& more = {}, const std::string& suite = "g.toml") {
    std::vector<std::string> words = {"run", suite, "--no-report", "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  }
  std::string runs(const std::string& out = "results") const { return run_folder(out).string(); }
};

TEST_F(Gate, TwoRunsAreComparedSeriesBySeries) {
  gate_suite();
  ASSERT_EQ(run({"--out", "a"}).code, 0);
  ASSERT_EQ(run({"--out", "b"}).code, 0);
  ASSERT_EQ(run({"--out", "c", "--set", "train.optimizer.lr=0.3"}).code, 0);
  const Ended same = pesuite({"compare", runs("a"), runs("b"), "--gate"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("identical: 2 series, every number of 3 cells bit by bit"));

  const Ended worse = pesuite({"compare", runs("a"), runs("c"), "--gate", "--json", "--markdown",
                               "c.md", "--report", "report"});
  EXPECT_EQ(worse.code, 1) << worse.err;
  const Json j = Json::parse(worse.out);
  EXPECT_EQ(j["verdict"], "regressed") << j["sentence"];
  EXPECT_EQ(j["series"].size(), 2u);
  EXPECT_EQ(j["series"][0]["seeds"], Json({1, 2, 3}));
  EXPECT_THAT(j["notes"].dump(), HasSubstr("other settings"));
  EXPECT_THAT(slurp(folder_ / "c.md"), HasSubstr("| none on toylag, nll at 16"));
  EXPECT_TRUE(fs::exists(folder_ / "report/comparison.md"));
  EXPECT_TRUE(fs::exists(folder_ / "report/figures"));
  EXPECT_EQ(pesuite({"compare", runs("a"), runs("c")}).code, 0) << "no gate was asked for";

  const Ended by =
      pesuite({"compare", runs("a"), runs("c"), "--by", "encoding", "--metric", "nll"});
  EXPECT_THAT(by.out, HasSubstr("nll, encoding none (2 series)"));
  EXPECT_EQ(pesuite({"compare", runs("a"), runs("c"), "--by", "colour"}).code, 2);
  const Ended unmeasured = pesuite({"compare", runs("a"), runs("c"), "--metric", "bleu,rouge"});
  EXPECT_EQ(unmeasured.code, 2);
  EXPECT_NE(unmeasured.err.find("--metric bleu,rouge: run "), std::string::npos) << unmeasured.err;
  EXPECT_EQ(pesuite({"compare", runs("a")}).code, 2);
  EXPECT_THAT(pesuite({"compare", "nowhere", runs("a")}).err, HasSubstr("there is no 'nowhere'"));
}

TEST_F(Gate, BaselinesAreSavedShownAndAccepted) {
  gate_suite();
  ASSERT_EQ(run().code, 0);
  const Ended saved = pesuite({"baseline", "save", "main", runs()}, {"PESUITE_WHO=Ada"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_THAT(saved.out, HasSubstr("2 series of suite 'g', 3 seeds, not calibrated"));
  const std::string text = slurp(folder_ / "baselines/main.json");
  EXPECT_LT(text.size(), 20000u);
  EXPECT_THAT(text, HasSubstr("\"prefix\""));

  const Ended twice = pesuite({"baseline", "save", "main", runs()});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("baseline accept"));
  EXPECT_EQ(slurp(folder_ / "baselines/main.json"), text) << "nothing is overwritten";

  EXPECT_THAT(pesuite({"baseline", "list"}).out, HasSubstr("main"));
  EXPECT_THAT(pesuite({"baseline", "show", "main"}).out, HasSubstr("saved by Ada"));
  EXPECT_THAT(pesuite({"baseline", "export", "main"}).out, HasSubstr("none,toylag,micro,16,nll"));

  ASSERT_EQ(run({"--out", "c", "--set", "train.optimizer.lr=0.3"}).code, 0);
  EXPECT_EQ(pesuite({"baseline", "accept", "main", runs("c")}).code, 2) << "without a reason";
  EXPECT_EQ(slurp(folder_ / "baselines/main.json"), text);
  const Ended accepted = pesuite(
      {"baseline", "accept", "main", runs("c"), "--reason", "a larger rate"}, {"PESUITE_WHO=Ada"});
  ASSERT_EQ(accepted.code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("regressed"));
  EXPECT_THAT(pesuite({"baseline", "show", "main"}).out,
              HasSubstr("accepted by Ada: a larger rate"));
  EXPECT_EQ(pesuite({"compare", "main", runs("c"), "--gate"}).code, 0);

  ASSERT_EQ(run({"--out", "fresh", "--seeds", "8,9"}).code, 0);
  const Ended fresh =
      pesuite({"baseline", "accept", "main", runs("fresh"), "--reason", "fresh seeds"});
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_THAT(fresh.out, HasSubstr("what changed cannot be told"));
  EXPECT_EQ(pesuite({"compare", "main", runs("fresh"), "--gate"}).code, 0);

  EXPECT_EQ(pesuite({"baseline", "rm", "main"}).code, 0);
  EXPECT_EQ(pesuite({"baseline", "show", "main"}).code, 5);
}

TEST_F(Gate, HalfFinishedRunsAreNoBaseline) {
  gate_suite();
  ASSERT_EQ(run({"--only", "seed=1"}).code, 0);
  const Ended e = pesuite({"baseline", "save", "main", runs()});
  EXPECT_EQ(e.code, 5);
  EXPECT_THAT(e.err, HasSubstr("half finished"));
  EXPECT_FALSE(fs::exists(folder_ / "baselines/main.json"));
  EXPECT_EQ(run({"--limit", "2", "--out", "quick"}).code, 0);
  EXPECT_THAT(pesuite({"baseline", "save", "main", runs("quick")}).err, HasSubstr("quick look"));
}

TEST_F(Gate, RegressSaysIdenticalAndFindsChanges) {
  gate_suite();
  ASSERT_EQ(run().code, 0);
  ASSERT_EQ(pesuite({"baseline", "save", "main", runs()}).code, 0);
  const std::string text = slurp(folder_ / "baselines/main.json");
  const std::vector<std::string> regress = {"regress", "--baseline", "main", "--suite",
                                            "g.toml",  "--progress", "none"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = regress;
    all.insert(all.end(), more.begin(), more.end());
    return pesuite(all);
  };
  const Ended same = with({});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("identical"));
  EXPECT_THAT(same.out, HasSubstr("the first of 3 seeds"));
  EXPECT_THAT(same.err, HasSubstr("the same, bit by bit"));
  EXPECT_THAT(with({"--all-seeds", "--require-conclusive"}).out,
              HasSubstr("every number of 3 cells bit by bit"));

  // another learning rate stands for another program
  gate_suite("[train.optimizer]\nlr = 0.3\n");
  const Ended golden = with({});
  EXPECT_EQ(golden.code, 8) << golden.err;
  EXPECT_THAT(golden.err, HasSubstr("golden prefix: none on toylag (micro, fp32): loss of step 2"));
  const Ended worse = with({"--golden", "note", "--json"});
  EXPECT_EQ(worse.code, 1) << worse.err;
  EXPECT_EQ(Json::parse(worse.out)["verdict"], "regressed");
  EXPECT_EQ(slurp(folder_ / "baselines/main.json"), text) << "a gate writes no baseline";

  const Ended quiet = pesuite({"baseline", "accept", "main", "--suppress", "none on toylag*",
                               "--until", "2999-12-31", "--reason", "known"});
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  const Ended suppressed = with({"--golden", "note"});
  EXPECT_EQ(suppressed.code, 0) << suppressed.out;
  EXPECT_THAT(suppressed.out, HasSubstr("suppressed until 2999-12-31"));
  EXPECT_EQ(pesuite({"baseline", "accept", "main", "--suppress", "x*", "--until", "2999-12-31",
                     "--reason", "r"})
                .code,
            2);
  EXPECT_EQ(pesuite({"baseline", "accept", "main", "--suppress", "none*", "--until", "2020-01-01",
                     "--reason", "r"})
                .code,
            2);
}

TEST_F(Gate, TooFewSeedsAreInconclusive) {
  gate_suite();
  ASSERT_EQ(run({"--seeds", "1,2"}).code, 0);
  ASSERT_EQ(pesuite({"baseline", "save", "two", runs()}).code, 0);
  gate_suite("[train.optimizer]\nlr = 0.3\n");
  const Ended e = pesuite({"regress", "--baseline", "two", "--suite", "g.toml", "--golden", "skip",
                           "--progress", "none", "--require-conclusive"});
  EXPECT_EQ(e.code, 7) << e.out << e.err;
  EXPECT_THAT(e.out, HasSubstr("2 seeds in both, 3 are needed"));
}

TEST_F(Gate, ARunCanBeHeldAgainstABaseline) {
  gate_suite();
  ASSERT_EQ(run().code, 0);
  ASSERT_EQ(pesuite({"baseline", "save", "main", runs(), "--no-prefix"}).code, 0);
  EXPECT_EQ(run({"--gate"}).code, 2);
  EXPECT_EQ(run({"--gate", "--baseline", "none"}).code, 5) << "before anything is trained";
  const Ended same = run({"--gate", "--baseline", "main"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("identical"));
  const Ended worse =
      run({"--gate", "--baseline", "main", "--out", "c", "--set", "train.optimizer.lr=0.3"});
  EXPECT_EQ(worse.code, 1) << worse.out;
  EXPECT_TRUE(fs::exists(run_folder("c") / "gate.json"));
  EXPECT_EQ(run({"--baseline", "main", "--out", "c", "--set", "train.optimizer.lr=0.3"}).code, 0);
}

TEST_F(Gate, ForeignBaselinesAreRefused) {
  gate_suite();
  ASSERT_EQ(run().code, 0);
  ASSERT_EQ(pesuite({"baseline", "save", "main", runs(), "--no-prefix"}).code, 0);
  gate_suite("", "other", "[[encoding]]\nexpr = \"t5\"\n");
  ASSERT_EQ(run({"--out", "o"}, "other.toml").code, 0);
  const std::string text = slurp(folder_ / "baselines/main.json");
  const Ended e = pesuite({"compare", "main", runs("o")});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err, HasSubstr("no series in common"));
  EXPECT_EQ(pesuite({"baseline", "accept", "main", runs("o"), "--reason", "r"}).code, 2);
  EXPECT_EQ(slurp(folder_ / "baselines/main.json"), text);
  const Ended regressed = pesuite({"regress", "--baseline", "main", "--suite", "other.toml"});
  EXPECT_EQ(regressed.code, 2);
  EXPECT_THAT(regressed.err, HasSubstr("trains nothing that baseline main has"));
  write("baselines/main.json", text.substr(0, 300));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"baseline", "show", "main"},
        {"baseline", "accept", "main", runs(), "--reason", "r"},
        {"baseline", "rm", "main"},
        {"regress", "--baseline", "main", "--suite", "g.toml"},
        {"compare", "main", runs()}}) {
    const Ended damaged = pesuite(words);
    EXPECT_EQ(damaged.code, 5) << damaged.err;
    EXPECT_THAT(damaged.err, HasSubstr("is damaged"));
  }
  EXPECT_EQ(slurp(folder_ / "baselines/main.json"), text.substr(0, 300));
}

TEST_F(Gate, CalibrationGoesIntoTheBaseline) {
  gate_suite();
  ASSERT_EQ(run().code, 0);
  ASSERT_EQ(pesuite({"baseline", "save", "main", runs(), "--no-prefix"}).code, 0);
  const std::vector<std::string> words = {"regress",    "calibrate", "--baseline", "main",
                                          "--suite",    "g.toml",    "--pairs",    "12",
                                          "--progress", "none"};
  const Ended e = pesuite(words);
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.out, HasSubstr("2 series calibrated by 12 pairs"));
  EXPECT_THAT(e.out, HasSubstr("proposed"));
  const Json j = Json::parse(slurp(folder_ / "baselines/main.json"));
  EXPECT_EQ(j["calibrated_by"], "rounding");
  EXPECT_EQ(j["series"][0]["calibration"]["differences"], 12);
  EXPECT_FALSE(j["prefix"].is_null());
  std::vector<std::string> few = words;
  few[7] = "5";
  EXPECT_EQ(pesuite(few).code, 2);
}

}  // namespace
}  // namespace pesuite::testing
