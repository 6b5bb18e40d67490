// Expressions of encodings in suites: what acts together, what is refused, and which trainings are
// shared.
#include <chrono>
#include <thread>

#include "model/safetensors.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using Algebra = Run;

TEST_F(Algebra, SumsAndPatternsTrain) {
  const std::vector<std::string> all = {"rope + alibi",        "alibi + t5",
                                        "layers[rope, alibi]", "sinusoidal + layers[none, t5]",
                                        "rope + gate",         "rope + queries + warm"};
  ASSERT_EQ(pesuite({"run", suite(all, 10)}).code, 0);
  for (const std::string& e : all) EXPECT_EQ(status_of(e), "ok") << e;
  for (const Json& j : records()) {
    if (j["encoding"]["id"] != "alibi + t5") continue;
    EXPECT_EQ(j["encoding"]["plugins"].size(), 2u);
    EXPECT_EQ(j["encoding"]["plugins"][0]["encoding"], "alibi");
    EXPECT_EQ(j["encoding"]["plugins"][1]["encoding"], "t5");
    EXPECT_EQ(j["path"], "fused") << "two tables by distance are one";
  }
}

TEST_F(Algebra, WhatCollidesIsRefusedAtPlanning) {
  const auto refusal = [&](const std::string& expression) {
    const Ended e = pesuite({"plan", suite({"rope", expression}, 10)});
    const bool unknown = e.err.find("unknown encoding") != std::string::npos;
    EXPECT_EQ(e.code, unknown ? 4 : 2) << expression << ": " << e.out << e.err;
    return e.err.substr(std::min(e.err.size(), e.err.find("s.toml")));
  };
  const auto both = [](const char* a, const char* b) {
    return fmt::format("s.toml:17:1: encodings '{}' and '{}' cannot both act on one layer: ", a, b);
  };
  EXPECT_EQ(refusal("rope + rope(base=500)"),
            both("rope", "rope(base=500)") +
                "both change q and k; to train with one and evaluate with the other write 'rope "
                "=> rope(base=500)'\n");
  EXPECT_EQ(refusal("alibi + alibi"), both("alibi", "alibi") + "they are the same\n");
  EXPECT_EQ(refusal("layers[alibi + alibi, none]"), both("alibi", "alibi") + "they are the same\n");
  EXPECT_EQ(refusal("wide + rope"),
            both("wide", "rope") + "the first widens the heads of q and k for itself\n");
  EXPECT_EQ(refusal("warm + cool"), both("warm", "cool") + "both set the scale of q.k\n")
      << "known although it shows only beyond the training length";
  EXPECT_EQ(refusal("rope + yran(scale=8)")
                .find("s.toml:17:1: encoding 'rope + yran(scale=8)': "
                      "unknown encoding 'yran' at column 8"),
            0u);
  EXPECT_EQ(refusal("layers[sinusoidal, none]"),
            "s.toml:17:1: encoding 'sinusoidal' acts on the embedding, which no layer has of its "
            "own; write it outside of 'layers[...]', as in sinusoidal + layers[...]\n");
  // in different layers they are not in each other's way
  EXPECT_EQ(pesuite({"plan", suite({"layers[rope, rope(base=500)]"}, 10)}).code, 0);
  const Ended e = pesuite({"plan", suite({"layers[none, none, rope]"}, 10)});
  EXPECT_NE(e.out.find("the pattern names 3 layers, the model has 2: the rest never acts"),
            std::string::npos)
      << e.out << e.err;
}

TEST_F(Algebra, TheCombinationsOfTheStudiesRun) {
  const Ended e =
      pesuite({"run", PESUITE_TEST_DIR "/../suites/combinations.toml", "--profile", "ci", "--set",
               "train.budget=8", "--set", "model.nano.preset=micro", "--jobs", "2", "--no-report"});
  ASSERT_EQ(e.code, 0) << e.err;
  std::set<std::string> encodings;
  for (const Json& j : records()) {
    EXPECT_EQ(j["status"], "ok") << j;
    if (j["part"] != "train") encodings.insert(j["encoding"]["id"]);
  }
  EXPECT_EQ(encodings.size(), 13u);
  EXPECT_EQ(pesuite({"plan", PESUITE_TEST_DIR "/../suites/extension.toml"}).code, 0);
}

// ------------------------------------------------------------------------- shared trainings

const std::vector<std::string> family = {"rope", "rope => rope(base=500)", "rope => alibi + rope",
                                         "rope -> none @ 50%", "rope -> none @ 75%"};

TEST_F(Algebra, EqualBeginningsTrainOnce) {
  const fs::path s = suite(family, 20);
  const Ended plan = pesuite({"plan", s});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("35 training steps instead of 100: 65 % fewer"), std::string::npos)
      << plan.out;
  const Json j = Json::parse(pesuite({"plan", s, "--json"}).out);
  EXPECT_EQ(j["training_steps"], (Json{{"taken", 35}, {"alone", 100}}));
  ASSERT_EQ(j["trainings"].size(), 3u);
  EXPECT_EQ(j["trainings"][0]["cells"].size(), 3u);
  EXPECT_EQ(j["trainings"][1]["trunk"], j["trainings"][0]["training"]);
  EXPECT_EQ(j["trainings"][1]["first_step"], 10);
  EXPECT_EQ(j["trainings"][2]["first_step"], 15);

  const Ended e = pesuite({"run", s, "--set", "train.log_every=1", "--jobs", "2"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(steps_taken(), 35);
  const std::vector<Json> all = records();
  for (const std::string& encoding : family) {
    EXPECT_EQ(status_of(encoding), "ok");
    // each alone, from nothing, gives the same numbers
    const fs::path alone = suite({encoding}, 20);
    fs::remove_all(folder_ / "alone");
    ASSERT_EQ(pesuite({"run", alone, "--set", "train.log_every=1", "--out", "alone"}).code, 0);
    EXPECT_EQ(numbers_of(all, encoding), numbers_of(records("alone"), encoding)) << encoding;
  }
  for (const Json& r : all) {
    const Json& encoding = r["encoding"];
    if (encoding["id"] == "rope") {
      EXPECT_FALSE(encoding.contains("trunk"));
    } else if (encoding["id"] == "rope -> none @ 75%") {
      EXPECT_TRUE(encoding["trunk"].get<std::string>().starts_with("rope(base=10000, layout=half"));
      EXPECT_EQ(encoding["switches"], (Json{{{"step", 15}, {"encoding", "none"}}}));
    } else if (encoding["id"] == "rope => alibi + rope") {
      EXPECT_EQ(encoding["evaluation"].get<std::string>().substr(0, 5), "alibi");
    }
  }
  EXPECT_NE(pesuite({"run", suite(family, 20), "--set", "train.log_every=1"}).err.find("nothing"),
            std::string::npos);
}

TEST_F(Algebra, ASwapChangesEvaluationAndNothingElse) {
  ASSERT_EQ(pesuite({"run", suite({"rope", "rope => none", "rope => rope"}, 20)}).code, 0);
  std::map<std::string, std::map<std::string, std::vector<double>>> values;
  for (const Json& j : records())
    if (j["metric"] == "nll")
      values[j["encoding"]["id"]][j["split"] == "train" || j["split"] == "val" ? "train" : "eval"]
          .push_back(j["value"]);
  EXPECT_EQ(values["rope"]["train"], values["rope => none"]["train"]);
  EXPECT_NE(values["rope"]["eval"], values["rope => none"]["eval"]);
  EXPECT_EQ(values["rope"], values["rope => rope"]);
}

TEST_F(Algebra, ATrunkThatNoCellWantsStopsAtItsLastBranch) {
  const std::vector<std::string> one_a_step = {"--set", "train.log_every=1"};
  const auto run = [&](const std::vector<std::string>& encodings,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", suite(encodings, 20)};
    words.insert(words.end(), one_a_step.begin(), one_a_step.end());
    words.insert(words.end(), more.begin(), more.end());
    const Ended e = pesuite(words);
    EXPECT_EQ(e.code, 0) << e.err;
  };
  const std::vector<std::string> branches = {"rope -> none @ 50%", "rope -> alibi @ 15"};
  run(branches);
  EXPECT_EQ(steps_taken(), 15 + 10 + 5);
  run(branches);
  EXPECT_EQ(steps_taken(), 30) << "nothing is left to do";
  // wanted whole later, it goes on where it was
  std::vector<std::string> with_trunk = branches;
  with_trunk.push_back("rope");
  run(with_trunk);
  EXPECT_EQ(steps_taken(), 30 + 5);
  // a branch at a step that it has passed: it is trained up to there once more
  with_trunk.push_back("rope -> none @ 5");
  run(with_trunk);
  EXPECT_EQ(steps_taken(), 35 + 5 + 15);
  // a branch alone again: the trunk's checkpoint is still there
  fs::remove_all(folder_ / "results" / "runs");
  run(with_trunk, {"--rerun", "encoding=rope -> none @ 5"});
  EXPECT_EQ(steps_taken(), 55) << "its log starts anew";
  fs::remove_all(folder_ / "results" / "runs");
  run(with_trunk, {"--only", "encoding=rope -> none*", "--rerun", "all"});
  EXPECT_EQ(steps_taken(), 10 + 10 + 15 + 5) << "trunk to 10, two branches; alibi's is as it was";
}

TEST_F(Algebra, KilledAtAnyMomentSharedTrainingsEndTheSame) {
  const fs::path s = suite({"learned", "learned -> t5 + learned @ 31", "learned => none",
                            "learned -> none @ 40, optimizer reset, lr 1e-3, warmup 5"},
                           60);
  const std::vector<std::string> words = {"run", s.string(), "--jobs", "2", "--out"};
  const auto with = [&](const char* out) {
    std::vector<std::string> w = words;
    w.emplace_back(out);
    return w;
  };
  ASSERT_EQ(pesuite(with("whole")).code, 0);
  int kills = 0;
  for (int delay = 60;; delay = delay * 5 / 4) {
    Command c(folder_, with("killed"));
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

// A mixture with growing lengths that goes on at another length behind a switch, killed at any
// moment; and neither threads nor jobs change what it reads.
TEST_F(Algebra, MixturesAndLengthsEndTheSameAndShareTheirTrunk) {
  const fs::path s = suite({"rope", "rope -> rope(base=500) @ 70%, length 32", "rope => none"}, 60);
  const auto command = [&](const char* out, const char* jobs, const char* more = "train.batch=8") {
    return std::vector<std::string>{
        "run",
        s.string(),
        "--jobs",
        jobs,
        "--out",
        out,
        "--set",
        R"x(train.mix=[{task = "flipflop", share = 0.25}, {task = "toylag(document=256)", share = 0.25, alphabet = "same"}])x",
        "--set",
        R"(train.lengths={kind = "growing", min = 5, over = "80%"})",
        "--set",
        more};
  };
  ASSERT_EQ(pesuite(command("whole", "2")).code, 0);
  const std::vector<Json> whole = records("whole");
  int kills = 0;
  for (int delay = 60;; delay = delay * 5 / 4) {
    Command c(folder_, command("killed", "2"));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(delay);
    while (c.running() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!c.running()) {
      ASSERT_EQ(c.wait().code, 0);
      break;
    }
    c.signal(SIGKILL);
    c.wait();
    ++kills;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(kills, 2);
  EXPECT_EQ(numbers(records("killed")), numbers(whole));
  ASSERT_EQ(pesuite(command("single", "1")).code, 0);
  EXPECT_EQ(numbers(records("single")), numbers(whole));

  // what is read does not depend on threads, whatever rounding does
  std::vector<std::string> threads = command("threads", "1");
  threads.insert(threads.end(), {"--set", "defaults.threads_per_cell=2"});
  ASSERT_EQ(pesuite(threads).code, 0);
  const auto read = [](const std::vector<Json>& all) {
    std::multiset<std::string> out;
    for (const Json& j : all)
      if (j["metric"] == "length")
        out.insert(fmt::format("{} {} {} {}", j["encoding"]["id"].get<std::string>(),
                               j["step"].dump(), j["tokens"].dump(), j["value"].dump()));
    return out;
  };
  EXPECT_EQ(read(records("threads")), read(whole));

  // shared to the step of the switch, longer behind it, and each task validated apart
  std::map<std::string, std::map<int, double>> length;
  std::set<std::string> validated;
  for (const Json& j : whole) {
    if (j["metric"] == "length") length[j["encoding"]["id"]][j["step"]] = j["value"];
    if (j["split"] == "val")
      validated.insert(j["coords"].value("mix", std::string("toylag")).substr(0, 8));
  }
  const auto &plain = length["rope"], &longer = length["rope -> rope(base=500) @ 70%, length 32"];
  EXPECT_EQ(plain.at(40), longer.at(40));
  EXPECT_LT(plain.at(5), 7);
  EXPECT_NEAR(plain.at(60), 10.5, 2.5) << "the mean of 5 to 16";
  EXPECT_NEAR(longer.at(60), 18.5, 6) << "the mean of 5 to 32, of half as many examples";
  EXPECT_EQ(validated, (std::set<std::string>{"flipflop", "toylag", "toylag(d"}));
  std::string cell;
  for (const Json& j : whole)
    if (j["encoding"]["id"] == "rope") cell = j["cell"];
  const Ended eval =
      pesuite({"eval", "whole/store/nodes/" + cell.substr(0, 2) + "/" + cell + "/ckpt", "--task",
               "flipflop", "--lengths", "16", "--examples", "4"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NE(eval.out.find("on flipflop, trained at 16 tokens"), std::string::npos) << eval.out;
  const Ended plan = pesuite({"plan", s, "--set", R"(train.lengths={min = 4, stride = 4})"});
  EXPECT_NE(plan.out.find("training of toylag reads lengths 4 to 16 by 4\n"), std::string::npos)
      << plan.out << plan.err;
}

TEST_F(Algebra, WhatNeedsAFailedTrainingFailsWithIt) {
  const fs::path s = suite(
      {"crash_in_attend -> none @ 50%", "rope", "explodes -> none @ 50%", "rope => wrong_shape"},
      10);
  for (int again = 0; again < 2; ++again) {
    const Ended e = pesuite({"run", s});
    EXPECT_EQ(e.code, 3) << e.err;
    EXPECT_EQ(status_of("rope"), "ok");
    EXPECT_EQ(status_of("crash_in_attend -> none @ 50%"), "error");
    EXPECT_EQ(reason_of("crash_in_attend -> none @ 50%"),
              "needs the training of crash_in_attend·toylag·micro·s1 (trunk), which failed");
    EXPECT_EQ(status_of("explodes -> none @ 50%"), "diverged") << "before the switch";
    EXPECT_EQ(status_of("rope => wrong_shape"), "error") << "in evaluation alone";
  }
}

TEST_F(Algebra, SettingsOfASwitchHoldFromItsStep) {
  const std::string changed =
      "rope -> none @ 10, optimizer reset, lr 1e-3, warmup 4, schedule "
      "constant, length 32, qk_norm";
  ASSERT_EQ(pesuite({"run", suite({"rope", "rope -> none @ 10", changed}, 20), "--set",
                     "train.log_every=1", "--set", "train.optimizer.lr=2e-3"})
                .code,
            0);
  std::map<std::string, std::map<int, double>> lr, nll;
  std::map<std::string, double> parameters, tokens;
  std::map<std::string, std::string> split;
  for (const Json& j : records()) {
    const std::string e = j["encoding"]["id"];
    const int step = j["step"];
    if (j["metric"] == "lr") lr[e][step] = j["value"];
    if (j["metric"] == "nll" && j["split"] == "train") nll[e][step] = j["value"];
    if (j["metric"] == "parameters") parameters[e] = j["value"], tokens[e] = j["tokens"];
    if (j["metric"] == "nll" && j["coords"].value("eval_len", 0) == 32) split[e] = j["split"];
  }
  for (int step = 1; step <= 20; ++step) {
    EXPECT_EQ(lr["rope"][step], lr["rope -> none @ 10"][step]) << "one schedule for all";
    EXPECT_EQ(lr["rope"][step] == lr[changed][step], step <= 10);
    EXPECT_EQ(nll["rope"][step] == nll[changed][step], step <= 10) << step;
    EXPECT_EQ(nll["rope"][step] == nll["rope -> none @ 10"][step], step <= 10) << step;
  }
  for (int n = 1; n <= 10; ++n)
    EXPECT_DOUBLE_EQ(lr[changed][10 + n], 1e-3 * std::min(1.0, n / 4.0)) << "rewarmed";
  EXPECT_EQ(parameters[changed] - parameters["rope"], 2 * 2 * 16) << "gains of q and k";
  EXPECT_EQ(tokens[changed], tokens["rope"]) << "half as many examples, twice as long";
  EXPECT_EQ(split["rope"], "ood");
  EXPECT_EQ(split[changed], "id") << "it has been trained at that length";
  for (const auto& run : fs::directory_iterator(folder_ / "results" / "runs"))
    EXPECT_NE(read_file(run.path() / "report.md").find("trained at 16 (" + changed + " at 32 too)"),
              std::string::npos)
        << "where a length is new for some alone, the first screen says so";
}

TEST_F(Algebra, SwitchesAndSwapsThatCannotBeAreRefused) {
  const auto refusal = [&](const std::string& expression) {
    const Ended e = pesuite({"plan", suite({"rope", expression}, 10)});
    const bool unknown = e.err.find("unknown encoding") != std::string::npos;
    EXPECT_EQ(e.code, unknown ? 4 : 2) << expression << ": " << e.out << e.err;
    const std::string where = "s.toml:17:1: encoding '" + expression + "': ";
    const std::size_t at = e.err.find(where);
    return at == std::string::npos ? e.err : e.err.substr(at + where.size());
  };
  EXPECT_EQ(refusal("rope -> none @ 100%"),
            "the switch at column 6 comes at step 10 of 10, which leaves nothing to train after "
            "it; to swap for evaluation alone write '=>'\n");
  EXPECT_EQ(refusal("rope -> none @ 0"),
            "the switch at column 6 comes at step 0 of 10, which leaves nothing to train before "
            "it\n");
  EXPECT_EQ(refusal("rope -> none @ 5 -> alibi @ 50%"),
            "the switch at column 18 comes at step 5, and the one before it at step 5\n");
  EXPECT_EQ(refusal("rope -> none @ 8, warmup 50%"),
            "the switch at column 6 warms up for 5 steps, and 2 are left\n");
  EXPECT_EQ(refusal("rope => t5"),
            "what '=>' swaps in learns 't5.table' [32, 2], which the training before it does not "
            "have; let it train, as in rope -> t5 @ 90%\n");
  EXPECT_EQ(refusal("rope => yran(scale=8)").substr(0, 38),
            "unknown encoding 'yran' at column 9, d");
  EXPECT_EQ(pesuite({"plan", suite({"rope", "rope -> t5 @ 50% => t5"}, 10)}).code, 0);
  const Ended twins = pesuite({"plan", suite({"rope -> none @ 5", "rope -> none @ 50%"}, 10)});
  EXPECT_NE(twins.err.find("encoding 'rope -> none @ 50%' is the same as encoding 'rope -> none @ "
                           "5'; leave one of them out"),
            std::string::npos)
      << twins.err;
}

// --------------------------------------------------------------------------------- one-offs

TEST_F(Algebra, TrainSwitchesAndEvalSwaps) {
  const std::vector<std::string> words = {"train",
                                          "--encoding",
                                          "rope -> t5 + none @ 50% => alibi + t5",
                                          "--model-size",
                                          "micro",
                                          "--max-steps",
                                          "8",
                                          "--batch-size",
                                          "2",
                                          "--length",
                                          "16",
                                          "--log-interval",
                                          "1",
                                          "--save-interval",
                                          "2",
                                          "--output-dir",
                                          "o",
                                          "--task",
                                          "toylag(document=128)"};
  const Ended e = pesuite(words);
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_NE(e.err.find("step 4 | switching to t5("), std::string::npos) << e.err;
  std::string run;
  for (const auto& item : fs::directory_iterator(folder_ / "o/by-name")) run = item.path();
  const auto eval = [&](const std::string& encoding) {
    std::vector<std::string> w = {"eval", run + "/final", "--lengths", "16,32", "--examples", "2"};
    if (!encoding.empty()) w.insert(w.end(), {"--encoding", encoding});
    const Ended out = pesuite(w);
    EXPECT_EQ(out.code, 0) << out.err;
    return out.out.substr(out.out.find('\n'));
  };
  EXPECT_EQ(eval(""), eval("alibi + t5")) << "what '=>' says";
  EXPECT_NE(eval(""), eval("t5"));
  EXPECT_EQ(pesuite({"eval", run + "/final", "--encoding", "learned"}).code, 5)
      << "its table is not in the checkpoint";
  const Ended arrow = pesuite({"eval", run + "/final", "--encoding", "rope => alibi"});
  EXPECT_EQ(arrow.code, 2);
  EXPECT_NE(arrow.err.find("a checkpoint has been trained; give what to evaluate it with, such as "
                           "'alibi'"),
            std::string::npos)
      << arrow.err;
  // stopped on either side of the switch it goes on to the same end
  const auto weights = [&] {
    const SafetensorsReader file(run + "/final.safetensors");
    std::map<std::string, std::vector<double>> out;
    for (const auto& [name, entry] : file.tensors())
      out[name] =
          file.read(name, Shape::of(static_cast<int>(entry.shape.size()), entry.shape.data()));
    return out;
  };
  const auto whole = weights();
  EXPECT_TRUE(whole.contains("encoding.t5.table"));
  for (const char* from : {"step_2", "step_4", "step_6"}) {
    fs::copy_file(run + "/" + from + ".safetensors", run + "/latest.safetensors",
                  fs::copy_options::overwrite_existing);
    std::vector<std::string> resume = words;
    resume.emplace_back("--resume");
    ASSERT_EQ(pesuite(resume).code, 0) << from;
    EXPECT_EQ(weights(), whole) << from;
  }
}

}  // namespace
}  // namespace pesuite::testing
