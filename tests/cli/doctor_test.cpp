// doctor: what of a machine helps or hinders runs.
#include "run/doctor.h"

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Doctor : public Run {
 protected:
  // The findings on `what` under these settings, as "health: text".
  std::vector<std::string> said(const std::string& what, int code,
                                const std::vector<std::string>& environment = {},
                                const std::string& out = "results") {
    const Ended ended = pesuite({"doctor", "--json", "--out", out}, environment);
    EXPECT_EQ(ended.code, code) << ended.err;
    const Json all = Json::parse(ended.out);
    EXPECT_EQ(all["fit"], code == 0);
    EXPECT_EQ(all["environment"]["cpu"]["affinity"].size() > 0, true);
    std::vector<std::string> found;
    for (const Json& s : all["symptoms"])
      if (s["what"] == what)
        found.push_back(s["health"].get<std::string>() + ": " + s["text"].get<std::string>());
    return found;
  }
};

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Doctor, LooksAtAllThatRunsNeed) {
  const Ended ended = pesuite({"doctor"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  for (const char* what :
       {"program", "libraries", "processor", "cpu", "cuda", "mpi", "cores", "memory", "settings",
        "plugins", "suites", "results", "gnuplot", "terminal"})
    EXPECT_THAT(ended.out, HasSubstr(fmt::format("{:<11}", what))) << what;
  EXPECT_THAT(ended.out, HasSubstr("oneDNN "));
  EXPECT_FALSE(fs::exists(folder_ / "results")) << "looking makes no folder";
}

TEST_F(Doctor, SaysWhatKeepsRunsFromWorking) {
  write("taken", "a file");
  EXPECT_THAT(said("results", 10, {}, "taken/results"), Contains(StartsWith("problem: ")));
  EXPECT_THAT(said("results", 0), Contains(StartsWith("ok: ")));
}

TEST_F(Doctor, TellsOfRefusedPlugins) {
  EXPECT_THAT(said("plugins", 0, {"PESUITE_PLUGIN_PATH=" PESUITE_TEST_OTHER}),
              Contains(HasSubstr("plugin refused: ")));
}

TEST_F(Doctor, TellsOfMissingPrograms) {
  EXPECT_THAT(said("gnuplot", 0, {"PATH=/nowhere"}), Contains(StartsWith("note: not on PATH")));
}

TEST_F(Doctor, TellsOfSettingsThatHinder) {
  EXPECT_THAT(said("settings", 0, {"OMP_WAIT_POLICY=ACTIVE"}),
              Contains(StartsWith("note: OMP_WAIT_POLICY=ACTIVE")));
  EXPECT_THAT(said("terminal", 0, {"LC_ALL=C"}), Contains(StartsWith("note: locale C")));
  const auto notes = [](const Json& variables) {
    std::size_t n = 0;
    for (const Symptom& s : examine_variables(variables, 4)) n += s.health == Health::note;
    return n;
  };
  EXPECT_EQ(notes(Json::object()), 0u);
  EXPECT_EQ(notes({{"OMP_NUM_THREADS", "2"}, {"GOMP_SPINCOUNT", "500"}}), 0u);
  EXPECT_EQ(notes({{"OMP_PROC_BIND", "close"}, {"OMP_PLACES", "cores"}}), 2u);
  EXPECT_EQ(notes({{"OMP_THREAD_LIMIT", "2"}}), 1u);
  EXPECT_EQ(notes({{"OMP_THREAD_LIMIT", "8"}}), 0u);
  EXPECT_EQ(notes({{"ONEDNN_MAX_CPU_ISA", "AVX2"}}), 1u);
}

}  // namespace
}  // namespace pesuite::testing
