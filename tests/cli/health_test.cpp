// What training tells of itself, early stopping, and tasks that are asked of other tasks' models.
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

class TrainingHealth : public Run {
 protected:
  fs::path suite_with(const std::string& name, const std::string& train) {
    return write(name + ".toml",
                 fmt::format("name = \"{}\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = "
                             "\"micro\"\n[train]\nbatch = 4\nlog_every = 5\ncheckpoint_every = 5\n"
                             "eval_every = 10\nvalidation_examples = 4\n{}\n[[encoding]]\nexpr = "
                             "\"t5\"\n[[task]]\ntask = \"toylag\"\noptions = {{document = 128}}\n"
                             "train_len = 16\n[[eval]]\nlengths = [16, 32]\nexamples = 4\n",
                             name, train));
  }
  std::map<std::string, std::vector<double>> values(const std::string& out) {
    std::map<std::string, std::vector<double>> all;
    for (const Json& j : records(out))
      if (j["value"].is_number())
        all[j["metric"].get<std::string>() + " " + j["split"].get<std::string>()].push_back(
            j["value"]);
    return all;
  }
};

TEST_F(TrainingHealth, IsObservedWithoutChangingTheTraining) {
  ASSERT_EQ(pesuite({"run", suite_with("plain", "steps = 40"), "--out", "plain"}).code, 0);
  ASSERT_EQ(
      pesuite({"run", suite_with("health", "steps = 40\nhealth = true"), "--out", "health"}).code,
      0);
  auto plain = values("plain"), health = values("health");
  for (const char* same : {"nll train", "nll val", "nll id", "nll ood", "grad_norm train"}) {
    ASSERT_FALSE(plain[same].empty()) << same;
    EXPECT_EQ(plain[same], health[same]) << same;
  }
  EXPECT_EQ(health["update_ratio train"].size(), 8u * 5);  // embedding, two layers, norm, encoding
  EXPECT_EQ(health["part_grad_norm train"].size(), 8u * 5);
  EXPECT_EQ(health["loss_spike train"].size(), 8u);
  EXPECT_EQ(health["entropy val"].size(), 4u);
  for (const double h : health["entropy val"]) {
    EXPECT_GT(h, 0.5);
    EXPECT_LT(h, std::log(300.0));
  }
  for (const double r : health["update_ratio train"]) {
    EXPECT_GT(r, 0);
    EXPECT_LT(r, 0.5);
  }
  const auto figures = [&](const char* out) {
    std::set<std::string> found;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / out / "runs"))
      if (item.path().extension() == ".svg" && item.path().stem().string().starts_with("health_"))
        found.insert(item.path().stem().string());
    return found;
  };
  EXPECT_TRUE(figures("plain").empty()) << "nobody asked";
  EXPECT_EQ(figures("health"),
            (std::set<std::string>{"health_entropy_toylag", "health_gradient_toylag",
                                   "health_part_gradients_toylag", "health_spikes_toylag",
                                   "health_updates_toylag"}));
  EXPECT_EQ(plain["step_ms train"].size(), 8u);
  EXPECT_EQ(plain["mfu train"].size(), 1u);
  EXPECT_LT(plain["mfu train"][0], 1.5);
  EXPECT_TRUE(plain["update_ratio train"].empty());
}

TEST_F(TrainingHealth, TrainingStopsWhereTheLossNoLongerFalls) {
  const fs::path file = suite_with(
      "early", "steps = 400\nhealth = true\nearly_stop = {patience = 2, min_delta = 0.5}");
  ASSERT_EQ(pesuite({"run", file, "--out", "whole"}).code, 0);
  auto whole = values("whole");
  ASSERT_EQ(whole["stopped_early val"].size(), 1u);
  const double stopped = whole["stopped_early val"][0];
  EXPECT_LT(stopped, 400);
  // evaluated with the weights that had the lowest validation loss, and the same when interrupted
  {
    Command c(folder_, {"run", file.string()});
    await_checkpoint(c);
    c.signal(SIGTERM);
    c.wait();
  }
  fs::remove_all(folder_ / "results" / "runs");
  ASSERT_EQ(pesuite({"run", file}).code, 0);
  EXPECT_EQ(numbers(records("results")), numbers(records("whole")));
  const Ended again = pesuite({"run", file});
  EXPECT_NE(again.err.find("nothing to do"), std::string::npos) << again.err;
  const Ended plan = pesuite({"plan", file});
  EXPECT_NE(plan.out.find("early_stop"), std::string::npos) << plan.out;
}

class Asked : public Run {};

TEST_F(Asked, ModelsOfOneTaskAnswerOthers) {
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines +=
        Json{{"text", fmt::format("The story of {} and the number {} is a long one. ", i, i * i)}}
            .dump() +
        "\n";
  write("text.jsonl", lines);
  ASSERT_EQ(pesuite({"data", "tokenize", "text.jsonl", "--tokenizer", "bytes", "-o", "tokens",
                     "--validation-share", "0.4", "--near-duplicates", "keep"})
                .code,
            0);
  const auto with = [&](const std::string& more) {
    return write("asked.toml",
                 "name = \"asked\"\n[defaults]\nseeds = [1]\n[model.micro]\npreset = \"micro\"\n"
                 "[train]\nsteps = 10\nbatch = 4\nvalidation_examples = 4\n[[encoding]]\nexpr = "
                 "\"rope\"\n[[encoding]]\nexpr = \"alibi\"\n[[task]]\nid = \"text\"\ntask = "
                 "\"tokens\"\noptions = {path = 'tokens'}\ntrain_len = 128\n[[task]]\nid = "
                 "\"passkey\"\ntask = \"text_passkey\"\noptions = {path = 'tokens', filler = "
                 "'sentences'}\n" +
                     more +
                     "[[eval]]\ntask = \"text\"\nlengths = [128]\nexamples = 4\n[[eval]]\ntask = "
                     "\"passkey\"\nlengths = [128, 256]\nexamples = 4\n");
  };
  const fs::path file = with("trained_on = \"text\"\n");
  ASSERT_EQ(pesuite({"run", file}).code, 0);
  std::map<std::string, int> found;
  for (const Json& j : records()) {
    EXPECT_EQ(j["status"], "ok") << j;
    ++found[j["task"].get<std::string>() + " " + j["metric"].get<std::string>()];
  }
  EXPECT_EQ(found["passkey em"], 4);
  EXPECT_EQ(found["passkey candidate_acc"], 4);
  EXPECT_GT(found["text nll"], 4);
  EXPECT_EQ(steps_taken(), 20) << "each of two encodings trains once";
  // asked alone, it trains what it needs
  ASSERT_EQ(pesuite({"run", file, "--only", "task=passkey", "--out", "alone"}).code, 0);
  const Ended wrong = pesuite({"plan", with("trained_on = \"txt\"\n")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("is 'txt', which is no task of the suite"), std::string::npos)
      << wrong.err;
  // and by the verb, of a checkpoint
  fs::path checkpoint;
  for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
    if (item.path().filename() == "last.safetensors") checkpoint = item.path();
  const Ended eval = pesuite({"eval", checkpoint.string(), "--task", "perplexity,passkey",
                              "--max-length", "256", "--examples", "2", "--axis", "depth=0,1"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NE(eval.out.find("depth=1"), std::string::npos) << eval.out;
  EXPECT_NE(eval.out.find("perplexity"), std::string::npos) << eval.out;
  // with solved examples before each, which text has without PAD
  const Ended shots = pesuite({"eval", checkpoint.string(), "--task", "perplexity,passkey",
                               "--lengths", "128", "--examples", "2", "--few-shot=2"});
  EXPECT_EQ(shots.code, 0) << shots.err;
  EXPECT_NE(shots.out.find("shots=2"), std::string::npos) << shots.out;
  const Ended fill = pesuite(
      {"eval", checkpoint.string(), "--task", "passkey", "--lengths", "128", "--axis", "fill=8"});
  EXPECT_EQ(fill.code, 2);
  EXPECT_NE(fill.err.find("neither FILL nor PAD"), std::string::npos) << fill.err;
}

TEST_F(Asked, QuestionsInTheSameSentencesAreDealtToTheSplits) {
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += Json{{"text", fmt::format("about other words, {} of them", i)}}.dump() + "\n";
  write("text.jsonl", lines);
  ASSERT_EQ(pesuite({"data", "tokenize", "text.jsonl", "--tokenizer", "bytes", "-o", "tokens",
                     "--validation-share", "0.4", "--near-duplicates", "keep"})
                .code,
            0);
  for (const char* task : {"text_needle", "text_passkey"}) {
    const Ended e =
        pesuite({"task", "check", fmt::format("{}(path='tokens', filler=sentences)", task),
                 "--length", "256"});
    EXPECT_EQ(e.code, 0) << e.out;
    EXPECT_NE(e.out.find("passed  collisions"), std::string::npos) << e.out;
  }
}

}  // namespace
}  // namespace pesuite::testing
