// What a run says of its own settings and of what computed it, and whether it computes it again.
#include <gmock/gmock.h>

#include "base/file.h"
#include "base/seal.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

Json env_of(const fs::path& folder) {
  return Json::parse(slurp(folder / "env.json"));
}

TEST_F(Run, ConfigShowsEveryValueAndItsOrigin) {
  const fs::path s = suite({"none"}, 7);
  const Ended text = pesuite({"config", "show", s.string(), "--seeds", "3,4", "--set",
                              "train.lr=0.01", "--only", "seed=3"});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* line : {"defaults.seeds ", "--seeds", "train.lr", "--set train.lr", "s.toml:8:1",
                           "preset micro", "default", "cells left by --only seed=3"})
    EXPECT_THAT(text.out, HasSubstr(line));
  const Ended json = pesuite({"config", "show", s.string(), "--json", "--device", "reference"});
  std::map<std::string, Json> values;
  const Json shown = Json::parse(json.out);
  for (const Json& v : shown["values"]) values[v["key"]] = v;
  EXPECT_EQ(values.at("train.steps")["value"], 7);
  EXPECT_THAT(values.at("train.steps")["origin"].get<std::string>(), HasSubstr("s.toml:8:1"));
  EXPECT_EQ(values.at("defaults.backend")["origin"], "--device");
  EXPECT_EQ(values.at("train.schedule.kind")["origin"], "default");
  EXPECT_EQ(pesuite({"config", "shwo", s.string()}).code, 2);
  // The rate showed a second time, under its long name, as a default that nothing used.
  EXPECT_EQ(text.out.find("train.optimizer.lr"), std::string::npos) << text.out;
}

// It always described the CPU with one thread, and kept the last start alone.
TEST_F(Run, TheEnvironmentTellsWhatComputedEachStart) {
  const fs::path s = suite({"none", "rope"}, 5);
  ASSERT_EQ(pesuite({"run", s.string(), "--only", "encoding=none", "--jobs", "1"}).code, 0);
  ASSERT_EQ(pesuite({"run", s.string(), "--jobs", "2"}).code, 0);
  const Json env = env_of(run_folder());
  EXPECT_EQ(env["schema"], "pesuite.env/2");
  ASSERT_EQ(env["starts"].size(), 2u);
  const Json &first = env["starts"][0], &second = env["starts"][1];
  EXPECT_EQ(first["command"].dump(),
            Json({"pesuite", "run", s.string(), "--only", "encoding=none", "--jobs", "1"}).dump());
  EXPECT_EQ(second["jobs"], 2);
  for (const Json* start : {&first, &second}) {
    ASSERT_EQ((*start)["cells"].size(), 1u);
    const Json& c = (*start)["cells"][0];
    EXPECT_EQ(c["backend"], "cpu");
    EXPECT_THAT(c["device"].get<std::string>(), HasSubstr("oneDNN "));
    EXPECT_THAT(c["device"].get<std::string>(), HasSubstr("1 thread"));
    EXPECT_EQ(c["processes"], 1);
    EXPECT_EQ(c["determinism"], "run");
    EXPECT_EQ(c["count"], 1) << "each start computed one of two";
  }
  for (const Json& p : first["plugins"]) EXPECT_TRUE(fs::exists(p["file"].get<std::string>())) << p;
  EXPECT_THAT(slurp(run_folder() / "details.md"), HasSubstr("oneDNN "));
}

TEST_F(Run, TheEnvironmentKnowsReferenceAndThreads) {
  const fs::path s = suite({"none"}, 5);
  ASSERT_EQ(pesuite({"run", s.string(), "--device", "reference", "--out", "a"}).code, 0);
  const Json a = env_of(run_folder("a"))["starts"][0]["cells"][0];
  EXPECT_EQ(a["backend"], "reference");
  EXPECT_THAT(a["device"].get<std::string>(), HasSubstr("plain loops"));
  EXPECT_EQ(records("a").front()["backend"], "reference");
  ASSERT_EQ(pesuite({"run", s.string(), "--set", "defaults.threads_per_cell=2", "--out", "b"}).code,
            0);
  const Json b = env_of(run_folder("b"))["starts"][0]["cells"][0];
  EXPECT_EQ(b["threads"], 2);
  EXPECT_THAT(b["device"].get<std::string>(), HasSubstr("2 threads"));
}

TEST_F(Run, ALevelOfDeterminismIsWhatHappened) {
  const fs::path s = suite({"none"}, 5);
  ASSERT_EQ(pesuite({"run", s.string(), "--set", "defaults.determinism=strict"}).code, 0);
  for (const Json& r : records()) EXPECT_EQ(r["determinism"], "strict");
  const Json cells = env_of(run_folder())["starts"][0]["cells"];
  EXPECT_THAT(cells[0]["device"].get<std::string>(), HasSubstr("avx2"));
  // what was computed at another level is recorded as that
  write("d.toml", slurp(s) + "[sweep]\nexclude = [\"seed=77\"]\n");
  ASSERT_EQ(pesuite({"run", "d.toml", "--set", "name=other", "--out", "b"}).code, 0);
  ASSERT_EQ(pesuite({"run", "d.toml", "--out", "b", "--set", "defaults.determinism=strict"}).code,
            0);
  for (const auto& item : fs::directory_iterator(folder_ / "b/runs")) {
    std::ifstream in(item.path() / "records.jsonl");
    for (std::string line; std::getline(in, line);)
      EXPECT_EQ(Json::parse(line)["determinism"], "run") << item.path();
  }
}

TEST_F(Run, VerifyDeterminismTrainsTwiceAndSaysWhatDiffers) {
  const fs::path s = suite({"none", "rope"}, 10);
  const Ended same = pesuite({"run", s.string(), "--verify-determinism"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("2 cells computed twice"));
  EXPECT_FALSE(fs::exists(folder_ / "results/verify"));
  // one loss of one cell is no longer what the program computes
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results/store"))
    if (item.path().filename() == "train.jsonl") {
      std::string text = read_sealed(item.path());
      const std::size_t at = text.find("\"value\":");
      text[at + 8] = text[at + 8] == '9' ? '8' : '9';
      write_sealed(item.path(), text);
      break;
    }
  const Ended other = pesuite({"run", s.string(), "--verify-determinism"});
  EXPECT_EQ(other.code, 8) << other.err;
  EXPECT_THAT(other.err, HasSubstr("not the same: "));
  EXPECT_THAT(other.err, HasSubstr("·toylag·micro·s1: train nll at step 5"));
  EXPECT_THAT(other.err, HasSubstr("1 of 2 cells came out otherwise"));
  EXPECT_TRUE(fs::exists(folder_ / "results/verify"));
}

TEST_F(Run, ALimitedRunSaysSoInEveryEvaluation) {
  const fs::path s = suite({"none"}, 5);
  ASSERT_EQ(pesuite({"run", s.string(), "--limit", "2"}).code, 0);
  int limited = 0;
  for (const Json& r : records()) {
    const bool evaluation = r["part"].get<std::string>().starts_with("eval");
    EXPECT_EQ(r.value("limit", 0), evaluation ? 2 : 0);
    const bool whole = !r["coords"].contains("pos_lo") && !r["coords"].contains("bucket");
    if (evaluation && whole && r["metric"] == "nll") {
      EXPECT_EQ(r["n"], 2);
    }
    limited += evaluation ? 1 : 0;
  }
  EXPECT_GT(limited, 0);
  EXPECT_THAT(slurp(run_folder() / "report.md"), HasSubstr("cut to 2 examples each"));
  fs::path checkpoint;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results/store"))
    if (item.path().filename() == "last.safetensors") checkpoint = item.path();
  const Ended eval =
      pesuite({"eval", checkpoint.string(), "--limit", "2", "--lengths", "16..18", "--json"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  std::set<int> lengths;
  std::istringstream in(eval.out);
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line);
    EXPECT_EQ(j["limit"], 2);
    lengths.insert(j["coords"]["eval_len"].get<int>());
  }
  EXPECT_EQ(lengths, (std::set<int>{16, 17, 18}));
}

TEST_F(Run, TheResolvedFileIsSoundAndPlansTheSameCells) {
  write("base.toml", slurp(suite({"none"}, 5)));
  write("top.toml", "extends = \"base.toml\"\nname = \"top\"\n");
  ASSERT_EQ(pesuite({"run", "top.toml", "--seeds", "5", "--out", "o"}).code, 0);
  const fs::path resolved = run_folder("o") / "suite.resolved.toml";
  EXPECT_THAT(slurp(resolved), HasSubstr("top.toml with --seeds 5"));
  EXPECT_EQ(pesuite({"validate", resolved.string()}).code, 0);
  const Ended again = pesuite({"run", resolved.string(), "--out", "o"});
  EXPECT_THAT(again.err, HasSubstr("nothing to do: all 1 cells of 'top' are done")) << again.err;
}

}  // namespace
}  // namespace pesuite::testing
