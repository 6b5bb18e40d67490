// What keeps results and hands them on, as a user runs it: reproduce, bundle, import, export,
// history, bisect.
#include <gmock/gmock.h>

#include <regex>

#include "base/file.h"
#include "base/text.h"
#include "bundle/archive.h"
#include "history/database.h"
#include "history/git.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Keeping : public Run {
 protected:
  // A run of two short cells.
  fs::path small_run() {
    suite({"none", "rope"}, 10);
    const Ended e = pesuite({"run", "s.toml", "--no-report", "--progress", "none"});
    EXPECT_EQ(e.code, 0) << e.err;
    return run_folder();
  }
  // A run's folder with made-up results of a commit.
  std::string made_run(const std::string& name, double nll, int seeds = 3) {
    std::string lines;
    for (int seed = 1; seed <= seeds; ++seed)
      lines += Json({{"schema", "pesuite.record/1"},
                     {"suite", "made"},
                     {"cell", fmt::format("{:016}", seed)},
                     {"part", "eval-00000000"},
                     {"series", "00000000000000ff"},
                     {"encoding", {{"id", "rope"}, {"expr", "rope"}}},
                     {"model", "micro"},
                     {"task", "toylag"},
                     {"seed", seed},
                     {"metric", "nll"},
                     {"unit", "nats/token"},
                     {"direction", "lower"},
                     {"split", "ood"},
                     {"value", nll + 0.1 * seed},
                     {"stderr", 0.01},
                     {"status", "ok"},
                     {"step", 10},
                     {"wall_s", 1.0},
                     {"ts", "2026-01-01T00:00:00Z"},
                     {"coords", {{"train_len", 16}, {"eval_len", 32}, {"protocol", "last(8)"}}}})
                   .dump() +
               "\n";
    write_file_atomic(folder_ / name / "records.jsonl", lines);
    return name;
  }
};

TEST_F(Keeping, ResultsOfOtherProgramsAreJudged) {
  std::string csv = "PE,seed,L,T,loss\n";
  for (int seed = 1; seed <= 5; ++seed)
    for (const int length : {64, 256})
      for (const char* encoding : {"rope", "alibi"})
        csv += fmt::format("{},{},64,{},{}\n", encoding, seed, length,
                           1.8 + 0.001 * (seed * (encoding[0] == 'r' ? 3 : 2) % 5) +
                               (encoding[0] == 'r' && length > 64 ? 1 : 0));
  write_file_atomic(folder_ / "mine.csv", csv);
  const Ended other = pesuite({"import", "mine.csv", "--sha256", std::string(64, '0')});
  EXPECT_EQ(other.code, 5);
  EXPECT_THAT(other.err, HasSubstr("the SHA-256 of mine.csv is"));
  const Ended missing = pesuite({"import", "mine.csv"});
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.err, HasSubstr("line 2 does not say its train_len"));
  const std::vector<std::string> words = {
      "import", "mine.csv", "--columns", "train_len=L,eval_len=T", "--constant", "task=books"};
  const Ended e = pesuite(words);
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(e.out, "results/runs/mine\n");
  EXPECT_THAT(e.err, HasSubstr("20 numbers of 10 trainings and 2 encodings"));
  const Ended again = pesuite(words);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("--as"));
  const Ended report = pesuite({"report", "mine", "--expect", "nll(alibi, 4x) < nll(rope, 4x)"});
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("only `alibi` kept its loss"));
  EXPECT_THAT(report.out, HasSubstr("X1 reproduced at this size"));
  EXPECT_THAT(report.out, HasSubstr("Another program computed these numbers"));
  EXPECT_THAT(report.out, Not(HasSubstr("pesuite run SUITE")));
}

TEST_F(Keeping, RunsAreListed) {
  EXPECT_THAT(pesuite({"list", "run"}).err, HasSubstr("no run in results/runs"));
  const std::string own = small_run().filename().string();
  write_file_atomic(folder_ / "mine.csv",
                    "encoding,seed,train_len,loss\nrope,1,64,2\nrope,2,64,2\n");
  ASSERT_EQ(pesuite({"import", "mine.csv"}).code, 0);
  const Json all = Json::parse(pesuite({"list", "run", "--json"}).out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["name"], own);
  EXPECT_EQ(all[0]["done"], 2);
  EXPECT_EQ(all[0]["imported"], false);
  EXPECT_EQ(all[1]["imported"], true);
  EXPECT_EQ(all[1]["seeds"], 2);
  write_file_atomic(folder_ / "results/runs" / own / "plan.json", "{");
  const Ended listed = pesuite({"list", "runs"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.out, AllOf(HasSubstr("imported"), HasSubstr("plan.json")));
}

TEST_F(Keeping, BackendsAndDataAreListed) {
  const Json backends = Json::parse(pesuite({"list", "backend", "--json"}).out);
  ASSERT_EQ(backends.size(), 3u);
  EXPECT_EQ(backends[0]["precisions"], Json({"double"}));
  EXPECT_EQ(backends[1]["name"], "cpu");
  EXPECT_EQ(backends[1]["precisions"][0], "fp32");
  const Json data = Json::parse(pesuite({"list", "data", "--json"}).out);
  std::vector<std::string> names;
  for (const Json& d : data) names.push_back(d["name"]);
  EXPECT_THAT(names, ::testing::Contains("wikitext-103"));
  EXPECT_THAT(pesuite({"list", "data"}).out, HasSubstr("huggingface.co/datasets/deepmind/pg19"));
  EXPECT_THAT(pesuite({"list", "device"}).err, HasSubstr("backend, run, baseline"));
}

TEST_F(Keeping, TheGuideHasItsTopics) {
  for (const auto& [topic, says] :
       std::map<std::string, std::string>{{"taxonomy", "relative: the distance counts"},
                                          {"extension", "4096, 2 times as many"},
                                          {"pitfalls", "Wavelengths that are not integers"},
                                          {"trends", "*Encodings*: clex."}}) {
    const Ended e = pesuite({"guide", topic});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_THAT(e.out, HasSubstr(says)) << topic;
  }
  EXPECT_THAT(pesuite({"guide", "trend"}).err, HasSubstr("did you mean 'trends'?"));
}

TEST_F(Keeping, AFinishedRunIsReproducedBitByBit) {
  const fs::path run = small_run();
  const Ended same = pesuite({"reproduce", run.string(), "--progress", "none"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("reproduced: all numbers of 2 cells are the same, sha256:"));
  EXPECT_FALSE(fs::exists(folder_ / "results" / "reproduced" / run.filename()));

  // one number of one record, as if another machine had computed it
  std::string text = slurp(run / "records.jsonl"), changed;
  std::string step;
  for (const std::string& line : split(text, '\n')) {
    Json j = line.empty() ? Json() : Json::parse(line);
    if (step.empty() && j.is_object() && j["split"] == "train" && j["metric"] == "nll" &&
        j["encoding"]["id"] == "rope" && j["step"] == 10) {
      j["value"] = j["value"].get<double>() + 1e-9;
      step = "10";
    }
    if (!line.empty()) changed += j.dump() + "\n";
  }
  ASSERT_FALSE(step.empty());
  write_file_atomic(run / "records.jsonl", changed);
  const Ended other = pesuite({"reproduce", run.string(), "--progress", "none"});
  EXPECT_EQ(other.code, 8) << other.err;
  EXPECT_THAT(other.out,
              HasSubstr("rope·toylag·micro·s1: train nll at step 10, train_len 16, was "));
  EXPECT_THAT(other.out, HasSubstr("not reproduced: 1 of 2 cells"));
  EXPECT_TRUE(fs::exists(folder_ / "results" / "reproduced" / run.filename()));
}

TEST_F(Keeping, WhatWouldBeAnotherPlanIsRefused) {
  const fs::path run = small_run();
  std::string suite = slurp(run / "suite.resolved.toml");
  const std::size_t at = suite.find("steps = 10");
  ASSERT_NE(at, std::string::npos) << suite;
  write_file_atomic(run / "suite.resolved.toml", suite.replace(at, 10, "steps = 11"));
  const Ended e = pesuite({"reproduce", run.string()});
  EXPECT_EQ(e.code, 5);
  EXPECT_THAT(e.err, HasSubstr("this program would compute something else"));
  EXPECT_THAT(e.err, HasSubstr("train/"));
  fs::remove(run / "plan.json");
  const Ended without = pesuite({"reproduce", run.string()});
  EXPECT_EQ(without.code, 5);
  EXPECT_THAT(without.err, HasSubstr("plan.json is missing"));
  EXPECT_EQ(pesuite({"reproduce", "nothing"}).code, 2);
  EXPECT_EQ(pesuite({"reproduce"}).code, 2);
}

TEST_F(Keeping, ABundleIsTakenElsewhereAndReproducedThere) {
  if (!archives_are_built_in()) GTEST_SKIP() << "built without libarchive";
  const fs::path run = small_run();
  const Ended packed = pesuite({"bundle", run.string(), "-o", "b.tar.zst", "--weights"});
  ASSERT_EQ(packed.code, 0) << packed.err;
  const std::string digest = packed.out.substr(0, 64);
  EXPECT_EQ(digest, sha256_file(folder_ / "b.tar.zst"));
  EXPECT_EQ(pesuite({"bundle", run.string(), "-o", "b.tar.zst"}).code, 2);
  const Ended in = pesuite({"import", "b.tar.zst", "--out", "there", "--sha256", digest});
  ASSERT_EQ(in.code, 0) << in.err;
  EXPECT_EQ(slurp(run_folder("there") / "records.jsonl"), slurp(run / "records.jsonl"));
  const Ended same =
      pesuite({"reproduce", run_folder("there").string(), "--out", "there", "--progress", "none"});
  EXPECT_EQ(same.code, 0) << same.err << same.out;
  // and a run of the same suite has nothing to do there
  const Ended again = pesuite({"run", "s.toml", "--out", "there", "--no-report"});
  EXPECT_THAT(again.err, HasSubstr("nothing to do"));
  EXPECT_EQ(pesuite({"import", "b.tar.zst", "--out", "there"}).code, 0);
  EXPECT_EQ(pesuite({"import", "b.tar.zst", "--out", "x", "--sha256", std::string(64, '0')}).code,
            5);
  EXPECT_EQ(pesuite({"import", "b.tar.zst", "--out", "x", "--max-size", "10"}).code, 5);
  EXPECT_EQ(pesuite({"import", "b.tar.zst", "--max-size", "many"}).code, 2);
  EXPECT_EQ(pesuite({"import", "s.toml", "--out", "x"}).code, 5);
  EXPECT_EQ(pesuite({"import", "nothing.tar.zst", "--out", "x"}).code, 5);
}

TEST_F(Keeping, RecordsAreExported) {
  const fs::path run = small_run();
  const auto exported = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", run.string(), "--to"});
    const Ended e = pesuite(more);
    EXPECT_EQ(e.code, 0) << e.err;
    return e.out;
  };
  EXPECT_EQ(split(exported({"csv"}), '\n').size(), records().size() + 2);
  EXPECT_THAT(exported({"junit"}), HasSubstr("tests=\"2\" failures=\"0\""));
  EXPECT_GT(Json::parse(exported({"bmf"})).size(), 4u);
  EXPECT_GT(Json::parse(exported({"gab"})).size(), 4u);
  EXPECT_EQ(exported({"csv", "-o", "r.csv"}), "");
  EXPECT_TRUE(fs::exists(folder_ / "r.csv"));
  exported({"curves", "-o", "c.json"});
  EXPECT_THAT(exported({"curves", "--against", "c.json"}), HasSubstr("identical"));
  if (databases_are_built_in()) {
    exported({"sqlite", "-o", "r.sqlite"});
    EXPECT_EQ(pesuite({"export", run.string(), "--to", "sqlite", "-o", "r.sqlite"}).code, 2);
  }
  EXPECT_EQ(pesuite({"export", run.string(), "--to", "sqlite"}).code, 2);
  EXPECT_EQ(pesuite({"export", run.string(), "--to", "comment"}).code, 2);
  const Ended unknown = pesuite({"export", run.string(), "--to", "cvs"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'csv'"));
  EXPECT_EQ(pesuite({"export", run.string(), "--to", "junit", "--verdicts", "s.toml"}).code, 5);
}

TEST_F(Keeping, AHistoryNamesTheCommitsOfARegression) {
  if (!databases_are_built_in()) GTEST_SKIP() << "built without SQLite";
  for (int i = 0; i < 24; ++i) {
    const double noise = 0.002 * ((i * 7919) % 11 - 5) / 5;
    const std::string run = made_run(fmt::format("run{}", i), (i < 14 ? 2.0 : 2.05) + noise);
    const Ended e =
        pesuite({"history", "add", run, "--commit", fmt::format("commit{:02}", i), "--date",
                 fmt::format("2026-01-{:02}T00:00:00Z", i + 1), "--repository", folder_.string()});
    ASSERT_EQ(e.code, 0) << e.err;
  }
  const Ended found = pesuite({"history", "detect"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("commit13..commit14"));
  EXPECT_THAT(found.out, HasSubstr("worse"));
  EXPECT_THAT(found.err, HasSubstr("1 of 1 series is worse than before"));
  EXPECT_EQ(pesuite({"history", "detect", "--gate"}).code, 1);
  EXPECT_EQ(pesuite({"history", "detect", "--gate", "--counts", "0.2"}).code, 0);
  const Json changes = Json::parse(pesuite({"history", "detect", "--json"}).out);
  EXPECT_EQ(changes["series"][0]["changes"][0]["after"], "commit14");
  EXPECT_THAT(pesuite({"history", "list"}).out, HasSubstr("commit23"));
  EXPECT_EQ(Json::parse(pesuite({"history", "list", "--json"}).out)["series"][0]["points"].size(),
            24u);
  EXPECT_EQ(pesuite({"history", "plot", "-o", "plots", "--only", "rope nll"}).code, 0);
  EXPECT_EQ(pesuite({"history", "plot", "--only", "nobody"}).code, 2);
  const Ended site = pesuite({"history", "publish", "site"});
  EXPECT_EQ(site.code, 0) << site.err;
  EXPECT_THAT(slurp(folder_ / "site" / "regressions.html"), HasSubstr("commit13..commit14"));
}

TEST_F(Keeping, AHistoryWantsToKnowTheCommit) {
  if (!databases_are_built_in()) GTEST_SKIP() << "built without SQLite";
  const std::string run = made_run("run", 2);
  const Ended unknown = pesuite({"history", "add", run});
  EXPECT_EQ(unknown.code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("--commit"));
  write_file_atomic(folder_ / "run" / "env.json",
                    R"({"starts": [{"pesuite": {"commit": "abcabcabcabc", "dirty": true}}]})");
  const Ended dirty = pesuite({"history", "add", run});
  EXPECT_EQ(dirty.code, 5);
  EXPECT_THAT(dirty.err, HasSubstr("was changed since commit abcabcabcabc"));
  EXPECT_EQ(pesuite({"history", "list"}).code, 5);
  EXPECT_EQ(pesuite({"history", "add", run, "--commit", "x", "--date", "now"}).code, 2);
  EXPECT_EQ(pesuite({"history", "add", "nothing"}).code, 2);
  EXPECT_EQ(pesuite({"history", "add"}).code, 2);
  EXPECT_EQ(pesuite({"history", "nothing"}).code, 2);
}

// ------------------------------------------------------------------------------------ bisect

class Bisecting : public Keeping {
 protected:
  void SetUp() override {
    if (find_program("git").empty()) GTEST_SKIP() << "git is not installed";
    here({"init", "--quiet", "-b", "main", "."});
    for (int i = 1; i <= 12; ++i) {
      write("value", fmt::format("{}\n", i >= 8 ? "bad" : "good"));
      write("builds", i == 6 || i == 7 ? "no\n" : "yes\n");
      write("number", std::to_string(i));
      here({"add", "value", "builds", "number"});
      here({"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "-m",
            fmt::format("commit {}", i)});
      here({"tag", fmt::format("c{}", i)});
    }
    write("value", "what I am at\n");  // not committed
  }
  std::string here(std::vector<std::string> words) {
    const GitSaid said = git(folder_, std::move(words), true);
    EXPECT_EQ(said.code, 0) << said.out;
    return said.out;
  }
  void expect_tree_as_it_was() {
    EXPECT_EQ(slurp(folder_ / "value"), "what I am at\n");
    EXPECT_EQ(trim(here({"rev-parse", "--abbrev-ref", "HEAD"})), "main");
    EXPECT_EQ(split(trim(here({"worktree", "list"})), '\n').size(), 1u);
    EXPECT_THAT(here({"status", "--porcelain", "--untracked-files=no"}), HasSubstr("M value"));
    EXPECT_EQ(git(folder_, {"rev-parse", "--verify", "refs/bisect/bad"}).code, 128);
  }
};

TEST_F(Bisecting, FindsTheFirstBadCommitAndLeavesTheTree) {
  const Ended e =
      pesuite({"bisect", "c1", "HEAD", "--", "sh", "-c", "echo x >> number; grep -q good value"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(e.out, HasSubstr("commit 8 "));
  expect_tree_as_it_was();
}

TEST_F(Bisecting, SkipsWhatDoesNotBuild) {
  const Ended e = pesuite({"bisect", "c1", "c12", "--build", "grep -q yes builds", "--", "grep",
                           "-q", "good", "value"});
  EXPECT_EQ(e.code, 7) << e.err;  // the last that do not build may be the first bad ones
  EXPECT_THAT(e.err, HasSubstr("it does not build"));
  EXPECT_THAT(e.out, HasSubstr("is one of these"));
  expect_tree_as_it_was();
}

TEST_F(Bisecting, ReadsExitCodesOfGates) {
  const std::string gate = "case $(cat number) in 6|7) exit 3;; esac; grep -q good value || exit 8";
  EXPECT_THAT(pesuite({"bisect", "c8", "c12", "--gate", "--trust", "--", "sh", "-c", gate}).out,
              HasSubstr("first bad commit"));
  const Ended e = pesuite({"bisect", "c1", "c12", "--gate", "--", "sh", "-c", gate});
  EXPECT_EQ(e.code, 7) << e.err;
  expect_tree_as_it_was();
}

TEST_F(Bisecting, RefusesEndsThatAreNone) {
  const auto refused = [&](std::vector<std::string> words, const std::string& why) {
    words.insert(words.begin(), "bisect");
    const Ended e = pesuite(words);
    EXPECT_EQ(e.code, 2) << e.err;
    EXPECT_THAT(e.err, HasSubstr(why));
    expect_tree_as_it_was();
  };
  refused({"c1", "c5", "--", "grep", "-q", "good", "value"}, "was said to be bad");
  refused({"c9", "c12", "--", "grep", "-q", "good", "value"}, "was said to be good");
  refused({"c12", "c1", "--", "true"}, "is not behind");
  refused({"c1", "c1", "--", "true"}, "the same commit");
  refused({"c1", "nobody", "--", "true"}, "is no commit");
  refused({"c1", "c12"}, "the command, behind '--'");
  refused({"c1", "c12", "--", "no-such-program-here"}, "cannot be started");
}

}  // namespace
}  // namespace pesuite::testing
