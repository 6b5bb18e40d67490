// Checkpoints in Hugging Face's layout, out and in again, and text that goes on from a prompt.
#include <gmock/gmock.h>

#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path published = fs::path(PESUITE_TEST_DIR) / "checkpoints";

class Checkpoints : public Run {
 protected:
  // A model of `form` that was trained a little on text, as a checkpoint and its shards of text.
  std::string trained(const std::string& encoding, const std::string& form = "") {
    if (!fs::exists(folder_ / "text")) {
      std::string text;
      for (int i = 0; i < 3000; ++i)
        text += fmt::format("the {} of {} is {}. ", i % 7, i % 11, i * 37 % 100) +
                (i % 60 == 59 ? "\n--\n" : "");
      write("words.txt", text);
      EXPECT_EQ(pesuite({"data", "train-tokenizer", "words.txt", "--vocabulary", "300", "-o",
                         "tokenizer.json", "--special", "<|endoftext|>"})
                    .code,
                0);
      const Ended e = pesuite({"data", "tokenize", "words.txt", "--tokenizer", "tokenizer.json",
                               "-o", "text", "--validation-share", "0.2", "--separator", "--"});
      EXPECT_EQ(e.code, 0) << e.err;
    }
    const fs::path suite =
        write("s.toml",
              fmt::format(
                  "name = \"t\"\n[defaults]\nseeds = [1]\nbackend = \"cpu\"\n[model.m]\npreset = "
                  "\"micro\"\n{}\n[train]\nsteps = 12\nbatch = 4\nvalidation_examples = "
                  "4\n[[encoding]]\nexpr = \"{}\"\n[[task]]\ntask = \"tokens\"\noptions = {{path = "
                  "\"text\"}}\ntrain_len = 32\n[[eval]]\nlengths = "
                  "[32]\nexamples = 4\n",
                  form, encoding));
    fs::remove_all(folder_ / "results");
    const Ended e = pesuite({"run", suite});
    EXPECT_EQ(e.code, 0) << e.err;
    for (const auto& item : fs::recursive_directory_iterator(folder_ / "results" / "store"))
      if (item.path().filename() == "last.safetensors") return item.path();
    ADD_FAILURE() << "no checkpoint";
    return "";
  }
  std::string continued(const std::string& model) {
    const Ended e = pesuite({"sample", model, "--prompt", "the 3 of", "--temperature", "0",
                             "--json", "--max-tokens", "20", "--ignore-end"});
    EXPECT_EQ(e.code, 0) << e.err;
    return e.out;
  }
};

TEST_F(Checkpoints, GoOutAsTheyCameIn) {
  int folders = 0;
  for (const auto& item : fs::directory_iterator(published)) {
    if (!item.is_directory()) continue;
    const fs::path out = folder_ / "out" / item.path().filename();
    const Ended e = pesuite({"model", "export", item.path(), out});
    EXPECT_EQ(e.code, 0) << item.path() << ": " << e.err;
    fs::copy_file(item.path() / "expected.json", out / "expected.json");
    ++folders;
  }
  EXPECT_GT(folders, 20);
  const Ended e = pesuite({"model", "golden", "out", "--backend", "cpu", "--quiet"});
  EXPECT_EQ(e.code, 0) << e.out;
  EXPECT_THAT(e.out, HasSubstr(" 0 failed"));
}

TEST_F(Checkpoints, OfOurOwnGoOutAndComeBack) {
  const std::string gpt =
      "norm = \"layernorm\"\nactivation = \"gelu_tanh\"\nattention_bias = true\nmlp_bias = "
      "true\nff_width "
      "= 128\n";
  const std::string mpt =
      "norm = \"layernorm\"\nbiasless_norm = true\nactivation = \"gelu\"\nff_width = 128\n";
  const std::string behind = "norm_place = \"output\"\nqk_norm = \"whole\"\n";
  const std::string cohere =
      "norm = \"layernorm\"\nbiasless_norm = true\nparallel_residual = true\nshared_norm = true\n";
  const std::string gemma = "activation = \"geglu\"\nscaled_embedding = true\n";
  const std::vector<std::array<std::string, 3>> wanted = {
      {"rope", "", "llama"},
      {"none", "", "llama"},
      {"yarn(factor=4)", "qkv_bias = true\n", "qwen2"},
      {"rope", "qk_norm = \"before\"\n", "qwen3"},
      {"layers[rope, none]", "", "smollm3"},
      {"rope", behind, "olmo2"},
      {"layers[rope(base=300), yarn(factor=4, base=300, original=32)]",
       behind + "window = 8\nwindow_every = 2\n", "olmo3"},
      {"rope", gemma, "gemma"},
      {"yarn(factor=4, original=32)",
       gemma + "norm_place = \"both\"\nscore_softcap = 50\nlogit_softcap = 30\nwindow = "
               "8\nwindow_every = 2\n",
       "gemma2"},
      {"rope", gemma + "norm_place = \"both\"\n", "gemma2"},
      {"rope", gemma + "norm_place = \"both\"\nqk_norm = \"before\"\nscore_softcap = 0.5\n",
       "gemma3_text"},
      {"layers[rope(base=300), rope(base=5000)]",
       gemma + "norm_place = \"both\"\nqk_norm = \"before\"\nwindow = 8\nwindow_every = 2\n",
       "gemma3_text"},
      {"rope(layout=interleaved)", cohere, "cohere"},
      {"layers[rope(base=300, layout=interleaved), none]",
       cohere + "window = 8\nwindow_every = 2\n", "cohere2"},
      {"rope", "norm_place = \"output\"\nqk_norm = \"before\"\n", "exaone4"},
      {"layers[yarn(factor=4, original=32), none]",
       "norm_place = \"output\"\nqk_norm = \"before\"\nwindow = 8\nwindow_every = 2\n", "exaone4"},
      {"rope(features=0.5)", "", "phi3"},
      {"rope(features=0.5)", "norm = \"layernorm\"\n", "stablelm"},
      {"rope", gpt + "window = 8\n", "starcoder2"},
      {"rope(features=0.5)", gpt + "parallel_residual = true\n", "gpt_neox"},
      {"rope(features=0.5)",
       gpt + "parallel_residual = true\nshared_norm = true\nhead_bias = true\ntie_embedding = "
             "false\n",
       "phi"},
      {"learned", gpt, "gpt2"},
      {"alibi", mpt, "mpt"}};
  for (const auto& [encoding, form, type] : wanted) {
    const std::string checkpoint = trained(encoding, form);
    fs::remove_all(folder_ / "out");
    const Ended e = pesuite({"model", "export", checkpoint, "out"});
    ASSERT_EQ(e.code, 0) << encoding << ": " << e.err;
    EXPECT_THAT(e.out, HasSubstr(type)) << encoding;
    EXPECT_TRUE(fs::exists(folder_ / "out" / "tokenizer.json"));
    const auto json = [&](const char* name) {
      return Json::parse(read_file(folder_ / "out" / name));
    };
    const Json tokenizer = json("tokenizer_config.json"), end = json("config.json")["eos_token_id"];
    EXPECT_EQ(tokenizer["tokenizer_class"], "PreTrainedTokenizerFast");
    EXPECT_EQ(tokenizer["eos_token"], "<|endoftext|>");
    EXPECT_EQ(tokenizer["model_max_length"], 32);
    EXPECT_TRUE(end.is_number()) << end;
    EXPECT_EQ(json("generation_config.json")["eos_token_id"], end);
    EXPECT_EQ(continued("out"), continued(checkpoint)) << encoding;
    const auto nats = [&](const std::string& model) {
      const Ended e = pesuite(
          {"eval", model, "--data", "text", "--lengths", "32", "--examples", "4", "--json"});
      EXPECT_EQ(e.code, 0) << e.err;
      return Json::parse(e.out.substr(0, e.out.find('\n')))["value"].get<double>();
    };
    EXPECT_NEAR(nats("out"), nats(checkpoint), 1e-5) << encoding;
    EXPECT_EQ(pesuite({"model", "export", checkpoint, "out"}).code, 2) << "it is there";
  }
}

// Layers with a window keep what they were trained with; the published types can say so.
TEST_F(Checkpoints, AreExtendedWhereALayerSeesAll) {
  for (const auto& [name, wanted] :
       {std::pair{"olmo3", "rope(base=500000), yarn(base=500000, factor=16, original=8"},
        std::pair{"gemma3", "layers[rope(base=10000), rope(base=10000), yarn(base=1000000, "}}) {
    const Ended e =
        pesuite({"model", "export", published / name, name, "--encoding", "yarn(factor=16)"});
    ASSERT_EQ(e.code, 0) << e.err;
    EXPECT_THAT(pesuite({"model", "info", name}).out, HasSubstr(wanted));
  }
}

// By the field that Qwen2.5-1M has.
TEST_F(Checkpoints, AreExtendedInChunks) {
  const auto exported = [&](const char* name, const char* encoding) {
    return pesuite({"model", "export", published / "qwen2", name, "--encoding", encoding});
  };
  const Ended e = exported("chunks", "dual_chunk(chunk=12, window=4, original=8, mscale=0.1)");
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_THAT(pesuite({"model", "info", "chunks"}).out,
              HasSubstr("chunk=12, window=4, original=8, mscale=0.1"));
  const Ended usual = exported("usual", "dual_chunk");
  ASSERT_EQ(usual.code, 0) << usual.err;
  const Json c = Json::parse(slurp(folder_ / "usual" / "config.json"));
  const int context = c["max_position_embeddings"];
  EXPECT_EQ(c["dual_chunk_attention_config"], (Json{{"chunk_size", context * 3 / 4},
                                                    {"local_size", context / 8},
                                                    {"original_max_position_embeddings", 0}}));
  EXPECT_THAT(exported("warm", "dual_chunk(mscale=0.2)").err,
              HasSubstr("mscale=0.2 where it has 0.1"));
}

TEST_F(Checkpoints, SayThatNoLayerTakesWhatIsSwappedIn) {
  const fs::path model = published / "cohere2";
  const Ended e = pesuite({"model", "export", model, "out", "--encoding", "yarn(factor=4)"});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err, HasSubstr("no layer would change"));
  const fs::path suite =
      write("s.toml", fmt::format("name = \"t\"\n[model.m]\nweights = \"{}\"\n[[encoding]]\nexpr = "
                                  "\"yarn(factor=4)\"\n[[task]]\ntask = \"copy\"\ntrain_len = 32\n",
                                  model.string()));
  const Ended planned = pesuite({"plan", suite});
  EXPECT_EQ(planned.code, 2) << planned.out;
  EXPECT_THAT(planned.err, HasSubstr("no layer would change"));
}

TEST_F(Checkpoints, SayWhatNoPublishedModelHas) {
  const std::string checkpoint = trained("rope");
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"alibi", "no published type carries this model"},
      {"rope(resonance=true)", "resonance=true where it has false"},
      {"rope(log_n=position)", "log_n=position where it has off"},
      {"rope + alibi", "one encoding, the same in all layers"},
      {"layers[rope, alibi]", "one encoding, the same in all layers"},
      {"yarn", "factor follows from the lengths"},
      {"rope -> none @ 50%", "a checkpoint has been trained"}};
  for (const auto& [encoding, words] : wanted) {
    const Ended e = pesuite({"model", "export", checkpoint, "out", "--encoding", encoding});
    EXPECT_EQ(e.code, 2) << encoding;
    EXPECT_THAT(e.err, HasSubstr(words)) << encoding;
    EXPECT_FALSE(fs::exists(folder_ / "out" / "config.json")) << encoding;
  }
}

// Gemma 2 has one rotation for all layers, and what is swapped in leaves windows as they are.
TEST_F(Checkpoints, OfGemma2TurnAllLayersAlike) {
  const std::string from = PESUITE_TEST_DIR "/checkpoints/gemma2";
  const Ended refused = pesuite({"model", "export", from, "out", "--encoding", "yarn(factor=4)"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'layers[E, E]' gives E to all"));
  const Ended taken = pesuite(
      {"model", "export", from, "out", "--encoding", "layers[yarn(factor=4), yarn(factor=4)]"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_THAT(read_file(folder_ / "out" / "config.json"), HasSubstr("\"yarn\""));
}

// Layers with a window have a rotation in the types that know them.
TEST_F(Checkpoints, SayThatLayersWithAWindowNeedARotation) {
  const std::string form = "norm_place = \"output\"\nqk_norm = \"whole\"\nwindow = 8\n";
  const Ended e = pesuite(
      {"model", "export", trained("layers[none, rope]", form + "window_every = 2\n"), "out"});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err, HasSubstr("no published type carries this model"));
  EXPECT_THAT(e.err, HasSubstr("in layers with a window"));
}

TEST_F(Checkpoints, GoOnFromAText) {
  const std::string checkpoint = trained("rope");
  const auto sample = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"sample", checkpoint, "--max-tokens", "12", "--ignore-end"};
    words.insert(words.end(), more.begin(), more.end());
    return pesuite(words);
  };
  const Ended once = sample({"--prompt", "the 3 of", "--seed", "5"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(once.err, HasSubstr("wrote 12 tokens"));
  EXPECT_EQ(sample({"--prompt", "the 3 of", "--seed", "5"}).out, once.out);
  EXPECT_NE(sample({"--prompt", "the 3 of", "--seed", "6"}).out, once.out);
  EXPECT_EQ(sample({"--prompt", "the 3 of", "--top-k", "1", "--seed", "6"}).out,
            sample({"--prompt", "the 3 of", "--temperature", "0"}).out);

  // side by side as alone, whatever their lengths
  const Ended several = sample({"--prompt", "the 3 of", "--prompt", "is", "--prompt", "of 4",
                                "--count", "2", "--temperature", "0", "--json"});
  std::istringstream lines(several.out);
  std::vector<Json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    EXPECT_EQ(all[i]["tokens"], all[i + 1]["tokens"]);
    EXPECT_EQ(all[i]["text"].get<std::string>() + "\n",
              sample({"--prompt", all[i]["prompt"], "--temperature", "0"}).out);
  }

  EXPECT_THAT(sample({}).err, HasSubstr("--prompt TEXT"));
  EXPECT_THAT(sample({"--prompt", ""}).err, HasSubstr("has no tokens"));
  EXPECT_THAT(sample({"--tokens", "1,9999"}).err, HasSubstr("token 9999"));
  EXPECT_THAT(sample({"--tokens", "1,x"}).err, HasSubstr("'x' is no token"));
  EXPECT_THAT(sample({"--prompt", "a", "--temperature", "-1"}).err, HasSubstr("temperature"));
  EXPECT_THAT(sample({"--prompt", "a", "--top-p", "0"}).err, HasSubstr("top_p"));
  EXPECT_THAT(pesuite({"sample", "nowhere", "--prompt", "a"}).err, HasSubstr("no checkpoint"));
}

TEST_F(Checkpoints, ThatClaimMoreThanTheirFilesHoldAskForNoMemory) {
  fs::copy(published / "llama_gqa", folder_ / "huge");
  Json config = Json::parse(slurp(folder_ / "huge" / "config.json"));
  config["vocab_size"] = 1 << 24, config["hidden_size"] = 1 << 16, config["head_dim"] = 8;
  write("huge/config.json", config.dump());
  const Ended e = pesuite({"sample", "huge", "--tokens", "1,2,3"});
  EXPECT_EQ(e.code, 5);
  EXPECT_THAT(e.err, HasSubstr("the files hold"));
}

TEST_F(Checkpoints, AreEvaluatedOnTextOfTheirTokenizer) {
  const std::string checkpoint = trained("rope");
  ASSERT_EQ(pesuite({"model", "export", checkpoint, "out"}).code, 0);
  EXPECT_THAT(pesuite({"eval", "out"}).err, HasSubstr("which text? --data FOLDER"));
  write("other.txt", "abc abc abc abc\n--\nabd abd abd\n--\nxyz xyz\n--\nuvw uvw uvw");
  ASSERT_EQ(pesuite({"data", "tokenize", "other.txt", "--tokenizer", "bytes", "-o", "other",
                     "--validation-share", "0.5", "--separator", "--"})
                .code,
            0);
  const Ended nowhere = pesuite({"eval", "out", "--data", "nowhere", "--lengths", "8"});
  EXPECT_EQ(nowhere.code, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("error: nowhere is no folder of tokens, for it has no "
                                     "manifest.json; 'pesuite data tokenize TEXT"));
  const Ended e = pesuite({"eval", "out", "--data", "other", "--lengths", "8"});
  EXPECT_EQ(e.code, 2);
  EXPECT_THAT(e.err, HasSubstr("another tokenizer"));
  const Ended swapped = pesuite({"eval", "out", "--data", "text", "--lengths", "32,64",
                                 "--examples", "4", "--encoding", "yarn(factor=2)"});
  EXPECT_EQ(swapped.code, 0) << swapped.err;
  EXPECT_THAT(swapped.out, HasSubstr("yarn"));
  EXPECT_THAT(swapped.out, HasSubstr("64"));
}

// A suite over a model that was trained elsewhere: each encoding says what 'eval' says of it.
TEST_F(Checkpoints, AreComparedUnderOtherEncodingsByASuite) {
  const std::string own = trained("rope(base=500)");
  ASSERT_EQ(pesuite({"model", "export", own, "mine"}).code, 0);
  fs::copy_file(folder_ / "tokenizer.json", folder_ / "mine" / "tokenizer.json",
                fs::copy_options::overwrite_existing);
  fs::remove_all(folder_ / "results");
  const std::string suite =
      "name = \"extend\"\n[defaults]\nseeds = [1]\nbackend = \"cpu\"\n[model.mine]\nweights = "
      "\"mine\"\n[[encoding]]\nexpr = \"own\"\n[[encoding]]\nexpr = \"linear(factor=2)\"\n"
      "[[encoding]]\nexpr = \"none\"\n[[task]]\ntask = \"tokens\"\noptions = {path "
      "= \"text\"}\n[[eval]]\nlengths = [\"1x\", \"2x\"]\nprotocol = [\"last(8)\"]\nexamples = "
      "4\n";
  const fs::path file = write("extend.toml", suite);
  const Ended plan = pesuite({"plan", file, "--seeds", "1,2"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("3 cells"));
  EXPECT_THAT(plan.out + plan.err, HasSubstr("the first seed alone"));
  const Ended e = pesuite({"run", file});
  ASSERT_EQ(e.code, 0) << e.err;
  std::map<std::string, double> nats;  // at twice the context
  for (const Json& j : records("results")) {
    EXPECT_EQ(j["status"], "ok") << j;
    if (j["metric"] == "nll" && j["coords"].value("eval_len", 0) == 64)
      nats[j["encoding"]["id"].get<std::string>()] = j["value"].get<double>();
  }
  ASSERT_EQ(nats.size(), 3u);
  for (const auto& run : fs::directory_iterator(folder_ / "results" / "runs"))
    EXPECT_THAT(read_file(run.path() / "report.md"), HasSubstr("was trained elsewhere, once"));
  EXPECT_NE(nats["own"], nats["none"]);
  const Ended alone = pesuite({"eval", "mine", "--data", "text", "--lengths", "64", "--protocol",
                               "last(8)", "--examples", "4", "--encoding",
                               "linear(factor=2, base=500)", "--backend", "cpu", "--json"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr(Json(nats["linear(factor=2)"]).dump().substr(0, 8)))
      << "what a candidate does not say is as the weights were trained";
  // nothing is computed twice, and other weights are another model
  EXPECT_THAT(pesuite({"run", file}).err, HasSubstr("all 3 cells of 'extend' are done"));

  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = suite;
    other.replace(other.find(from), from.size(), to);
    const Ended bad = pesuite({"plan", write("bad.toml", other)});
    EXPECT_NE(bad.code, 0);
    return bad.err;
  };
  EXPECT_THAT(refused("\"none\"", "\"rope => none\""), HasSubstr("has been trained"));
  EXPECT_THAT(refused("\"none\"", "\"rpe\""), ContainsRegex("bad.toml:[0-9]+.*rope"))
      << "with its place, as of a model that is trained";
  EXPECT_THAT(refused("weights = \"mine\"", "weights = \"nowhere\""),
              HasSubstr("no trained model"));
  EXPECT_THAT(refused("weights = \"mine\"", "weights = \"mine\"\nwidth = 64"), HasSubstr("width"));
  EXPECT_THAT(refused("task = \"tokens\"\noptions = {path = \"text\"}", "task = \"copy\""),
              HasSubstr("in the model's tokens"));
  write("other.txt", "some other words, and some more of them");
  ASSERT_EQ(pesuite({"data", "train-tokenizer", "other.txt", "--vocabulary", "270", "-o",
                     (folder_ / "mine" / "tokenizer.json").string()})
                .code,
            0);
  EXPECT_THAT(pesuite({"plan", file}).err, HasSubstr("another tokenizer"));
}

}  // namespace
}  // namespace pesuite::testing
