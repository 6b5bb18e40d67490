// `pesuite bench` as a user and as a script meet it.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "analysis/against.h"
#include "backend/backend.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/timing.h"
#include "tests/cli/command.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr, ::testing::Not;

class Bench : public ::testing::Test {
 protected:
  Ended bench(std::vector<std::string> words, const char* repetitions = "2") {
    words.insert(words.begin(), "bench");
    for (const char* w : {"--repetitions", repetitions, "--window", "0.001", "--threads", "1"})
      words.emplace_back(w);
    return Command(folder_, std::move(words)).wait();
  }
  // Names of what was timed.
  static std::set<std::string> names(const Json& j) {
    std::set<std::string> out;
    for (const Json& b : j.at("benchmarks")) out.insert(b.at("run_name").get<std::string>());
    return out;
  }
  const Scratch folder_;
};

// Products of a decoder are known from its sizes, so the model of a step is too.
TEST_F(Bench, ModelsAStepOnADeviceThatIsNotThere) {
  const Ended e = bench({"model", "--device", "h100", "--config",
                         "A(width=64, layers=3, heads=4, ff_width=128, vocabulary=512, batch=4)",
                         "--encoding", "none,alibi", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const Json j = Json::parse(e.out);
  EXPECT_EQ(j["context"]["peak_flops_per_second"], 989e12);
  std::map<std::string, double> seconds;
  for (const Json& b : j["benchmarks"])
    if (b["run_type"] == "aggregate" && b["aggregate_name"] == "median")
      seconds[b["run_name"]] = 1e-9 * b["real_time"].get<double>();
  const std::string step =
      "model/h100/A(width=64, layers=3, heads=4, ff_width=128, "
      "vocabulary=512, batch=4)/none";
  double sum = 0;
  for (const auto& [name, value] : seconds)
    if (name.starts_with(step + "/")) sum += value;
  EXPECT_NEAR(sum, seconds.at(step), 1e-12);
  EXPECT_NEAR(seconds.at(step + "/linear"), 12 * 4e-6, 1e-12);  // four a layer, bound by starts

  const Ended large = bench({"model", "--device", "a100", "--dtype", "fp32", "--config",
                             "C(width=1024, heads=16, layers=2, ff_width=4096, length=1024)"});
  ASSERT_EQ(large.code, 0) << large.err;
  // q, k, v and out, gate and up, down: 2 * 8192 tokens * 1024 * (4 * 1024 + 3 * 4096) a layer
  EXPECT_NE(large.out.find(" 550 "), std::string::npos) << large.out;
  EXPECT_NE(large.out.find("products"), std::string::npos) << large.out;

  const Ended unknown = bench({"model", "--device", "h10"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'h100'"), std::string::npos) << unknown.err;
}

TEST_F(Bench, WritesTheFormatOfGoogleBenchmark) {
  const Ended e =
      bench({"train", "--config", "A", "--encoding", "none,rope(base=500, layout=half)", "--json"});
  ASSERT_EQ(e.code, 0) << e.err;
  const Json j = Json::parse(e.out);
  EXPECT_EQ(names(j), (std::set<std::string>{"product", "train/A/none",
                                             "train/A/rope(base=500, layout=half)"}));
  for (const char* key : {"date", "executable", "threads", "peak_memory", "peak_flops_per_second"})
    EXPECT_TRUE(j["context"].contains(key)) << key;
  std::map<std::string, int> kinds;
  for (const Json& b : j["benchmarks"]) {
    ++kinds[b["run_type"]];
    EXPECT_GT(b["real_time"], 0);
    EXPECT_GT(b["cpu_time"], 0);
    EXPECT_EQ(b["time_unit"], "ns");
    if (b["run_name"] != "product") {
      EXPECT_NEAR(b["tokens_per_second"].get<double>() * b["real_time"].get<double>() * 1e-9, 4096,
                  1e-6);
    }
  }
  EXPECT_EQ(kinds["iteration"], 3 * 2);
  EXPECT_EQ(kinds["aggregate"], 3 * 3);
}

TEST_F(Bench, EveryKindRuns) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"eval", "--config", "A", "--lengths", "64,128"},
        {"attention", "--lengths", "128"},
        {"overhead", "--config", "micro", "--lengths", "64", "--encoding",
         "rope + alibi,layers[rope, none]"},
        {"train", "--config", "micro(width=32, batch=2)"},
        {"profile", "--config", "micro", "--encoding", "alibi"}}) {
    const Ended e = bench(words);
    EXPECT_EQ(e.code, 0) << words[0] << ": " << e.err;
    EXPECT_NE(e.out.find("1 thread"), std::string::npos) << e.out;
  }
}

TEST_F(Bench, MistakesAreSentences) {
  EXPECT_NE(bench({"trian"}).err.find("did you mean 'train'?"), std::string::npos);
  EXPECT_NE(bench({"train", "--config", "D"}).err.find("no model 'D'; known are A, B, C, G, micro"),
            std::string::npos);
  EXPECT_NE(bench({"train", "--config", "B(wdth=64)"}).err.find("did you mean 'width'?"),
            std::string::npos);
  EXPECT_NE(bench({"train", "--config", "B(width=x)"}).err.find("wants a count, not 'x'"),
            std::string::npos);
  EXPECT_NE(bench({"train", "--dtype", "fp8"}).err.find("known are fp32, bf16 and fp16"),
            std::string::npos);
  EXPECT_NE(bench({"attention", "--slots", "dist"}).err.find("no slot 'dist'"), std::string::npos);
  EXPECT_NE(bench({"eval", "--lengths", "x"}).err.find("'x' is no length"), std::string::npos);
  EXPECT_EQ(bench({"train", "--encoding", "nope"}).code, 4);
  EXPECT_NE(
      bench({"train", "--encoding", "rope => yarn(scale=4)"}).err.find("such as 'yarn(scale=4)'"),
      std::string::npos);
}

TEST_F(Bench, AnotherBuildIsTimedInTurn) {
  const std::vector<std::string> words = {
      "train", "--config", "micro(width=32, batch=2)", "--against", PESUITE_TEST_PROGRAM, "--json"};
  const Ended e = bench(words);
  EXPECT_EQ(e.code, 0) << e.err;
  const Json j = Json::parse(e.out);
  ASSERT_EQ(j["benchmarks"].size(), 1u);
  EXPECT_EQ(j["benchmarks"][0]["name"], "train/micro(width=32, batch=2)/none");
  EXPECT_TRUE(j["benchmarks"][0]["low"].is_null()) << "two windows have no interval";
  EXPECT_NEAR(j["memory"].get<double>(), 1, 0.2);
  EXPECT_NE(bench({"train", "--against", "/etc/passwd"}).err.find("is no program"),
            std::string::npos);
  EXPECT_NE(bench({"train", "--config", "micro(width=32, batch=2)", "--against", "/bin/false"})
                .err.find("ended with exit code 1"),
            std::string::npos);
  EXPECT_EQ(bench({"train", "--config", "micro(width=32, batch=2)", "--against", "/bin/true"}).code,
            5)
      << "prints no JSON";
}
Windows windows_of(double factor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> noise(0, 0.02);
  Windows w;
  for (int i = 0; i < 9; ++i) {
    w.seconds["a"].push_back(factor * noise(random));
    w.memory.push_back(1);
  }
  return w;
}
TEST(AgainstOld, TellsWhatIsSlowerByMoreThanTheMargin) {
  const auto verdict = [](double factor, std::uint64_t seed) {
    return against_old(windows_of(factor, seed), windows_of(1, seed + 1000), 0.05).at(0).verdict;
  };
  EXPECT_EQ(verdict(1.2, 1), Speed::slower);
  EXPECT_EQ(verdict(0.8, 1), Speed::faster);
  int alarms = 0, alike = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    alarms += verdict(1.05, seed) == Speed::slower ? 1 : 0;
    alike += verdict(1, seed) == Speed::alike ? 1 : 0;
  }
  EXPECT_LE(alarms, 20) << "at the margin itself, of 400";
  EXPECT_GE(alike, 320);
}
TEST(AgainstOld, ReadsOnlyWhatItsKindPrints) {
  Windows w;
  EXPECT_THROW(w.add(Json::parse("{}"), "old"), Error);
}

TEST(Timing, QuartilesInterpolate) {
  const bench::Quartiles q = bench::quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(q.low, 1.75);
  EXPECT_DOUBLE_EQ(q.median, 2.5);
  EXPECT_DOUBLE_EQ(q.high, 3.25);
}

// n = 9: two or more of nine below the median, and above it, in 96 % of all repetitions.
TEST(Timing, TheMedianLiesBetweenTwoOfTheValues) {
  EXPECT_EQ(bench::median_interval({9, 1, 8, 2, 7, 3, 6, 4, 5}), std::pair(2.0, 8.0));
  EXPECT_EQ(bench::median_interval({1, 2, 3, 4, 5, 6}), std::pair(1.0, 6.0));
  EXPECT_TRUE(std::isnan(bench::median_interval({1, 2, 3, 4, 5}).first));
  std::mt19937_64 random(1);
  int covered = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> values(20);
    for (double& v : values) v = std::lognormal_distribution<double>(0, 1)(random);
    const auto [low, high] = bench::median_interval(values);
    covered += low <= 1 && 1 <= high ? 1 : 0;
  }
  EXPECT_GT(covered, 3800);
  EXPECT_LT(covered, 3900) << "no wider than it has to be";
}

TEST_F(Bench, OverheadIsDrawnByLength) {
  const Ended e = bench({"overhead", "--config", "micro", "--lengths", "32,64", "--encoding",
                         "alibi,rope", "--figures", "drawn"},
                        "6");
  EXPECT_EQ(e.code, 0) << e.err;
  std::ifstream in(folder_ / "drawn/overhead.tsv");
  std::map<std::string, int> bars;
  for (std::string line; std::getline(in, line);) {
    const auto cells = split(line, '\t');
    if (cells.at(1) != "bar") continue;
    ++bars[cells[0] + " " + cells[2]];
    EXPECT_LE(std::stod(cells[6]), std::stod(cells[5]));
    EXPECT_GE(std::stod(cells[7]), std::stod(cells[5]));
  }
  EXPECT_EQ(bars, (std::map<std::string, int>{
                      {"alibi 32", 1}, {"alibi 64", 1}, {"rope 32", 1}, {"rope 64", 1}}));
  EXPECT_EQ(bench({"train", "--figures", "drawn"}).code, 2);
}

TEST(Timing, SubjectsTakeTurns) {
  std::string order;
  const std::vector<bench::Subject> subjects = {{"a", [&] { order += 'a'; }, 0, 0, {}},
                                                {"b", [&] { order += 'b'; }, 0, 0, {}}};
  bench::Plan plan;
  plan.repetitions = 3, plan.window = 0;
  const auto all = bench::interleave(subjects, plan);
  EXPECT_EQ(order, "aabbababab");
  EXPECT_EQ(all[1].seconds.size(), 3U);
}

TEST(Timing, DoubtsWhatIsFasterThanAProduct) {
  const auto timing = [](const char* name, double flops) {
    bench::Timing t;
    t.name = name, t.flops = flops, t.seconds = t.cpu_seconds = {1};
    return t;
  };
  const std::vector<bench::Timing> all = {timing("slow", 90), timing("noisy", 130),
                                          timing("idle", 540)};
  const std::string table = bench::timing_table(all, 100);
  EXPECT_THAT(table, HasSubstr("idle did 5.4 times the FLOP/s of a large product"));
  EXPECT_THAT(table, Not(HasSubstr("noisy did")));
  EXPECT_THAT(bench::timing_table(all, 0), Not(HasSubstr("did")));
}

TEST(Timing, BelievesTheClockOfWhatComputes) {
  int runs = 0;
  const std::vector<bench::Subject> subjects = {{"a", [&] { ++runs; }, 8, 0, {}}};
  bench::Plan plan;
  plan.repetitions = 2, plan.window = 10;
  plan.elapsed = [&](const std::function<void()>& body) {  // a device takes 2 s for each
    const int before = runs;
    body();
    return 2.0 * (runs - before);
  };
  const auto all = bench::interleave(subjects, plan);
  EXPECT_EQ(all[0].iterations, 5);
  EXPECT_EQ(all[0].seconds, (std::vector<double>{2, 2}));
  EXPECT_EQ(all[0].rate(), 4);
}

TEST(Timing, OfABackendCoversWhatIsAskedFor) {
  const auto backend = open_backend("cpu", {});
  const double seconds =
      backend->elapsed([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_GE(seconds, 0.02);
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace pesuite::testing
