// Several processes that train one cell together, started by mpirun on this machine.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

const std::string two = PESUITE_TEST_MPIRUN " -n 2";

class Processes : public Run {
 protected:
  // As root, on fewer cores than processes, beside other tests (whose folders of temporary files
  // would be made at the same time, of which one start in hundreds dies): none of that matters.
  const std::vector<std::string> anywhere = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                             "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                             "OMPI_MCA_rmaps_base_oversubscribe=1",
                                             "OMPI_MCA_hwloc_base_binding_policy=none",
                                             "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                             "TMPDIR=" + folder_.string()};
  // Losses and norms of gradients by what they are of; counts and times are left out.
  std::map<std::string, double> losses(const std::string& out) const {
    std::map<std::string, double> found;
    for (const Json& j : records(out))
      if ((j["metric"] == "nll" || j["metric"] == "grad_norm") && j["value"].is_number())
        found[fmt::format("{} {} {} {} step {} {}", j["encoding"]["id"].dump(), j["part"].dump(),
                          j["metric"].dump(), j["coords"].dump(), j["step"].dump(),
                          j.value("bucket", ""))] = j["value"];
    return found;
  }
  void expect_equal_losses(const std::string& a, const std::string& b) const {
    const auto left = losses(a), right = losses(b);
    ASSERT_EQ(left.size(), right.size());
    ASSERT_GE(left.size(), 4u);
    for (const auto& [what, value] : left) {
      ASSERT_TRUE(right.contains(what)) << what;
      EXPECT_NEAR(right.at(what), value, 2e-5 * std::max(1.0, std::abs(value))) << what;
    }
  }
  std::string said_by_cells(const std::string& out) const {
    std::string all;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / out / "store"))
      if (item.path().filename() == "log.txt") all += slurp(item.path());
    return all;
  }
  void run_both(const fs::path& s, int batch, const std::string& variable = "PESUITE=1",
                const std::string& launch = two) {
    const std::string set = fmt::format("train.batch={}", batch);
    const Ended one = pesuite({"run", s, "--out", "one", "--set", set});
    ASSERT_EQ(one.code, 0) << one.err;
    std::vector<std::string> environment = anywhere;
    environment.push_back(variable);
    const Ended both =
        pesuite({"run", s, "--out", "two", "--set", set, "--launch", launch}, environment);
    ASSERT_EQ(both.code, 0) << both.err << said_by_cells("two");
    EXPECT_NE(said_by_cells("two").find("| 2 processes over Open MPI"), std::string::npos)
        << said_by_cells("two");
    expect_equal_losses("one", "two");
  }
};

TEST_F(Processes, TrainAndEvaluateAsOneDoes) {
  run_both(suite({"rope", "t5", "learned"}, 30, "[train.optimizer]\nlr = 3e-3\n"), 5);
  const Json env = Json::parse(slurp(run_folder("two") / "env.json"));
  const Json& start = env["starts"].back();
  EXPECT_EQ(start["launch"], two);
  ASSERT_EQ(start["cells"].size(), 1u) << start;
  EXPECT_EQ(start["cells"][0]["processes"], 2);
  EXPECT_EQ(start["cells"][0]["count"], 3);
  EXPECT_THAT(start["cells"][0]["group"].get<std::string>(), ::testing::HasSubstr("Open MPI"));
  for (const Json& r : records("two")) EXPECT_EQ(r["determinism"], "data");
}

// As between machines: sums go on during the backward pass.
TEST_F(Processes, AddUpWhileTheyCompute) {
  const fs::path s = suite({"rope", "learned"}, 30, "[train.optimizer]\nlr = 3e-3\n");
  run_both(s, 5, "PESUITE_MPI_OVERLAP=1");
  EXPECT_NE(said_by_cells("two").find("adding up during the backward pass"), std::string::npos);
}
// Two names for this machine: MPI takes them for two, started by a stand-in for ssh, and talks TCP.
// As on two machines, each daemon of Open MPI has a folder of temporary files of its own: in one
// they make the same folders at once and share a file of memory, and some starts fail.
TEST_F(Processes, OfTwoMachinesTrainAsOneDoes) {
  const fs::path agent = folder_ / "agent.sh";
  std::ofstream(agent) << "#!/bin/sh\n# NODE COMMAND...\nexport TMPDIR=\"" << folder_.string()
                       << "/$1\"\nmkdir -p \"$TMPDIR\"\nshift\nexec sh -c \"$*\"\n";
  fs::permissions(agent, fs::perms::owner_all);
  run_both(suite({"rope"}, 30, "[train.optimizer]\nlr = 3e-3\n"), 6, "PESUITE=1",
           fmt::format("{} --host node1:1,node2:1 -n 2 --mca plm_rsh_agent {} "
                       "--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo",
                       PESUITE_TEST_MPIRUN, agent.string()));
  EXPECT_NE(said_by_cells("two").find("adding up during the backward pass"), std::string::npos);
}
TEST_F(Processes, AddUpWhileTheyComputeOrHaveNothingToDo) {
  run_both(suite({"t5"}, 20), 1, "PESUITE_MPI_OVERLAP=1");
}

TEST_F(Processes, ShareStepsOfDrawnLengths) {
  run_both(suite({"alibi"}, 30, "[train.lengths]\nkind = \"uniform\"\nmin = 4\n"), 7);
}

TEST_F(Processes, MayHaveNothingToDoInAStep) {
  run_both(suite({"learned"}, 20), 1);
}

TEST_F(Processes, StopTogetherAndGoOnAsAnyNumber) {
  const fs::path s = suite({"sleeps"}, 40);
  ASSERT_EQ(pesuite({"run", s, "--out", "one"}).code, 0);
  Command c(folder_, {"run", s.string(), "--launch", two}, anywhere);
  await_checkpoint(c);
  c.signal(SIGINT);
  const Ended stopped = c.wait();
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  const std::string plan = pesuite({"plan", s}).out;
  EXPECT_NE(plan.find("begun (step "), std::string::npos) << plan << said_by_cells("results");
  EXPECT_EQ(pesuite({"run", s}).code, 0);
  EXPECT_NE(said_by_cells("results").find("going on from step"), std::string::npos);
  expect_equal_losses("one", "results");
}

TEST_F(Processes, EndTogetherWhenOneOfThemDies) {
  const fs::path s = suite({"sleeps"}, 4000);
  Command c(folder_, {"run", s.string(), "--dp", "2"}, anywhere);
  await_checkpoint(c);
  int killed = 0;
  for (const auto& item : fs::directory_iterator("/proc")) {
    std::error_code gone;
    if (fs::read_symlink(item.path() / "cwd", gone) != fs::canonical(folder_) ||
        slurp(item.path() / "cmdline").find(std::string("pesuite\0worker", 14)) ==
            std::string::npos)
      continue;
    ::kill(std::stoi(item.path().filename()), SIGKILL);
    ++killed;
    break;
  }
  EXPECT_EQ(killed, 1);
  if (killed == 0) c.signal(SIGINT);
  const auto start = std::chrono::steady_clock::now();
  const Ended e = c.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(e.code, 3) << e.err;
  EXPECT_NE(reason_of("sleeps").find("in training, after step"), std::string::npos)
      << reason_of("sleeps");
}

TEST_F(Processes, OfTheTrainVerbWriteOneModel) {
  const auto train = [&](const std::string& out, bool together) {
    const std::vector<std::string> words = {"train",
                                            "--encoding",
                                            "rope",
                                            "--task",
                                            "toylag(document=128)",
                                            "--model-size",
                                            "micro",
                                            "--length",
                                            "16",
                                            "--batch-size",
                                            "6",
                                            "--max-steps",
                                            "20",
                                            "--lr",
                                            "0.003",
                                            "--log-interval",
                                            "5",
                                            "--output-dir",
                                            out};
    if (!together) return pesuite(words);
    return Command(folder_, words, anywhere, two).wait();
  };
  const auto last_loss = [&](const std::string& out) {
    for (const auto& item : fs::directory_iterator(folder_ / out / "logs"))
      if (item.path().filename().string().starts_with("metrics_"))
        return Json::parse(slurp(item.path())).back()["val_loss"].get<double>();
    return std::nan("");
  };
  ASSERT_EQ(train("one", false).code, 0);
  const Ended both = train("two", true);
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_NEAR(last_loss("two"), last_loss("one"), 2e-5);
  int runs = 0;
  for ([[maybe_unused]] const auto& item : fs::directory_iterator(folder_ / "two" / "by-name"))
    ++runs;
  EXPECT_EQ(runs, 1);
}

TEST_F(Processes, ThatCannotWorkTogetherSaySo) {
  const fs::path s = suite({"rope"}, 5);
  const Ended inside = pesuite({"run", s}, {"OMPI_COMM_WORLD_SIZE=2"});
  EXPECT_EQ(inside.code, 2);
  EXPECT_NE(inside.err.find("--launch 'mpirun -n 2'"), std::string::npos) << inside.err;
  const Ended torch =
      pesuite({"train", "--encoding", "rope", "--model-size", "micro", "--max-steps", "2"},
              {"RANK=0", "WORLD_SIZE=2"});
  EXPECT_EQ(torch.code, 6);
  EXPECT_NE(torch.err.find("start them with mpirun or srun"), std::string::npos) << torch.err;
  const Ended half = pesuite(
      {"train", "--encoding", "rope", "--model-size", "micro", "--max-steps", "2"}, {"RANK=0"});
  EXPECT_EQ(half.code, 6);
  EXPECT_NE(half.err.find("RANK is set and WORLD_SIZE is not"), std::string::npos) << half.err;
  const Ended missing = pesuite({"run", s, "--launch", "no-such-launcher -n 2"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(reason_of("rope").find("'no-such-launcher -n 2' did not start it"), std::string::npos)
      << reason_of("rope");
}

// What a task refuses in the examples of one process is the reason of all.
TEST_F(Processes, SayWhyATaskRefusesTheExamplesOfOne) {
  const fs::path s = write("late.toml",
                           "name = \"t\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = "
                           "\"micro\"\n[train]\nsteps = 20\nbatch = 4\n[[encoding]]\nexpr = "
                           "\"rope\"\n[[task]]\ntask = \"refuses_late\"\ntrain_len = "
                           "16\n[[eval]]\nlengths = [16]\nexamples = 4\n");
  for (const char* n : {"1", "2", "3"}) {
    const Ended e =
        pesuite({"run", s, "--dp", n, "--out", n, "--plugin-path", PESUITE_TEST_TASKS}, anywhere);
    EXPECT_EQ(e.code, 3) << e.err;
    EXPECT_NE(slurp(run_folder(n) / "records.jsonl").find("has no example 22"), std::string::npos)
        << e.err << said_by_cells(n);
  }
}

// A launcher whose processes do not find each other: MPI of another kind, or none.
TEST_F(Processes, OfAnotherMpiSaySo) {
  const Ended e =
      pesuite({"train", "--encoding", "rope", "--model-size", "micro", "--max-steps", "2"},
              {"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=0", anywhere[0], anywhere[1]});
  EXPECT_EQ(e.code, 6);
  EXPECT_NE(e.err.find("and MPI knows of 1"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace pesuite::testing
