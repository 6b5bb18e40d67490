// What launchers say in the environment, and every way to say it wrong.
#include "backend/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace pesuite::testing {
namespace {

using Said = std::map<std::string, std::string>;

Variables of(const Said& said) {
  return [said](const char* name) {
    const auto found = said.find(name);
    return found == said.end() ? nullptr : found->second.c_str();
  };
}

std::string refusal(const Said& said, int ordinal = 0) {
  try {
    read_launch(of(said));
    read_meeting(ordinal, of(said));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::device);
    return e.what();
  }
  return "";
}

const Said torchrun = {{"RANK", "5"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},
                       {"MASTER_ADDR", "node-0"},
                       {"MASTER_PORT", "29500"}};
Said torchrun_but(const std::string& name, const char* value) {
  Said said = torchrun;
  said.erase(name);
  if (value != nullptr) said[name] = value;
  return said;
}

TEST(Launch, IsAloneWithoutALauncher) {
  const Launch l = read_launch(of({}));
  EXPECT_EQ(l.way, Launch::Way::alone);
  EXPECT_EQ(l.processes, 1);
  EXPECT_EQ(read_launch(of({{"OMPI_COMM_WORLD_SIZE", "1"}})).way, Launch::Way::alone);
  EXPECT_EQ(read_launch(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})).way, Launch::Way::alone);
}

TEST(Launch, OverMpiIsKnownByMarks) {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const Launch l = read_launch(of({{mark, "4"}}));
    EXPECT_EQ(l.way, Launch::Way::mpi) << mark;
    EXPECT_EQ(l.processes, 4);
    EXPECT_EQ(l.variable, mark);
  }
}

TEST(Launch, ByTheEnvironmentComesFirst) {
  Said said = torchrun;
  said["SLURM_STEP_NUM_TASKS"] = "2";  // srun started torchrun
  const Launch l = read_launch(of(said));
  EXPECT_EQ(l.way, Launch::Way::environment);
  EXPECT_EQ(l.processes, 8);
  EXPECT_EQ(l.rank, 5);
}

TEST(Launch, MeetsBesideThePortOfTorchrun) {
  const Meeting m = read_meeting(0, of(torchrun));
  EXPECT_EQ(m.place, "node-0:29501");
  EXPECT_EQ(m.local_rank, 1);
  EXPECT_EQ(read_meeting(3, of(torchrun)).place, "node-0:29504") << "another cell, another port";
  EXPECT_EQ(read_meeting(256, of(torchrun)).place, "node-0:29501");
  Said own = torchrun;
  own["PESUITE_PORT"] = "40000";
  EXPECT_EQ(read_meeting(1, of(own)).place, "node-0:40001");
  EXPECT_EQ(read_meeting(0, of(torchrun_but("MASTER_ADDR", "fe80::1"))).place, "[fe80::1]:29501");
  EXPECT_EQ(read_meeting(0, of(torchrun_but("MASTER_ADDR", "[fe80::1]"))).place, "[fe80::1]:29501");
}

TEST(Launch, SaysWhatIsMissing) {
  EXPECT_EQ(refusal(torchrun), "");
  EXPECT_NE(refusal(torchrun_but("WORLD_SIZE", nullptr)).find("RANK is set and WORLD_SIZE is not"),
            std::string::npos);
  EXPECT_NE(refusal(torchrun_but("RANK", nullptr)).find("WORLD_SIZE is set and RANK is not"),
            std::string::npos);
  for (const char* name : {"LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_TRUE(refusal(torchrun_but(name, nullptr)).starts_with(std::string(name) + " is not set"))
        << refusal(torchrun_but(name, nullptr));
  EXPECT_NE(refusal(torchrun_but("MASTER_ADDR", "")), "");
}

TEST(Launch, SaysWhatIsNoNumberOrOutOfRange) {
  const std::pair<const char*, std::vector<const char*>> wrong[] = {
      {"RANK", {"", "x", "-1", "8", "1.5", "1 ", "99999999999999999999"}},
      {"WORLD_SIZE", {"", "zero", "0", "-2", "8x"}},
      {"LOCAL_RANK", {"", "a", "-1", "8"}},
      {"MASTER_PORT", {"", "http", "0", "-1", "65535", "65536", "29500.5", "0x50"}},
      {"PESUITE_PORT", {"", "no", "0", "65536"}}};
  for (const auto& [name, values] : wrong)
    for (const char* value : values) {
      const std::string said = refusal(torchrun_but(name, value));
      EXPECT_TRUE(
          said.starts_with(fmt::format("{} is '{}'; it has to be a whole number", name, value)))
          << name << "='" << value << "': " << said;
    }
  EXPECT_NE(
      refusal(torchrun_but("MASTER_PORT", "65534"), 1).find("set PESUITE_PORT to a lower one"),
      std::string::npos);
}

TEST(Launch, CountsTheProcessesOfAMachine) {
  EXPECT_EQ(read_meeting(0, of(torchrun)).local_size, 2) << "this one and another before it";
  Said said = torchrun;
  said["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_EQ(read_meeting(0, of(said)).local_size, 4);
  said["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_NE(refusal(said), "") << "of which this is the second";
}

TEST(Launch, NeedsADeviceForEachProcess) {
  const auto refused = [](int rank, int size, int found) -> std::string {
    try {
      check_share(rank, size, found, found == 0 ? "no CUDA device: none" : "0 A, 1 B");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::device);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused(0, 2, 2), "");
  EXPECT_EQ(refused(1, 2, 4), "");
  for (const int rank : {0, 1, 2})  // all of them say so, not only those without
    EXPECT_EQ(refused(rank, 3, 2),
              "3 processes were started on this machine, and each needs a device of its own; this "
              "one sees 2: 0 A, 1 B. Start as many as there are devices, and let each see all of "
              "them");
  EXPECT_EQ(refused(0, 1, 0), "no CUDA device: none; use --device cpu");
}

}  // namespace
}  // namespace pesuite::testing
