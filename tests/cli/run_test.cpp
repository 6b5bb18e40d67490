// `pesuite run` on real suites: end to end, again, killed at any moment, with plugins that
// misbehave.
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "suite/keys.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

// Processor time of all commands so far, in seconds: what a command costs however busy the machine.
double processor_time() {
  rusage u{};
  getrusage(RUSAGE_CHILDREN, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

TEST_F(Run, SmokeSuiteEndToEnd) {
  const double begin = processor_time();
  const Ended e = pesuite({"run", PESUITE_TEST_DIR "/../suites/smoke.toml"});
  const double whole = processor_time() - begin;
  EXPECT_EQ(e.code, 0) << e.err;
  const std::vector<Json> all = records();
  std::map<std::string, std::vector<double>> losses;
  for (const Json& j : all) {
    EXPECT_EQ(j["schema"], "pesuite.record/1");
    EXPECT_EQ(j["status"], "ok");
    if (j["metric"] == "nll" && j["split"] == "train") losses[j["cell"]].push_back(j["value"]);
  }
  EXPECT_EQ(losses.size(), 4u);
  for (const auto& [cell, curve] : losses)
    EXPECT_LT(curve.back(), curve.front() - 0.3) << "losses fall";
  for (const char* file :
       {"records.jsonl", "plan.json", "env.json", "suite.resolved.toml", "report.md"})
    EXPECT_TRUE(fs::exists(run_folder() / file)) << file;

  const double start = processor_time();
  const std::string before = slurp(run_folder() / "records.jsonl");
  const Ended again = pesuite({"run", PESUITE_TEST_DIR "/../suites/smoke.toml"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.err.find("nothing to do: all 4 cells of 'smoke' are done"), std::string::npos)
      << again.err;
  EXPECT_LT(processor_time() - start, std::max(1.0, whole / 3));
  EXPECT_EQ(slurp(run_folder() / "records.jsonl"), before) << "a rerun appends nothing";
}

TEST_F(Run, NumbersDoNotDependOnJobsOrOrder) {
  const fs::path s = suite({"rope", "alibi", "learned"}, 20);
  EXPECT_EQ(pesuite({"run", s, "--jobs", "1", "--out", "a"}).code, 0);
  EXPECT_EQ(pesuite({"run", s, "--jobs", "3", "--out", "b"}).code, 0);
  EXPECT_EQ(numbers(records("a")), numbers(records("b")));
}

TEST_F(Run, AddingALengthDoesNotTrainAgain) {
  const fs::path s = suite({"rope"}, 20);
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  const fs::path s2 =
      suite({"rope"}, 20, "[[eval]]\nlengths = [32]\nprotocol = \"last(8)\"\nexamples = 4\n");
  const Ended plan = pesuite({"plan", s2});
  EXPECT_NE(plan.out.find("begun (step 20 of 20)"), std::string::npos) << plan.out;
  ASSERT_EQ(pesuite({"run", s2}).code, 0);
  int trained = 0;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    if (item.path().filename() == "log.txt")
      for (std::istringstream in(slurp(item.path())); !in.eof();) {
        std::string line;
        std::getline(in, line);
        trained += line.find("step 20 | train loss") != std::string::npos ? 1 : 0;
      }
  EXPECT_EQ(trained, 1);
}

// What one suite has trained another may ask about in its own words.
TEST_F(Run, ANewSuiteOfTrainedCellsIsReportedWhole) {
  ASSERT_EQ(pesuite({"run", suite({"rope", "alibi"}, 20)}).code, 0);
  const fs::path asks = suite({"rope", "alibi"}, 20,
                              "[[hypothesis]]\nid = \"H\"\nsays = \"both learn\"\n"
                              "expect = \"regret(rope, 1x) < 9 and regret(alibi, 1x) < 9\"\n");
  const fs::path first = run_folder();
  const Ended e = pesuite({"run", asks, "--out", "results"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.err.find("2 done (2 before)"), std::string::npos) << e.err;
  EXPECT_NE(e.out.find("both learn"), std::string::npos) << e.out;
  std::size_t whole = 0;
  for (const auto& run : fs::directory_iterator(first.parent_path())) {
    for (const char* file : {"records.jsonl", "plan.json", "env.json", "suite.resolved.toml"})
      EXPECT_TRUE(fs::exists(run.path() / file)) << run.path() << " " << file;
    whole += slurp(run.path() / "report.md").find("## Claims") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(whole, 1u);
  const Ended again = pesuite({"run", asks, "--out", "results"});
  EXPECT_NE(again.err.find("nothing to do: all 2 cells"), std::string::npos) << again.err;
}

// The run is killed with SIGKILL, workers and all, at moments spread over its life, until it comes
// through: its records equal those of a run that was left alone, bit for bit.
TEST_F(Run, KilledAtAnyMomentItEndsTheSame) {
  const fs::path s = suite({"rope", "learned"}, 60);
  ASSERT_EQ(pesuite({"run", s, "--out", "whole", "--jobs", "2"}).code, 0);
  int kills = 0;
  for (int delay = 30;; delay = delay * 5 / 4) {
    Command c(folder_, {"run", s.string(), "--out", "killed", "--jobs", "2"});
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(delay);
    while (c.running() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!c.running()) {
      ASSERT_EQ(c.wait().code, 0);
      break;
    }
    c.signal(SIGKILL);  // the workers die with their parent
    c.wait();
    ++kills;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(kills, 2);
  EXPECT_EQ(numbers(records("killed")), numbers(records("whole")));
}

TEST_F(Run, InterruptWritesACheckpointAndGoesOn) {
  const fs::path s = suite({"sleeps"}, 80);
  Command c(folder_, {"run", s.string()});
  await_checkpoint(c);
  c.signal(SIGINT);
  const Ended e = c.wait();
  EXPECT_EQ(e.code, 130) << e.err;
  EXPECT_NE(e.err.find("the same command goes on where this one stopped"), std::string::npos)
      << e.err;
  EXPECT_NE(pesuite({"plan", s}).out.find("begun (step "), std::string::npos);
  Command terminated(folder_, {"run", s.string()});
  for (int i = 0; i < 3000 && terminated.so_far().find("started") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  terminated.signal(SIGTERM);
  EXPECT_EQ(terminated.wait().code, 143);
  EXPECT_EQ(pesuite({"run", s}).code, 0);
}

// Three processes of one suite over one folder, one of them killed: each cell is computed by one of
// them, and the records are those of a run by one process alone.
TEST_F(Run, SeveralProcessesShareARun) {
  const fs::path s = suite({"rope", "learned", "alibi", "none", "t5"}, 60);
  ASSERT_EQ(pesuite({"run", s, "--out", "alone", "--jobs", "2"}).code, 0);
  std::vector<std::unique_ptr<Command>> all;
  for (int i = 0; i < 3; ++i)
    all.push_back(std::make_unique<Command>(
        folder_, std::vector<std::string>{"run", s.string(), "--out", "shared", "--jobs", "1"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  all[0]->signal(SIGKILL);
  all[0]->wait();
  std::string said;
  for (int i = 1; i < 3; ++i) {
    const Ended e = all[static_cast<std::size_t>(i)]->wait();
    EXPECT_EQ(e.code, 0) << e.err;
    said += e.err;
  }
  EXPECT_NE(said.find("by other processes"), std::string::npos) << said;
  EXPECT_NE(said.find("report: "), std::string::npos) << said;  // the last one wrote it
  EXPECT_EQ(numbers(records("shared")), numbers(records("alone")));
  const Ended status = pesuite({"status", "--out", "shared"});
  EXPECT_NE(status.out.find("5 done, 0 running, 0 left"), std::string::npos) << status.out;
  EXPECT_NE(pesuite({"run", s, "--out", "shared"}).err.find("nothing to do"), std::string::npos);
}

// Parts of a run one after the other, as on machines of their own.
TEST_F(Run, ShardsMakeTheWhole) {
  const fs::path s = suite({"rope", "learned", "alibi"}, 20);
  ASSERT_EQ(pesuite({"run", s, "--out", "alone"}).code, 0);
  for (const char* shard : {"2/2", "1/2"}) {
    const Ended e = pesuite({"run", s, "--out", "parts", "--shard", shard, "--stage", "0"});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_NE(e.err.find(shard[0] == '2' ? "1 done in" : "2 done in"), std::string::npos) << e.err;
  }
  EXPECT_EQ(numbers(records("parts")), numbers(records("alone")));
  for (const char* wrong : {"0/2", "3/2", "1", "a/b", "1/0"})
    EXPECT_EQ(pesuite({"run", s, "--shard", wrong}).code, 2) << wrong;
}

TEST_F(Run, StatusSaysWhoDoesWhat) {
  const fs::path s = suite({"sleeps"}, 80);
  Command c(folder_, {"run", s.string()});
  await_checkpoint(c);
  const Ended status = pesuite({"status", "--json"});
  const Json j = Json::parse(status.out);
  ASSERT_EQ(j["cells_running"].size(), 1u) << status.out;
  EXPECT_EQ(j["cells_running"][0]["host"], host_name());
  EXPECT_GT(j["cells_running"][0]["pid"], 0);
  EXPECT_EQ(j["running"], 1);
  c.signal(SIGINT);
  c.wait();
  EXPECT_NE(pesuite({"status"}).out.find("nobody is at it"), std::string::npos);
}

TEST_F(Run, MisbehavingPluginsAreRecordsAndTheOthersFinish) {
  const fs::path s = suite({"rope", "crash_in_create", "crash_in_attend", "exit_in_attend",
                            "wrong_shape", "wrong_slot", "throws", "alibi"},
                           10);
  const Ended e = pesuite({"run", s});
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_EQ(status_of("rope"), "ok");
  EXPECT_EQ(status_of("alibi"), "ok");
  EXPECT_EQ(status_of("crash_in_create"), "crash");
  EXPECT_NE(reason_of("crash_in_create")
                .find("crashed with SIGSEGV (Segmentation fault) before its first step"),
            std::string::npos);
  EXPECT_EQ(status_of("crash_in_attend"), "crash");
  EXPECT_NE(reason_of("crash_in_attend").find("crashed with SIGSEGV (Segmentation fault)"),
            std::string::npos);
  EXPECT_EQ(status_of("exit_in_attend"), "crash");
  EXPECT_NE(reason_of("exit_in_attend").find("left with exit code 7"), std::string::npos);
  EXPECT_EQ(reason_of("wrong_shape"),
            "encoding 'wrong_shape', hook attend, layer 0: binary: [4, 2, 16, 16] and [3, 7] do "
            "not broadcast against each other");
  EXPECT_EQ(reason_of("throws"), "encoding 'throws', hook embed: no embedding today");
  EXPECT_NE(
      reason_of("wrong_slot").find("the slot distance is [1, 2], wanted [2 or 1, 16 or more]"),
      std::string::npos)
      << reason_of("wrong_slot");
  EXPECT_NE(e.err.find("'--rerun failed' tries failed cells again"), std::string::npos);

  // failed cells are not tried again by themselves, and the exit code says that they are there
  const Ended again = pesuite({"run", s});
  EXPECT_EQ(again.code, 3);
  EXPECT_NE(again.err.find("wrong_shape·toylag·micro·s1 failed before (error: "), std::string::npos)
      << again.err;
}

TEST_F(Run, WhatAPluginPrintsOrLeavesWithIsNoWordOfTheWorker) {
  const Ended e = pesuite({"run", suite({"forges", "leaves_in_peace", "stops_for_ever"}, 10)});
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_EQ(status_of("forges"), "ok") << reason_of("forges");
  EXPECT_EQ(status_of("leaves_in_peace"), "crash");
  EXPECT_NE(reason_of("leaves_in_peace").find("ended with exit code 0"), std::string::npos)
      << reason_of("leaves_in_peace");
  EXPECT_EQ(status_of("stops_for_ever"), "crash");
  EXPECT_NE(reason_of("stops_for_ever").find("though nobody asked"), std::string::npos)
      << reason_of("stops_for_ever");
}

TEST_F(Run, ALengthThatAnEncodingRefusesIsAnInfinityAndTheOthersStand) {
  const fs::path s = suite({"learned(rows=16)"}, 10);
  const Ended e = pesuite({"run", s});
  EXPECT_EQ(e.code, 0) << e.err;
  std::map<int, std::set<std::string>> status;  // by length
  for (const Json& j : records())
    if (j["metric"] == "nll" && j["coords"].contains("eval_len"))
      status[j["coords"]["eval_len"]].insert(j["status"]);
  EXPECT_EQ(status[16], std::set<std::string>{"ok"});
  EXPECT_EQ(status[32], std::set<std::string>{"inf"});
  EXPECT_NE(e.err.find("report: " +
                       (run_folder() / "report.md").string().substr(folder_.string().size() + 1)),
            std::string::npos)
      << e.err;
}

TEST_F(Run, FailedCellsKeepWhatTheyFinishedAndAreToldWithoutProgress) {
  const fs::path s = suite({"rope"}, 10);
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  const Ended e = pesuite({"run", suite({"rope", "wrong_shape"}, 10), "--progress", "none"});
  EXPECT_EQ(e.code, 3);
  EXPECT_NE(e.err.find("failed: wrong_shape"), std::string::npos) << e.err;
}

// A part of a suite that runs leaves the plan of the whole suite beside the records of all.
TEST_F(Run, APartOfASuiteKeepsTheWholePlanAndAFreshReport) {
  const fs::path s = suite({"rope", "alibi"}, 10);
  ASSERT_EQ(pesuite({"run", s, "--only", "encoding=rope"}).code, 0);
  EXPECT_EQ(Json::parse(slurp(run_folder() / "plan.json"))["cells"].size(), 2u);
  ASSERT_EQ(pesuite({"run", s, "--only", "encoding=alibi"}).code, 0);
  EXPECT_EQ(Json::parse(slurp(run_folder() / "plan.json"))["cells"].size(), 2u);
  const std::string report = slurp(run_folder() / "report.md");
  EXPECT_NE(report.find("| alibi |"), std::string::npos);
  EXPECT_NE(report.find("| rope |"), std::string::npos);
}

// Cells that another suite has trained meanwhile come into the records, and into the report.
TEST_F(Run, CellsThatOthersTrainedComeIntoTheReport) {
  const fs::path s = suite({"rope", "alibi"}, 10);
  ASSERT_EQ(pesuite({"run", s, "--only", "encoding=rope"}).code, 0);
  ASSERT_EQ(pesuite({"run", s, "--only", "encoding=alibi", "--set", "name=other"}).code, 0);
  const Ended both = pesuite({"run", s});
  ASSERT_EQ(both.code, 0) << both.err;
  fs::path own;
  for (const auto& item : fs::directory_iterator(folder_ / "results" / "runs"))
    if (item.path().string().find("-t-") != std::string::npos) own = item.path();
  EXPECT_NE(slurp(own / "report.md").find("| alibi |"), std::string::npos) << both.err;
}

TEST_F(Run, RefusalsStopTheSuiteAtPlanning) {
  const Ended e = pesuite({"run", suite({"rope", "refuses"}, 10)});
  EXPECT_EQ(e.code, 2);
  EXPECT_NE(e.err.find("s.toml:17:1: encoding 'refuses': needs a head size of 1000, not 16"),
            std::string::npos)
      << e.err;
}

TEST_F(Run, TimeAndMemoryAreLimited) {
  const Ended slow = pesuite({"run", suite({"sleeps"}, 1000, "", "time_limit_s = 1")});
  EXPECT_EQ(slow.code, 3);
  EXPECT_EQ(status_of("sleeps"), "timeout");
  EXPECT_EQ(reason_of("sleeps"),
            "took longer than the limit of 1 s; 'time_limit_s' of [defaults] sets another");
#ifndef PESUITE_SANITIZED  // whose shadow memory is beyond every limit
  fs::remove_all(folder_ / "results");
  const Ended large = pesuite({"run", suite({"hoards"}, 1000, "", "memory_limit = \"1GB\"")});
  EXPECT_EQ(large.code, 3);
  EXPECT_EQ(status_of("hoards"), "oom") << reason_of("hoards");
#endif
}

TEST_F(Run, DivergenceIsAResultUnlessAskedOtherwise) {
  const Ended e = pesuite({"run", suite({"explodes"}, 10)});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(status_of("explodes"), "diverged");
  EXPECT_NE(e.err.find("1 diverged"), std::string::npos);
  EXPECT_EQ(pesuite({"run", suite({"explodes"}, 10)}).code, 0) << "and stays one";
  fs::remove_all(folder_ / "results");
  for (int again = 0; again < 2; ++again) {
    const Ended fails = pesuite({"run", suite({"explodes"}, 10, "", "on_divergence = \"fail\"")});
    EXPECT_EQ(fails.code, 3) << "also when asked again";
    EXPECT_NE(fails.err.find("on_divergence is 'fail'"), std::string::npos) << fails.err;
  }
  for (const Json& j : records()) EXPECT_EQ(j["value"].is_null(), j["status"] != "ok") << j;
}

TEST_F(Run, OneTrainingThatDivergesSaysSoAndEndsWithACodeOfItsOwn) {
  const Ended e =
      pesuite({"train", "--model-size", "micro", "--task", "toylag(document=128)", "--batch-size",
               "2", "--length", "16", "--encoding", "explodes", "--max-steps", "10"});
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(e.err.find("Training diverged after"), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("a smaller --lr"), std::string::npos) << e.err;
}

TEST_F(Run, RunningAgainReplacesWhatWasRecorded) {
  const fs::path s = suite({"rope", "alibi"}, 10);
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  const std::vector<Json> before = records();
  ASSERT_EQ(pesuite({"run", s, "--rerun", "encoding=rope"}).code, 0);
  const std::vector<Json> after = records();
  EXPECT_EQ(numbers(after), numbers(before));
  for (const Json& j : after) {
    const bool was_there = std::find(before.begin(), before.end(), j) != before.end();
    if (j["metric"] == "tokens_per_s") {
      EXPECT_EQ(was_there, j["encoding"]["id"] == "alibi");
    }
  }
  EXPECT_EQ(pesuite({"run", s}).code, 0);
  EXPECT_EQ(records().size(), before.size());
}

TEST_F(Run, ComposedAttentionTrainsAndSaysSo) {
  ASSERT_EQ(pesuite({"run", suite({"gate", "alibi"}, 20)}).code, 0);
  std::map<std::string, std::set<std::string>> paths;
  for (const Json& j : records()) paths[j["encoding"]["id"]].insert(j["path"]);
  EXPECT_EQ(paths["gate"], std::set<std::string>{"unfused"});
  EXPECT_EQ(paths["alibi"], std::set<std::string>{"fused"});
}

TEST_F(Run, Bf16TrainsNearFp32AndSaysSo) {
  std::map<std::string, double> loss;
  for (const std::string precision : {"fp32", "bf16"}) {
    fs::remove_all(folder_ / "results");
    const Ended e =
        pesuite({"run", suite({"rope"}, 40, "", fmt::format("precision = \"{}\"", precision))});
    if (e.code == 6) GTEST_SKIP() << e.err;
    ASSERT_EQ(e.code, 0) << e.err;
    for (const Json& j : records()) {
      EXPECT_EQ(j["precision"], precision);
      if (j["metric"] == "nll" && j["split"] == "val") loss[precision] = j["value"];
    }
  }
  EXPECT_NEAR(loss["bf16"], loss["fp32"], 0.02);
  EXPECT_NE(loss["bf16"], loss["fp32"]);
}

TEST_F(Run, ATornRecordIsDroppedAndReported) {
  const fs::path s = suite({"rope"}, 10);
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  const fs::path file = run_folder() / "records.jsonl";
  const std::string whole = slurp(file);
  fs::resize_file(file, whole.size() - 40);
  const Ended e = pesuite({"run", s});
  EXPECT_EQ(e.code, 0);
  EXPECT_NE(e.err.find("the last line was torn by a crash"), std::string::npos) << e.err;
  const std::vector<Json> all = records();  // the lost line is back
  EXPECT_EQ(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')), all.size());
}

TEST_F(Run, ADamagedCheckpointStartsOver) {
  const fs::path s = suite({"sleeps"}, 20);
  Command c(folder_, {"run", s.string()});
  await_checkpoint(c);
  c.signal(SIGTERM);
  c.wait();
  int damaged = 0;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    if (item.path().filename() == "last.safetensors") {
      fs::resize_file(item.path(), 1000);
      ++damaged;
    }
  ASSERT_EQ(damaged, 1);
  EXPECT_EQ(pesuite({"run", s}).code, 0);
}

TEST_F(Run, ProgressForPeopleAndPrograms) {
  const fs::path s = suite({"rope"}, 10);
  const Ended plain = pesuite({"run", s});
  EXPECT_NE(plain.err.find("rope·toylag·micro·s1  started"), std::string::npos);
  EXPECT_EQ(plain.err.find('\x1b'), std::string::npos)
      << "no escape codes where there is no terminal";
  const Ended json = pesuite({"run", s, "--progress", "json", "--rerun", "all", "--no-report"});
  std::istringstream in(json.out);
  std::set<std::string> events;
  for (std::string line; std::getline(in, line);) events.insert(Json::parse(line)["event"]);
  EXPECT_TRUE(events.contains("started") && events.contains("finished"));
  EXPECT_EQ(json.err, "");
  const std::string fails = suite({"crash_in_create"}, 10).string();
  for (const char* when : {"crash: ", "failed before (crash: "})
    for (const char* mode : {"json", "none"}) {
      const Ended e = pesuite({"run", fails, "--out", mode, "--progress", mode});
      EXPECT_EQ(e.code, 3);
      EXPECT_NE(e.err.find("failed: crash_in_create·toylag·micro·s1"), std::string::npos) << e.err;
      EXPECT_NE(e.err.find(when), std::string::npos) << mode << ": " << e.err;
    }
}

TEST_F(Run, UsageErrorsAreSentences) {
  const auto complaint = [&](std::vector<std::string> words) {
    const Ended e = pesuite(std::move(words));
    EXPECT_EQ(e.code, 2) << e.err;
    return e.err;
  };
  EXPECT_EQ(complaint({"rnu"}), "error: there is no verb 'rnu', did you mean 'run'?\n");
  EXPECT_EQ(complaint({"plot"}), "error: there is no verb 'plot'; 'pesuite report' does that\n");
  EXPECT_EQ(complaint({"run"}), "error: the suite is missing; usage: pesuite run SUITE [flags]\n");
  EXPECT_EQ(
      complaint({"run", "smke"}),
      "error: there is no suite 'smke', neither a file nor a known name, did you mean 'smoke'?\n");
  EXPECT_EQ(complaint({"run", "smoke", "--sed", "1"}),
            "error: unknown flag '--sed', did you mean '--set'?\n");
  EXPECT_EQ(pesuite({"list", "encoding", "--json"}).code, 0);
  EXPECT_EQ(pesuite({"run", "--help"}).code, 0);
}

TEST_F(Run, KeysOfSuitesAreExplained) {
  const Ended e = pesuite({"validate", "--keys=train.lengths"});
  EXPECT_EQ(e.code, 0) << e.err;
  for (const char* text : {"train.lengths.over", "stretch", "fixed | uniform | growing",
                           "until the training length is reached. Default: 50%."})
    EXPECT_NE(e.out.find(text), std::string::npos) << text << "\n" << e.out;
  EXPECT_EQ(e.out.find("train.mix"), std::string::npos);
  const Ended all = pesuite({"validate", "--keys"});
  for (const char* text : {"task.train_len", "eval.axes", "model.kv_heads", "train.mix.share"})
    EXPECT_NE(all.out.find(text), std::string::npos) << text;
  for (const SuiteKey& key : suite_keys(""))  // each says more than its type and its default
    EXPECT_FALSE(key.help.empty() || key.help.starts_with("A number, or a text with a unit") ||
                 key.help.starts_with("A stretch of") || key.help.starts_with("Default: "))
        << key.name << " " << key.values << " " << key.help;
  const Ended wrong = pesuite({"validate", "--keys=train.length"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("suites have no key 'train.length', did you mean 'train.lengths'?"),
            std::string::npos)
      << wrong.err;
}

TEST_F(Run, PluginProblemsAreNotes) {
  const std::vector<std::string> path = {"PESUITE_PLUGIN_PATH=" PESUITE_TEST_PLUGINS
                                         ":" PESUITE_TEST_OTHER ":/no/such/place"};
  const Ended e = pesuite({"info", "encoding", "rope"}, path);
  EXPECT_EQ(e.code, 0);
  EXPECT_NE(e.err.find("built for plugin ABI 2.3, this pesuite has 1.7; use a newer pesuite, or "
                       "rebuild the plugin"),
            std::string::npos)
      << e.err;
  EXPECT_NE(e.err.find("encoding 'rope' of "), std::string::npos) << e.err;
  EXPECT_NE(e.err.find("/no/such/place: there is no such plugin file"), std::string::npos) << e.err;
}

// ------------------------------------------------------------------- train and eval, one-offs

TEST_F(Run, TrainHasTheStudiesFlagsAndNames) {
  const std::vector<std::string> words = {"train", "--embedding",     "pos", "--batch_size",
                                          "2",     "--max_steps",     "4",   "--log_interval",
                                          "2",     "--eval_interval", "2",   "--save_interval",
                                          "2",     "--output_dir",    "o",   "--seed",
                                          "3",     "--length",        "32"};
  const Ended e = pesuite(words);
  ASSERT_EQ(e.code, 0) << e.err;
  const fs::path run = folder_ / "o/by-name/tinystories-28m-pos-ledger-4steps-seed3";
  for (const char* name : {"latest", "best", "final", "step_2", "step_4"})
    EXPECT_TRUE(fs::exists(run / (std::string(name) + ".safetensors"))) << name;
  for (const char* name : {"pos_best", "pos_step_2", "pos_final"})
    EXPECT_TRUE(fs::exists(folder_ / "o/checkpoints" / (std::string(name) + ".safetensors")))
        << name;
  std::map<std::string, int> logs;
  for (const auto& item : fs::directory_iterator(folder_ / "o/logs")) {
    const std::string name = item.path().filename();
    ++logs[name.substr(0, name.find("_pos_"))];
    if (name.starts_with("metrics")) {
      const Json j = Json::parse(slurp(item.path()));
      EXPECT_EQ(j.back()["step"], 4);
      for (const char* key : {"timestamp", "train_loss", "val_loss", "perplexity"})
        EXPECT_TRUE(j.back().contains(key)) << key;
    }
  }
  EXPECT_EQ(logs, (std::map<std::string, int>{{"training", 1}, {"metrics", 1}, {"config", 1}}));

  EXPECT_EQ(pesuite(words).code, 2) << "the same settings need --resume";
  std::vector<std::string> resume = words;
  resume.push_back("--resume");
  EXPECT_EQ(pesuite(resume).code, 0);
  std::vector<std::string> other = words;
  other.back() = "16";  // another length: the next version
  const Ended versioned = pesuite(other);
  EXPECT_EQ(versioned.code, 0) << versioned.err;
  EXPECT_TRUE(fs::exists(folder_ /
                         "o/by-name/tinystories-28m-pos-ledger-4steps-seed3_v1/latest.safetensors"))
      << versioned.err;

  const Ended eval = pesuite({"eval", "o/by-name/tinystories-28m-pos-ledger-4steps-seed3/latest",
                              "--max-length", "128", "--examples", "2"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NE(eval.out.find("non_overlapping"), std::string::npos);
  EXPECT_EQ(pesuite({"eval", "--checkpoint", "nowhere"}).code, 5);
}

TEST_F(Run, TrainReadsTextAndItsOwnErrorsAloud) {
  fs::create_directories(folder_ / "data");
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += fmt::format("Sentence {} tells of number {}. ", i, i * 7919 % 1000);
  std::ofstream(folder_ / "data/train.txt") << text.substr(0, text.size() * 9 / 10);
  std::ofstream(folder_ / "data/validation.txt") << text.substr(text.size() * 9 / 10);
  const Ended e = pesuite({"train", "--pe-type", "rope", "--data", "data", "--model-size", "micro",
                           "--max-steps", "3", "--length", "32"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(pesuite({"train", "--pe-type", "rope", "--data", "nowhere"}).code, 5);
  const Ended twice = pesuite({"train", "--pe-type", "rope", "--embedding", "rope"});
  EXPECT_EQ(twice.err,
            "error: --encoding, --pe-type and --embedding are the same flag; give one of them\n");
}

}  // namespace
}  // namespace pesuite::testing
