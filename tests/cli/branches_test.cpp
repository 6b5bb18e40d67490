// Budgets that share a trunk (warm-up, stable, decay), and training on shards of tokens.
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class Branches : public Run {
 protected:
  fs::path budgets(const std::string& name, const std::string& train) {
    return write(name + ".toml",
                 fmt::format("name = \"{}\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = "
                             "\"micro\"\n[train]\nbatch = 4\nlog_every = 1\neval_every = "
                             "10\nvalidation_examples = 4\n{}\n"
                             "[[encoding]]\nexpr = \"rope\"\n[[task]]\nid = \"lags\"\ntask = "
                             "\"toylag\"\noptions = {{document = 128}}\ntrain_len = 16\n"
                             "[[eval]]\ntask = \"lags\"\nlengths = [16, 32]\nexamples = 4\n",
                             name, train));
  }
  // Validation and test losses of a task, in their order.
  std::vector<double> losses(const std::string& out, const std::string& task) {
    std::vector<double> found;
    for (const Json& j : records(out))
      if (j["task"] == task && j["metric"] == "nll" && j["split"] != "train" &&
          j["coords"].contains("protocol"))
        found.push_back(j["value"]);
    return found;
  }
};

TEST_F(Branches, AreTheTrainingsThatEachBudgetWouldHaveAlone) {
  const fs::path shared =
      budgets("shared",
              "schedule = {kind = \"wsd\", warmup = 3, decay = \"20%\", floor = 0, branches = [20, "
              "\"2560 tokens\", 30]}");
  ASSERT_EQ(pesuite({"run", shared, "--out", "shared"}).code, 0);
  EXPECT_EQ(steps_taken("shared"), 32 + 4 + 8 + 6) << "one trunk, three decays";
  for (const auto& [steps, id] :
       {std::pair{20, "lags@20steps"}, {40, "lags@2.56k"}, {30, "lags@30steps"}}) {
    const std::string out = fmt::format("alone{}", steps);
    const fs::path alone = budgets(out, fmt::format("steps = {}\nschedule = {{kind = \"wsd\", "
                                                    "warmup = 3, decay = \"20%\", floor = 0}}",
                                                    steps));
    ASSERT_EQ(pesuite({"run", alone, "--out", out}).code, 0);
    const std::vector<double> one = losses(out, "lags"), branch = losses("shared", id);
    ASSERT_GT(one.size(), 3u);
    EXPECT_EQ(one, branch) << id;
  }
}

TEST_F(Branches, WhatCannotBeIsRefused) {
  const auto says = [&](const std::string& train, const std::string& words) {
    const Ended e = pesuite({"plan", budgets("bad", train)});
    EXPECT_EQ(e.code, 2);
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
  };
  says("schedule = {branches = [10]}", "has branches, which only kind = \"wsd\" has");
  says("schedule = {kind = \"wsd\", branches = [\"10%\"]}", "names \"10%\", which is no budget");
  says("schedule = {kind = \"wsd\", branches = [\"1e300 steps\"]}", "which is no budget");
  says("schedule = {kind = \"wsd\", branches = [10, 10]}", "names 10 twice");
  says("schedule = {kind = \"wsd\", decay = 5, branches = [10]}", "is a share of each");
  says("schedule = {kind = \"wsd\", warmup = 12, branches = [10, 100]}",
       "begins to decay at step 9, before the warm-up");
  says("schedule = {kind = \"wsd\", branches = [10]}\ntune = {lr = [1e-3, 1e-2]}",
       "cannot choose learning rates for several budgets");
}

// --wsd-stage of `train`: the decay of the largest budget is what the trunk does itself.
class Stages : public Run {
 protected:
  fs::path folder_of_run() { return folder_ / "outputs/by-name/micro-rope-toylag-100steps-seed42"; }
  Ended trunk(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train",
                                      "--model-size",
                                      "micro",
                                      "--task",
                                      "toylag(document=128)",
                                      "--batch-size",
                                      "2",
                                      "--length",
                                      "16",
                                      "--encoding",
                                      "rope",
                                      "--log-interval",
                                      "5",
                                      "--eval-interval",
                                      "20"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  }
  Ended decay(const std::string& budget, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "train", "--wsd-stage", "decay_only", "--from",
        (folder_of_run() / ("ready_for_decay_" + budget + ".safetensors")).string()};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  }
  std::vector<std::pair<std::int64_t, double>> validations(const fs::path& folder) {
    std::vector<std::pair<std::int64_t, double>> out;
    std::ifstream file(folder / "records.jsonl");
    for (std::string line; std::getline(file, line);)
      if (const Json j = Json::parse(line); j["metric"] == "nll" && j["split"] == "val")
        out.emplace_back(j["step"], j["value"]);
    return out;
  }
};

TEST_F(Stages, ADecayGoesOnFromTheTrunkInItsOwnFolder) {
  ASSERT_EQ(trunk({"--wsd-stage", "full", "--tokens", "1280,3200"}).code, 0);
  for (const char* budget : {"1.28k", "3.2k"}) {
    const Ended e = decay(budget);
    ASSERT_EQ(e.code, 0) << e.err;
  }
  const auto whole = validations(folder_of_run());
  ASSERT_EQ(whole.size(), 5u);
  EXPECT_EQ(validations(folder_of_run() / "decay_3.2k"), whole) << "with the trunk's history";
  const auto small = validations(folder_of_run() / "decay_1.28k");
  ASSERT_EQ(small.size(), 2u);
  EXPECT_EQ(small[0], whole[0]);
  EXPECT_EQ(small[1].first, 40);
  EXPECT_NE(small[1].second, whole[1].second) << "its learning rate has fallen";

  EXPECT_NE(decay("1.28k").err.find("--resume goes on with it"), std::string::npos);
  EXPECT_NE(decay("1.28k", {"--resume"}).err.find("nothing to do"), std::string::npos);
}

TEST_F(Stages, WhatDoesNotFitIsRefused) {
  const auto says = [](const Ended& e, int code, const std::string& words) {
    EXPECT_EQ(e.code, code);
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
  };
  says(trunk({"--tokens", "1280,3200"}), 2, "several budgets share a trunk");
  says(trunk({"--wsd-stage", "half"}), 2, "neither full nor decay_only");
  says(trunk({"--from", "x"}), 2, "--from is what --wsd-stage decay_only");
  says(trunk({"--wsd-stage", "full", "--tokens", "1280,1280"}), 2, "names 1.28k twice");
  says(trunk({"--wsd-stage", "full", "--tokens", "32010,32040"}), 2,
       "two budgets are called 32k in names of files");
  ASSERT_EQ(trunk({"--wsd-stage", "full", "--tokens", "3200"}).code, 0);
  says(decay("3.2k", {"--wsd-decay", "20%"}), 2, "give the --wsd-decay of the trunk");
  says(decay("3.2k", {"--lr", "1"}), 2, "--lr is the trunk's");
  says(decay("4k"), 5, "there is no file");
  fs::copy(folder_of_run() / "final.safetensors",
           folder_of_run() / "ready_for_decay_9k.safetensors");
  says(decay("9k"), 5, "has no field 'target_budget'");
  ASSERT_EQ(decay("3.2k").code, 0);
  // a decay of another length than the one that stands there
  const fs::path run = folder_of_run() / "decay_3.2k/run.json";
  Json j = Json::parse(slurp(run));
  j["switches"][0]["schedule"]["decay"] = 7;
  std::ofstream(run) << j.dump();
  says(decay("3.2k", {"--resume"}), 2, "decays over 7 steps, and 10 were asked for");
}

class Shards : public Run {
 protected:
  void make(const std::string& more = "") {
    std::string lines;
    for (int i = 0; i < 120; ++i) {
      std::string text;
      for (int k = 0; k < 60; ++k) text += fmt::format("word{} of {}, ", (i * 31 + k * k) % 97, k);
      lines += Json{{"text", text}}.dump() + "\n";
    }
    write("text.jsonl", lines);
    ASSERT_EQ(pesuite({"data", "train-tokenizer", "text.jsonl", "--vocabulary", "300", "-o",
                       "tokenizer.json"})
                  .code,
              0);
    std::vector<std::string> words = {
        "data", "tokenize", "text.jsonl",         "--tokenizer", "tokenizer.json",
        "-o",   "tokens",   "--validation-share", "0.3",         "--shard-tokens",
        "20k"};
    if (!more.empty()) words.push_back(more);
    const Ended e = pesuite(words);
    ASSERT_EQ(e.code, 0) << e.err;
  }
  fs::path corpus(const std::string& options) {
    return write("s.toml",
                 fmt::format("name = \"t\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = "
                             "\"micro\"\n[train]\nsteps = 20\nbatch = 4\ncheckpoint_every = 5\n"
                             "log_every = 5\neval_every = 10\nvalidation_examples = 4\n"
                             "[[encoding]]\nexpr = \"rope\"\n[[encoding]]\nexpr = \"alibi\"\n"
                             "[[task]]\nid = \"text\"\ntask = \"tokens\"\noptions = {{{}}}\n"
                             "train_len = 32\n[[eval]]\nlengths = [32, 128]\nexamples = 4\n",
                             options));
  }
};

TEST_F(Shards, TrainWithBitsPerByteAndGoOnBitForBit) {
  make();
  const fs::path file = corpus("path = 'tokens'");
  ASSERT_EQ(pesuite({"run", file, "--out", "whole"}).code, 0);
  int bits = 0;
  for (const Json& j : records("whole")) {
    bits += j["metric"] == "bpb" ? 1 : 0;
    EXPECT_EQ(j["status"], "ok") << j;
  }
  EXPECT_GT(bits, 3);
  {
    Command c(folder_, {"run", file.string(), "--set", "train.log_every=1"});
    await_checkpoint(c);
    c.signal(SIGTERM);
    c.wait();
  }
  fs::remove_all(folder_ / "results" / "runs");
  ASSERT_EQ(pesuite({"run", file}).code, 0);
  EXPECT_EQ(numbers(records("results")), numbers(records("whole")));
}

TEST_F(Shards, OfOtherLayoutsAndCuts) {
  make("--format=llmc");
  for (const char* options :
       {"path = 'tokens', held_out = 'whole'", "path = 'tokens', align = 'document'"}) {
    const Ended e = pesuite({"plan", corpus(options)});
    EXPECT_EQ(e.code, 0) << options << e.err;
  }
  // the same files without what pesuite wrote beside them
  fs::create_directories(folder_ / "foreign");
  for (const auto& item : fs::directory_iterator(folder_ / "tokens"))
    if (item.path().extension() == ".bin")
      fs::copy(item.path(), folder_ / "foreign" / item.path().filename());
  const Ended unknown = pesuite({"plan", corpus("path = 'foreign'")});
  EXPECT_EQ(unknown.code, 5);
  EXPECT_NE(unknown.err.find("write vocabulary="), std::string::npos) << unknown.err;
  EXPECT_EQ(pesuite({"run", corpus("path = 'foreign', vocabulary = 300, end_of_text = 299, align = "
                                   "'document', held_out = 'whole'")})
                .code,
            0);
  const Ended small =
      pesuite({"run", corpus("path = 'foreign', vocabulary = 200"), "--out", "small"});
  EXPECT_EQ(small.code, 3);
  EXPECT_NE(small.err.find("is outside the vocabulary of 200"), std::string::npos) << small.err;
  for (const auto& [path, words] :
       {std::pair{"nowhere", "there is no folder"}, {".", "holds no token shards"}}) {
    const Ended e = pesuite({"plan", corpus(fmt::format("path = '{}'", path))});
    EXPECT_EQ(e.code, 5);
    EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
  }
}

TEST_F(Shards, OfWhichTokensSeeTheirDocumentAlone) {
  make();
  const fs::path open = corpus("path = 'tokens'");
  ASSERT_EQ(pesuite({"run", open, "--out", "open"}).code, 0);
  const fs::path masked = corpus("path = 'tokens', document_mask = true");
  const Ended e = pesuite({"run", masked, "--out", "masked"});
  ASSERT_EQ(e.code, 0) << e.err;
  const auto all = numbers(records("masked"));
  EXPECT_NE(all, numbers(records("open")));
  {
    Command c(folder_, {"run", masked.string(), "--out", "pieces", "--set", "train.log_every=1"});
    await_checkpoint(c);
    c.signal(SIGTERM);
    c.wait();
  }
  fs::remove_all(folder_ / "pieces" / "runs");
  ASSERT_EQ(pesuite({"run", masked, "--out", "pieces"}).code, 0);
  EXPECT_EQ(numbers(records("pieces")), all);
  // files that do not say where documents begin
  fs::create_directories(folder_ / "foreign");
  fs::copy(folder_ / "tokens/train_000000.bin", folder_ / "foreign");
  fs::copy(folder_ / "tokens/val_000000.bin", folder_ / "foreign");
  const Ended none =
      pesuite({"plan", corpus("path = 'foreign', vocabulary = 300, document_mask = true")});
  EXPECT_EQ(none.code, 5);
  EXPECT_NE(none.err.find("document_mask needs an end of text"), std::string::npos) << none.err;
}

TEST_F(Shards, AreInspectedVerifiedAndWrittenAnew) {
  make();
  const Ended good = pesuite({"data", "verify", "tokens", "text.jsonl"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find("120 documents decode to their text"), std::string::npos) << good.out;
  EXPECT_NE(pesuite({"data", "inspect", "tokens"}).out.find("train  "), std::string::npos);
  EXPECT_NE(pesuite({"data", "inspect", "tokens", "--document", "0"}).out.find("word"),
            std::string::npos);
  EXPECT_EQ(pesuite({"data", "inspect", "tokens", "--document", "5000"}).code, 2);
  ASSERT_EQ(pesuite({"data", "shard", "tokens", "--tokenizer", "tokenizer.json", "--format", "llmc",
                     "-o", "again"})
                .code,
            0);
  EXPECT_EQ(pesuite({"data", "verify", "again", "text.jsonl"}).code, 0);
  EXPECT_EQ(pesuite({"data", "shard", "tokens", "--tokenizer", "bytes", "-o", "wrong"}).code, 5);
  std::string bytes = slurp(folder_ / "again/train_000000.bin");
  bytes[2000] ^= 1;
  std::ofstream(folder_ / "again/train_000000.bin", std::ios::binary) << bytes;
  const Ended flipped = pesuite({"data", "verify", "again"});
  EXPECT_EQ(flipped.code, 5);
  EXPECT_NE(flipped.err.find("is not what was written"), std::string::npos) << flipped.err;
}

}  // namespace
}  // namespace pesuite::testing
