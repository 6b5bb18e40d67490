// Probes in suites and on checkpoints: records, parts, files, pictures, refusals.
#include "model/safetensors.h"
#include "tests/cli/fixture.h"

namespace pesuite::testing {
namespace {

using Probes = Run;

const std::string probing = R"([[eval]]
lengths = [16]
probes = ["attention", "zeroed", "offset", "position", "bands"]
offsets = [8, 64]
bands = 2
examples = 3
[[eval]]
lengths = [16]
protocol = 'last(4)'
probes = "shuffled"
kept = [0, 8]
examples = 3
[[eval]]
lengths = [16]
probes = "maps"
layers = [1]
heads = [0, 1]
)";

TEST_F(Probes, AreRecordsOfTheirOwn) {
  const std::vector<std::string> encodings = {"rope", "none", "explodes", "rope => none"};
  const std::vector<std::string> one_a_step = {"--set", "train.log_every=1"};
  ASSERT_EQ(pesuite({"run", suite(encodings, 20), "--set", "train.log_every=1"}).code, 0);
  const int steps = steps_taken();
  const std::multiset<std::string> before = numbers(records());
  fs::remove_all(folder_ / "results" / "runs");
  const Ended e = pesuite({"run", suite(encodings, 20, probing), "--set", "train.log_every=1"});
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(steps_taken(), steps) << "probes train nothing";

  std::map<std::string, std::map<std::string, std::vector<Json>>> found;  // by encoding and metric
  std::vector<Json> plain;
  for (const Json& j : records()) {
    if (!j["coords"].contains("probe")) {
      plain.push_back(j);
      continue;
    }
    EXPECT_EQ(j["status"], "ok") << j;
    EXPECT_EQ(j["coords"]["eval_len"], 16);
    found[j["encoding"]["id"]][j["metric"]].push_back(j);
  }
  EXPECT_EQ(numbers(plain), before) << "what was there stays as it was";
  auto& rope = found["rope"];
  EXPECT_EQ(rope["zeroed_cost"].size(), 1u);
  EXPECT_EQ(rope["offset_cost"].size(), 1u) << "16 + 64 lies beyond the longest length";
  EXPECT_NEAR(rope["offset_change"].at(0)["value"].get<double>(), 0, 1e-4);
  ASSERT_EQ(rope["shuffled_cost"].size(), 2u);
  EXPECT_EQ(rope["shuffled_cost"][1]["coords"]["kept"], 8);
  EXPECT_EQ(rope["band_cost"].size(), 2u);
  EXPECT_EQ(rope["position_r2"].size(), 3u) << "embedding and two layers";
  EXPECT_EQ(rope["attention_sink"].size(), 2u * 2);
  EXPECT_FALSE(found["none"].contains("band_cost"));
  EXPECT_EQ(found["none"]["zeroed_cost"].at(0)["value"], 0.0);
  EXPECT_EQ(found["rope => none"]["zeroed_cost"].at(0)["value"], 0.0) << "what is swapped in";
  EXPECT_FALSE(found.contains("explodes")) << "it diverged";

  const fs::path folder = run_folder();
  std::set<std::string> files;
  for (const auto& item : fs::directory_iterator(folder / "attention")) {
    files.insert(item.path().filename().string().substr(0, 19));
    const SafetensorsReader maps(item.path());
    ASSERT_EQ(maps.tensors().size(), 2u);
    const std::vector<double> p = maps.read("layers.1.heads.1", {16, 16});
    for (std::size_t i = 0; i < 16; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 16; ++j) sum += p[i * 16 + j];
      EXPECT_NEAR(sum, 1, 1e-6);
    }
  }
  EXPECT_EQ(files, (std::set<std::string>{"none_toylag_micro_s", "rope_toylag_micro_s",
                                          "rope-none_toylag_mi"}));
  const std::string report = slurp(folder / "details.md");
  for (const char* text :
       {"### Probes", "**Without the encoding**", "**Shuffled**", "8 kept", "Bands of frequencies",
        "wavelengths", "tables/probes_toylag.csv", "layer 1"})
    EXPECT_NE(report.find(text), std::string::npos) << text;
  if (fs::exists("/usr/bin/gnuplot")) {
    EXPECT_NE(slurp(folder / "figures/attention_toylag_rope_16.svg").find("layer 1, head 1"),
              std::string::npos);
  }
  EXPECT_NE(pesuite({"run", suite(encodings, 20, probing), "--set", "train.log_every=1"})
                .err.find("nothing to do"),
            std::string::npos);
}

TEST_F(Probes, LookAtACheckpoint) {
  ASSERT_EQ(pesuite({"run", suite({"rope"}, 10), "--no-report"}).code, 0);
  const std::string cell = records()[0]["cell"];
  const std::string checkpoint = "results/store/nodes/" + cell.substr(0, 2) + "/" + cell + "/ckpt";
  const auto eval = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", checkpoint, "--lengths", "16", "--examples", "2"});
    return pesuite(more);
  };
  const Ended all = eval({"--probe", "zeroed,position, bands", "--bands", "1"});
  ASSERT_EQ(all.code, 0) << all.err;
  for (const char* text :
       {"zeroed_cost", "position_r2", "layer 2", "band_cost", "wavelength_lo 6.283"})
    EXPECT_NE(all.out.find(text), std::string::npos) << text << "\n" << all.out;
  const Ended maps = eval({"--probe", "maps", "--layers", "0", "--output", "looked"});
  ASSERT_EQ(maps.code, 0) << maps.err;
  EXPECT_TRUE(fs::exists(folder_ / "looked/attention_16_0.safetensors"));
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& what) {
    const Ended e = eval(flags);
    EXPECT_EQ(e.code, 2);
    EXPECT_NE(e.err.find(what), std::string::npos) << e.err;
  };
  refused({"--probe", "zero"}, "there is no probe 'zero'");
  refused({"--heads", "1"}, "--heads is a setting of --probe, which is not given");
  refused({"--probe", "maps", "--heads", "8"}, "there is no head 8");
  refused({"--probe", "maps", "--heads", "x"}, "--heads: 'x' is no whole number");
}

TEST_F(Probes, AnswersAreWrittenAndKept) {
  const fs::path s = suite({"rope", "alibi"}, 60, R"([[task]]
task = "copy"
train_len = 16
[[eval]]
task = "copy"
lengths = [16, 24]
examples = 6
[[eval]]
task = "copy"
lengths = [16, 24]
examples = 6
probes = ["generated", "predictions"]
)");
  const Ended e = pesuite({"run", s});
  ASSERT_EQ(e.code, 0) << e.err;
  std::map<std::string, double> exact;  // by encoding, length and metric
  int kept = 0;
  for (const Json& j : records()) {
    if (j["task"] != "copy" || !j["coords"].contains("eval_len")) continue;
    const std::string at = fmt::format("{} {}", j["encoding"]["id"].get<std::string>(),
                                       j["coords"]["eval_len"].dump());
    if (j["metric"] == "em" && !j["coords"].contains("bucket")) exact[at + " em"] = j["value"];
    if (j["metric"] == "generated_em") exact[at + " generated"] = j["value"];
    if (j["metric"] != "prediction") continue;
    ++kept;
    EXPECT_FALSE(j["coords"]["read"].get<std::string>().empty());
  }
  EXPECT_EQ(kept, 2 * 2 * 6);
  EXPECT_EQ(exact.size(), 10u) << "em at 16, 24 and, of the first entry, 32";
  for (const char* at : {"rope 16", "rope 24", "alibi 16", "alibi 24"})
    EXPECT_EQ(exact.at(std::string(at) + " em"), exact.at(std::string(at) + " generated")) << at;
  const std::string page = slurp(run_folder() / "report.html");
  for (const char* text :
       {"<h3>Predictions</h3>", "Written by the model", "<th scope=\"col\">wanted</th>"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_NE(slurp(run_folder() / "tables/predictions_copy.csv").find("rope,1,16,0,"),
            std::string::npos);
}

TEST_F(Probes, WhatCannotBeProbedIsRefusedAtPlanning) {
  const auto refusal = [&](const std::string& eval) {
    const Ended e = pesuite({"plan", suite({"rope"}, 10, "[[eval]]\nlengths = [16]\n" + eval)});
    EXPECT_EQ(e.code, 2) << e.out;
    return e.err.substr(e.err.find("s.toml"));
  };
  EXPECT_EQ(refusal("probes = ['zero']")
                .find("s.toml:25:1: 'eval.1.probes' holds 'zero': there is "
                      "no probe 'zero'; known are attention, zeroed, "),
            0u);
  EXPECT_EQ(refusal("probes = ['offset']\noffsets = ['2x']"),
            "s.toml:25:1: probe 'offset': no length moved by 2x ends within 32 tokens, the longest "
            "of the suite; choose shorter 'lengths' or smaller 'offsets'\n");
  EXPECT_EQ(refusal("probes = ['maps']\nlayers = [2]"),
            "s.toml:25:1: there is no layer 2: the model has 2 of them, 0 to 1\n");
  EXPECT_EQ(
      refusal("probes = ['generated']"),
      "s.toml:25:1: probe 'generated': the task is a corpus, which has no answers; it wants a "
      "problem that is answered in tokens, such as passkey or niah (name it as 'task' of "
      "this entry)\n");
  EXPECT_EQ(refusal("bands = 2"),
            "s.toml:25:1: 'eval.1.bands' is a setting of 'probes', which this entry does not "
            "have\n");
}

// Jensen-Shannon divergence in bits of one row of two maps.
double divergence(std::span<const double> p, std::span<const double> q) {
  const auto entropy = [](double x) { return x > 0 ? -x * std::log2(x) : 0; };
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    out += entropy((p[i] + q[i]) / 2) - (entropy(p[i]) + entropy(q[i])) / 2;
  return out;
}

TEST_F(Probes, ReportsHowAlikeAttentionLooks) {
  const fs::path s = suite({"rope", "alibi"}, 20, "[[eval]]\nlengths = [16]\nprobes = \"maps\"\n");
  ASSERT_EQ(pesuite({"run", s}).code, 0);
  const fs::path run = run_folder();
  std::vector<std::unique_ptr<SafetensorsReader>> files;
  for (const char* name : {"rope", "alibi"})
    for (const auto& item : fs::directory_iterator(run / "attention"))
      if (item.path().filename().string().starts_with(name))
        files.push_back(std::make_unique<SafetensorsReader>(item.path()));
  ASSERT_EQ(files.size(), 2u);
  const auto heads = Json::parse(files[0]->metadata().at("heads")).get<std::vector<int>>();
  const auto layers = Json::parse(files[0]->metadata().at("layers")).get<std::vector<int>>();
  const std::vector<std::string> lines = split(slurp(run / "tables/attention_toylag.csv"), '\n');
  ASSERT_EQ(lines.size(), layers.size() + 2) << "a heading, a line a layer";
  for (const int layer : layers) {
    double least = 1;
    for (const int a : heads)
      for (const int b : heads) {
        const auto p = files[0]->read(fmt::format("layers.{}.heads.{}", layer, a), {16, 16}),
                   q = files[1]->read(fmt::format("layers.{}.heads.{}", layer, b), {16, 16});
        double mean = 0;
        for (std::size_t i = 8; i < 16; ++i)
          mean +=
              divergence(std::span(p).subspan(16 * i, 16), std::span(q).subspan(16 * i, 16)) / 8;
        least = std::min(least, mean);
      }
    const auto cells = split(lines[static_cast<std::size_t>(layer) + 1], ',');
    EXPECT_EQ(cells[0] + cells[1], "ropealibi");
    EXPECT_NEAR(std::stod(cells[5]), least, 1e-9);
  }
  EXPECT_NE(slurp(run / "details.md").find("How alike attention looks at 16 tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace pesuite::testing
