// Numbers and names that no run could mean: a sentence and the exit code of a wrong command.
#include <cstring>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Input : public Run {
 protected:
  void refused(const std::vector<std::string>& words, const std::string& says) {
    const Ended e = pesuite(words);
    EXPECT_EQ(e.code, 2) << fmt::format("{}", fmt::join(words, " ")) << "\n" << e.err;
    EXPECT_NE(e.err.find(says), std::string::npos) << e.err;
  }
};

TEST_F(Input, LengthsOfSuitesAreWholeTokensInReach) {
  for (const std::string bad : {"\"1e30\"", "3000000000", "\"nan\"", "\"inf\"", "0.5", "0", "-3",
                                "\"1e300x\"", "4294967328", "1.7"})
    refused({"validate", suite({"rope"}, 10,
                               fmt::format("[[eval]]\ntask = \"toylag\"\nlengths = [{}]\n", bad))},
            "lengths");
  refused({"validate", suite({"rope"}, 10, "[[eval]]\nlengths = [\"0.001x\"]\n")},
          "'lengths' holds '0.001x', which is no length of 1 to 16777216 tokens where the training "
          "length is 16");
  refused({"validate", suite({"rope"}, 10, "[[eval]]\nlengths = []\n")}, "lengths' is empty");
  for (const std::string bad : {"nan", "inf", "0.5", "4294967328", "-1"})
    refused(
        {"validate",
         suite({"rope"}, 10,
               fmt::format("[[eval]]\ntask = \"toylag\"\nlengths = [16]\noffsets = [{}]\n", bad))},
        "offsets");
}

TEST_F(Input, SettingsSayWhatIsWrongWithThem) {
  const fs::path s = suite({"rope"}, 10);
  refused(
      {"validate", s, "--set", "defaults.backend=\"opencl\""},
      "error: --set defaults.backend: 'defaults.backend' is 'opencl', which is none of auto, cpu, "
      "cuda, reference");
  refused({"validate", s, "--set", "train=nan"}, "'train' must be a table, not nan");
  refused({"validate", s, "--set", "train.budget=inf"},
          "'train.budget' is inf, which is no stretch");
  for (const char* bad : {"nan", "[1, inf]", "-1"})
    refused({"validate", s, "--set", fmt::format("effective_length.weights={}", bad)},
            "'effective_length.weights' must be numbers from 0 on");
  for (const char* bad : {"nan", "inf", "-1", "\"inf nats\""})
    refused({"validate", s, "--set", fmt::format("gate=[{{metric=\"nll\", margin={}}}]", bad)},
            "margin");
  refused({"validate", s, "--set", "extends=\"smoke.toml\""},
          "error: --set extends: what a suite is laid over is read before: write it in a file");
}

TEST_F(Input, FlagsSayWhatTheyWant) {
  for (const std::string bad : {"nan", "1.5", "-", "1e9", "99999999999999999999"})
    refused({"run", suite({"rope"}, 10), "--jobs", bad},
            "for option '--jobs' is invalid: it wants a whole number of at most 2147483647; "
            "'pesuite run --help' shows all flags");
  refused({"bench", "train", "--window", "fast"},
          "for option '--window' is invalid: it wants a number; ");
  refused({"plugin", "check", "x.plugin.so", "--tolerance", "nan"},
          "--tolerance nan: wants a numb");
  refused({"model", "export", "a", "b", "--context", "x"}, "'pesuite model export --help' shows");
  refused({"search", "longrope", "--seed=-1"}, "--seed: wants a whole number of 0 to 9223372036");
}

TEST_F(Input, AScoreIsOneThatTheTaskHas) {
  refused(
      {"validate", suite({"rope"}, 10), "--set", "task.toylag.score=\"em\""},
      "task 'toylag' is a corpus, which is compared by its loss; score = \"em\" is for problems");
  refused({"validate", suite({"rope"}, 10), "--set", "task.toylag.score=\"exact\""},
          "'task.toylag.score' is 'exact', which is none of acc, em");
}

TEST_F(Input, NamesOfSuitesStayInTheirFolder) {
  const fs::path s = suite({"rope"}, 10);
  for (const std::string name :
       {"../../../esc", "x/../../../outside/pwned", "a/b", ".hidden", "a b", "a\\u0000b"})
    refused({"run", s, "--set", "name=\"" + name + "\""}, "which is to name a folder");
}

TEST_F(Input, TheLatestOfNoRunsIsASentence) {
  refused({"status", "--out", (folder_ / "none").string()}, "/none/runs yet; --out FOLDER names");
}

TEST_F(Input, APathIsNoNameOfAShippedSuite) {
  refused({"validate", "nowhere/smoke.toml"},
          "nowhere/smoke.toml: there is no such file; the shipped suite is called 'smoke'");
  refused({"validate", "smoke.toml"}, "there is no such file");
  refused({"validate", folder_.string()}, "is a folder, and a suite is a file");
  refused({"validate", "/dev/null"}, "/dev/null: is no regular file, and a suite is a file");
  EXPECT_EQ(pesuite({"validate", "suites/smoke.toml"}).code, 0) << "as documented, from anywhere";
  EXPECT_EQ(pesuite({"validate", "smoke"}).code, 0);
}

TEST_F(Input, TrainChecksItsNumbers) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--max-steps", "-5"},     {"--max-steps", "0"},     {"--lr", "-1"},
      {"--lr", "nan"},           {"--seed", "-1"},         {"--log-interval", "-1"},
      {"--eval-interval", "-2"}, {"--threads", "1000000"}, {"--tokens", "0"},
      {"--tokens", "1e300"},     {"--tokens", "9e15K"}};
  for (const auto& [flag, value] : bad)
    refused({"train", "--encoding", "rope", "--model-size", "nano", flag + "=" + value}, flag);
  const fs::path file = write("file", "no folder");
  refused({"train", "--encoding", "rope", "--output-dir", file.string()},
          "this is a file; give a folder");
}

TEST_F(Input, BenchChecksItsNumbers) {
  refused({"bench", "train", "--window=-1"}, "--window");
  refused({"bench", "train", "--threads=100000"}, "--threads 100000: wants at most");
}

TEST_F(Input, EvalTakesMultiplesAndNoFractions) {
  ASSERT_EQ(pesuite({"run", suite({"rope"}, 10)}).code, 0);
  fs::path checkpoint;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    if (item.path().filename() == "last.safetensors") checkpoint = item.path();
  const Ended e = pesuite({"eval", checkpoint, "--lengths", "1x,24", "--examples", "2"});
  EXPECT_EQ(e.code, 0) << e.err;
  for (const std::string l : {"5000000000", "1.7", "nan", "-1", "0x"})
    refused({"eval", checkpoint, "--lengths=" + l}, "is no length");
}

TEST_F(Input, SuitesTrainForAStretchAndWithinIt) {
  const fs::path s = suite({"rope"}, 10);
  const std::string text = slurp(s);
  const auto with = [&](const std::string& train) {
    std::string out = text;
    return write("w.toml", out.replace(out.find("steps = 10"), 10, train));
  };
  refused({"validate", with("budget = \"0 steps\"")}, "'train.budget' trains nothing");
  refused({"validate", with("schedule = {kind = \"wsd\", warmup = \"100%\", decay = \"100%\"}")},
          "warms up for 100 % and decays for 100 % of the training");
  refused({"validate", with("schedule = {warmup = \"200%\"}")}, "together they are at most 100 %");
  EXPECT_EQ(pesuite({"validate", with("schedule = {kind = \"wsd\", warmup = \"50%\", decay = "
                                      "\"50%\"}")})
                .code,
            0);
}

TEST_F(Input, IdsSayWhoseRecordsTheyAre) {
  const std::string text = slurp(suite({"rope"}, 10));
  refused({"validate", write("a.toml", text + "[[encoding]]\nid = \"\"\nexpr = \"alibi\"\n")},
          "the id of this encoding is empty");
  refused({"validate", write("b.toml", text + "[[encoding]]\nid = \"a b\"\nexpr = \"alibi\"\n"
                                              "[[encoding]]\nid = \"a/b\"\nexpr = \"t5\"\n")},
          "encoding ids 'a b' and 'a/b' differ in signs that no file name holds");
  refused({"validate", write("c.toml", text + "[[encoding]]\nid = \"a b\"\nexpr = \"alibi\"\n"
                                              "[[encoding]]\nid = \"a  b+\"\nexpr = \"t5\"\n")},
          "encoding ids 'a b' and 'a  b+' differ in signs that no file name holds");
}

TEST_F(Input, FoldersThatCannotBeWrittenAreNamed) {
  const fs::path s = suite({"rope"}, 10), file = write("file", "no folder");
  for (const std::string& out :
       {file.string(), (file / "below").string(), std::string("/proc/x")}) {
    refused({"run", s, "--out", out}, "--out " + out);
    refused({"train", "--encoding", "rope", "--model-size", "nano", "--output-dir", out},
            "--output-dir " + out);
  }
}

class Trained : public Input {
 protected:
  void SetUp() override {
    const Ended e = pesuite(words);
    ASSERT_EQ(e.code, 0) << e.err;
  }
  const std::vector<std::string> words = {"train",
                                          "--encoding",
                                          "rope",
                                          "--model-size",
                                          "nano",
                                          "--batch-size",
                                          "2",
                                          "--max-steps",
                                          "3",
                                          "--length",
                                          "16",
                                          "--task",
                                          "toylag(document=128)",
                                          "--output-dir",
                                          "o"};
};

TEST_F(Trained, AnotherSettingIsNamed) {
  for (const bool resume : {false, true}) {
    std::vector<std::string> other = words;
    other.insert(other.end(), {"--lr", "0.5"});
    if (resume) other.emplace_back("--resume");
    const Ended e = pesuite(other);
    EXPECT_EQ(e.code, 2);
    EXPECT_NE(e.err.find("other settings (train.optimizer.lr is 0.5, was "), std::string::npos)
        << e.err;
    EXPECT_EQ(e.err.find("same settings"), std::string::npos) << e.err;
  }
  refused(words, "exists with the same settings: --resume goes on");
}

TEST_F(Trained, EvaluationsSayWhatTheCheckpointTook) {
  fs::path checkpoint;
  for (const auto& item : fs::directory_iterator(folder_ / "o/by-name"))
    checkpoint = item.path() / "latest.safetensors";
  const Ended e = pesuite({"eval", checkpoint, "--lengths", "16", "--examples", "2", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const Json first = Json::parse(e.out.substr(0, e.out.find('\n')));
  EXPECT_EQ(first["step"], 3);
  EXPECT_EQ(first["tokens"], 3 * 2 * 16);
  EXPECT_GT(first["flops"].get<double>(), 0);
}

TEST_F(Trained, DamagedConfigurationsOfCheckpointsAreNamed) {
  fs::path checkpoint;
  for (const auto& item : fs::directory_iterator(folder_ / "o/by-name"))
    checkpoint = item.path() / "latest.safetensors";
  const std::string good = slurp(checkpoint);
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {R"(\"heads\":)", R"(\"heads\":0,\"headz\":)"},
           {R"(\"model\":)", R"(\"modem\":)"},
           {R"(\"max_len\":)", R"(\"max_len\":-5,\"mx\":)"},
           {R"(\"encoding\":\"rope)", R"(\"encoding\":7,\"x\":\"rope)"}}) {
    std::uint64_t old = 0;
    std::memcpy(&old, good.data(), 8);
    std::string header = good.substr(8, old);
    const std::size_t at = header.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    header.replace(at, from.size(), to);
    // as before there were checksums, which would tell it first
    for (const auto& [now, then] : std::map<std::string, std::string>{
             {"pesuite.checkpoint/2", "pesuite.checkpoint/1"}, {"\"xxh3\"", "\"none\""}})
      header.replace(header.find(now), now.size(), then);
    header.append((8 - header.size() % 8) % 8, ' ');
    const std::uint64_t size = header.size();
    const std::string bad(reinterpret_cast<const char*>(&size), 8);
    write("bad.safetensors", bad + header + good.substr(8 + old));
    const Ended e = pesuite({"eval", "bad.safetensors", "--lengths", "16"});
    EXPECT_EQ(e.code, 5) << to << "\n" << e.err;
    EXPECT_NE(e.err.find("its configuration is damaged"), std::string::npos) << e.err;
  }
}

TEST_F(Input, SizesOfSuitesAreFinite) {
  const std::string task =
      "[[task]]\nid = \"b\"\ntask = \"toylag\"\noptions = {document = 128}\n"
      "train_len = 16\ntrain.batch = {tokens = 1e18}\n";
  refused({"validate", suite({"rope"}, 10, task)}, "tokens");
  for (const std::string bad : {"\"inf\"", "\"nan\"", "inf"})
    refused({"validate", suite({"rope"}, 10, "", "memory_limit = " + bad)}, "memory_limit");
}

TEST_F(Input, ValuesOfAxesAreNumbersOfTheirKind) {
  const std::string task = "[[task]]\nid = \"p\"\ntask = \"passkey\"\ntrain_len = 64\n";
  for (const std::string bad : {"\"nan\"", "\"inf\"", "1e300", "4294967328"})
    refused({"validate", suite({"rope"}, 10,
                               task + fmt::format("[[eval]]\ntask = \"p\"\naxes = {{depth = "
                                                  "[{}]}}\n",
                                                  bad))},
            "axes.depth");
}

TEST_F(Input, WhatCannotActTogetherIsRefusedWhenItIsPlanned) {
  for (const std::string e : {"pope + cope", "pope + transformer_xl", "pope + path_attention"})
    refused({"validate", suite({e}, 10)}, "widens the heads of q and k for itself");
  EXPECT_EQ(pesuite({"validate", suite({"pope + alibi"}, 10)}).code, 0);
  const fs::path s = suite({"pope"}, 10);
  refused({"validate", s, "--set", "model.micro.qk_norm=after"},
          "widens the heads of q and k, which 'qk_norm = \"after\"' cannot normalize");
  EXPECT_EQ(pesuite({"validate", s, "--set", "model.micro.qk_norm=before"}).code, 0);
  refused({"validate", suite({"binary"}, 10), "--set", "model.micro.width=4", "--set",
           "model.micro.heads=1", "--set", "task.toylag.train_len=64"},
          "has more than the 4 digits");
}

TEST_F(Input, YarnTrainedOnShortSequencesIsNoted) {
  const Ended e = pesuite({"plan", suite({"rope => yarn"}, 10)});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.out.find("train on at least 202 tokens"), std::string::npos) << e.out;
  const Ended small = pesuite({"plan", suite({"rope => yarn(beta_fast=0.5)"}, 10)});
  EXPECT_EQ(small.out.find("train on at least"), std::string::npos) << small.out;
}

}  // namespace
}  // namespace pesuite::testing
