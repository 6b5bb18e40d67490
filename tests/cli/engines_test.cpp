// Runs past one machine: parts by other engines, stores that are merged, what is left over.
#include "base/file.h"
#include "base/seal.h"
#include "cell/cell.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Engines : public Run {
 protected:
  // Runs a line of the shell in the test's folder, where the program finds its plugins.
  int shell(const std::string& line) {
    const std::string plugins = PESUITE_TEST_PLUGINS ":" PESUITE_TEST_BROKEN;
    return std::system(fmt::format("cd '{}' && export PESUITE_PLUGIN_PATH='{}' && {} >said 2>&1",
                                   folder_.string(), plugins, line)
                           .c_str());
  }
  std::string plan_as(const fs::path& suite, const std::string& format, const std::string& out) {
    const Ended e = pesuite({"plan", suite, "--format", format, "--out", out});
    EXPECT_EQ(e.code, 0) << e.err;
    return e.out;
  }
};

TEST_F(Engines, ListsAndRulesRunTheWhole) {
  const fs::path s = suite({"rope", "rope -> none @ 50%", "alibi"}, 20);
  ASSERT_EQ(pesuite({"run", s, "--out", "alone"}).code, 0);
  const auto wanted = numbers(records("alone"));

  write("list", plan_as(s, "commands", "listed"));
  EXPECT_EQ(shell("sort -r list | grep -v '^#' | xargs -P 3 -d '\\n' -n 1 sh -c"), 0)
      << slurp(folder_ / "said");
  EXPECT_TRUE(numbers(records("listed")) == wanted);

  if (!find_program("make").empty()) {
    write("rules.mk", plan_as(s, "make", "made"));
    EXPECT_EQ(shell("make -f rules.mk -j 2"), 0) << slurp(folder_ / "said");
    EXPECT_TRUE(numbers(records("made")) == wanted);
    EXPECT_TRUE(fs::exists(run_folder("made") / "report.md"));
  }
  if (!find_program("snakemake").empty()) {
    write("Snakefile", plan_as(s, "snakemake", "ruled"));
    EXPECT_EQ(shell("snakemake --cores 2"), 0) << slurp(folder_ / "said");
    EXPECT_TRUE(numbers(records("ruled")) == wanted);
    EXPECT_TRUE(fs::exists(run_folder("ruled") / "report.md"));
  }
}

// What a pod of an indexed job runs: the line of its command, by a shell, for each index.
TEST_F(Engines, AKubernetesJobRunsTheWhole) {
  const fs::path s = suite({"rope", "alibi"}, 10);
  const std::string job = plan_as(s, "kubernetes", "results");
  const std::string start = "command: [\"/bin/sh\", \"-c\", ";
  const std::size_t at = job.find(start) + start.size();
  const std::string line = Json::parse(job.substr(at, job.find("]\n", at) - at));
  EXPECT_NE(job.find("completions: 2"), std::string::npos) << job;
  const std::string program = PESUITE_TEST_PROGRAM;
  fs::create_symlink(program, folder_ / "pesuite");
  write("pod.sh", "PATH=$PWD:$PATH\n" + line + "\n");
  for (const char* index : {"1", "0"})
    EXPECT_EQ(shell(fmt::format("JOB_COMPLETION_INDEX={} sh pod.sh", index)), 0)
        << line << slurp(folder_ / "said");
  EXPECT_EQ(pesuite({"status"}).out.find("2 done, 0 running, 0 left") != std::string::npos, true);
}

TEST_F(Engines, SlurmScriptsSayWhatIsAskedFor) {
  const fs::path s = suite({"rope", "rope -> none @ 50%", "alibi", "t5", "none"}, 20);
  const Ended e = pesuite({"slurm", s, "--partition", "long", "--gres", "gpu:1", "--cells-per-task",
                           "2", "--time", "1:00:00", "--mem", "auto", "--sbatch", "--exclusive"});
  ASSERT_EQ(e.code, 0) << e.err;
  const fs::path folder = folder_ / "results/slurm/t";
  const std::string first = slurp(folder / "stage-0.sbatch"),
                    next = slurp(folder / "stage-1.sbatch");
  for (const char* line : {"--partition=long", "--gres=gpu:1", "--array=1-2", "--time=1:00:00",
                           "--requeue", "--signal=B:USR1@120", "--exclusive", "--mem="})
    EXPECT_NE(first.find(std::string("#SBATCH ") + line), std::string::npos) << line << "\n"
                                                                             << first;
  EXPECT_NE(next.find("--array=1-1\n"), std::string::npos) << next;
  EXPECT_EQ(shell("bash -n results/slurm/t/stage-0.sbatch && bash -n results/slurm/t/submit.sh"),
            0);
  EXPECT_EQ(pesuite({"slurm", s, "--submit"}, {"PATH=/nowhere"}).code, 2);
}

TEST_F(Engines, StoresOfTwoMachinesAreMerged) {
  const fs::path s = suite({"rope", "alibi", "none"}, 20);
  ASSERT_EQ(pesuite({"run", s, "--out", "alone"}).code, 0);
  ASSERT_EQ(pesuite({"run", s, "--out", "one", "--shard", "1/2"}).code, 0);
  ASSERT_EQ(pesuite({"run", s, "--out", "two", "--only", "encoding=alibi"}).code, 0);
  ASSERT_EQ(pesuite({"run", s, "--out", "three"}).code, 0);
  const Ended e = pesuite({"merge", "two", "--out", "one"});
  EXPECT_EQ(e.code, 0) << e.out;
  EXPECT_NE(e.out.find("1 cell new"), std::string::npos) << e.out;
  const Ended done = pesuite({"run", s, "--out", "one"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(numbers(records("one")) == numbers(records("alone")));
  EXPECT_NE(pesuite({"merge", "three", "--out", "one"}).out.find("0 cells new"), std::string::npos);

  // another number, sealed as if it had been computed
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "three/store")) {
    if (item.path().filename() != "train.jsonl") continue;
    std::vector<Json> lines = read_observations(item.path());
    for (Json& j : lines)
      if (j["metric"] == "loss" || j["metric"] == "nll") j["value"] = 1.25;
    std::string text;
    for (const Json& j : lines) text += j.dump() + "\n";
    write_sealed(item.path(), text);
    break;
  }
  const Ended other = pesuite({"merge", "three", "--out", "one"});
  EXPECT_EQ(other.code, 8) << other.out;
  EXPECT_NE(other.out.find("1.25 there"), std::string::npos) << other.out;
  EXPECT_EQ(pesuite({"merge", "nothing", "--out", "one"}).code, 5);
}

// What each worker would see as its device: a launcher notes it. No device is needed for that.
TEST_F(Engines, CellsAreDealtToDevices) {
  const fs::path s = suite({"rope", "alibi", "none", "t5"}, 30);
  write("note.sh", "#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES\" >>seen\nexec \"$@\"\n");
  fs::permissions(folder_ / "note.sh", fs::perms::owner_all);
  const auto seen = [&](const std::string& out, std::vector<std::string> environment) {
    fs::remove(folder_ / "seen");
    const Ended e =
        pesuite({"run", s, "--device", "auto:1,3", "--launch", "./note.sh", "--out", out},
                std::move(environment));
    EXPECT_EQ(e.code, 0) << e.err;
    std::map<std::string, int> count;
    std::ifstream in(folder_ / "seen");
    for (std::string line; std::getline(in, line);) ++count[line];
    return count;
  };
  const auto plain = seen("plain", {});
  EXPECT_EQ(plain.size(), 2u);
  EXPECT_GE(plain.at("1"), 1);
  EXPECT_GE(plain.at("3"), 1);
  const auto named = seen("named", {"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c,GPU-d"});
  EXPECT_TRUE(named.contains("GPU-b") && named.contains("GPU-d") && named.size() == 2);
  for (const char* wrong : {"cuda:", "cuda:x", "cuda:0,0", "cuda:-1", "cpu:1.5"})
    EXPECT_EQ(pesuite({"run", s, "--device", wrong}).code, 2) << wrong;
}

TEST_F(Engines, WhatNoRunNeedsIsFoundAndRemoved) {
  ASSERT_EQ(pesuite({"run", suite({"rope"}, 10)}).code, 0);
  const fs::path first = run_folder();
  ASSERT_EQ(pesuite({"run", suite({"alibi", "none"}, 10)}).code, 0);
  EXPECT_NE(pesuite({"gc"}).out.find("0 cells of no run"), std::string::npos);
  fs::remove_all(first);
  EXPECT_NE(pesuite({"gc"}).out.find("1 cell of no run would be removed"), std::string::npos);
  EXPECT_NE(pesuite({"gc", "--delete"}).out.find("removed:"), std::string::npos);
  EXPECT_NE(pesuite({"gc"}).out.find("0 cells of no run"), std::string::npos);
  EXPECT_NE(pesuite({"run", suite({"alibi", "none"}, 10)}).err.find("nothing to do"),
            std::string::npos);
}

}  // namespace
}  // namespace pesuite::testing
