// Records and verdicts in formats of other programs.
#include "exports/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "exports/curves.h"
#include "history/database.h"
#include "tests/scratch.h"

namespace pesuite::testing {
namespace {

using ::testing::HasSubstr;

Json record_of(const std::string& metric, int seed, double value) {
  return {{"schema", "pesuite.record/1"},
          {"suite", "s"},
          {"cell", fmt::format("c{}", seed)},
          {"part", "eval-12345678"},
          {"series", "f0"},
          {"encoding", {{"id", "a, \"b\""}, {"expr", "a"}, {"plugins", Json::array()}}},
          {"model", "m"},
          {"task", "t<1>"},
          {"seed", seed},
          {"metric", metric},
          {"unit", "nats/token"},
          {"direction", metric == "acc" ? "higher" : "lower"},
          {"split", "ood"},
          {"value", value},
          {"status", "ok"},
          {"step", 10},
          {"wall_s", 1.5},
          {"coords", {{"train_len", 16}, {"eval_len", 32}, {"protocol", "last(4)"}}}};
}
Json failed(int seed) {
  Json j = record_of("cell", seed, 0);
  j.update({{"value", nullptr},
            {"status", "crash"},
            {"direction", "none"},
            {"part", "failure"},
            {"reason", "died by SIGSEGV & more"}});
  return j;
}
std::vector<ExportedRun> runs_of(std::vector<Json> records) {
  return {{"run1", std::move(records)}};
}

TEST(Exports, CsvHasEveryField) {
  const std::string csv = records_csv(runs_of({record_of("nll", 1, 2.5), failed(2)}));
  const std::vector<std::string> lines = split(csv, '\n');
  ASSERT_GE(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("encoding.id"));
  EXPECT_THAT(lines[0], HasSubstr("coords.protocol"));
  EXPECT_THAT(lines[0], HasSubstr("reason"));
  EXPECT_THAT(lines[1], HasSubstr("\"a, \"\"b\"\"\""));
  EXPECT_THAT(lines[1], HasSubstr(",2.5,"));
}

TEST(Exports, SqliteHasTheSameWithTypes) {
  if (!databases_are_built_in()) GTEST_SKIP() << "built without SQLite";
  const Scratch folder;
  records_sqlite(runs_of({record_of("nll", 1, 2.5), record_of("nll", 2, 3.5), failed(3)}),
                 folder / "r.sqlite");
  Database db(folder / "r.sqlite", Database::Open::read);
  Database::Statement s(db,
                        "SELECT avg(value), count(*), count(value), max(\"coords.eval_len\"), "
                        "typeof(seed) FROM records");
  ASSERT_TRUE(s.next());
  EXPECT_DOUBLE_EQ(s.real(0), 3.0);
  EXPECT_EQ(s.integer(1), 3);
  EXPECT_EQ(s.integer(2), 2);
  EXPECT_EQ(s.integer(3), 32);
  EXPECT_EQ(s.text(4), "integer");
  EXPECT_THROW(records_sqlite({}, folder / "r.sqlite"), Error);
}

TEST(Exports, MeansHaveIntervals) {
  const auto runs = runs_of({record_of("nll", 1, 2), record_of("nll", 2, 3), record_of("nll", 3, 4),
                             record_of("acc", 1, 0.5), failed(4)});
  const Json bmf = Json::parse(bencher_json(runs));
  ASSERT_EQ(bmf.size(), 1u);
  const Json& b = bmf.begin().value();
  EXPECT_THAT(bmf.begin().key(), HasSubstr("at 32, last(4)"));
  EXPECT_DOUBLE_EQ(b["nll"]["value"], 3);
  EXPECT_NEAR(b["nll"]["upper_value"].get<double>(), 3 + 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_DOUBLE_EQ(b["acc"]["lower_value"], 0.5);
  const Json lower = Json::parse(action_benchmark_json(runs, "lower"));
  ASSERT_EQ(lower.size(), 1u);
  EXPECT_EQ(lower[0]["unit"], "nats/token");
  EXPECT_EQ(lower[0]["range"], "± 2.48");
  EXPECT_EQ(Json::parse(action_benchmark_json(runs, "higher")).size(), 1u);
}

Verdicts some_verdicts(const Scratch& folder) {
  write_file_atomic(folder / "v.json", R"json({"schema": "pesuite.comparison/1", "before": "main",
   "after": "pull|1", "verdict": "regressed", "sentence": "regressed: 1 regressed, 1 equivalent",
   "series": [
    {"encoding": "a", "task": "t", "model": "m", "train_len": 16, "metric": "nll", "eval_len": 32,
     "protocol": "last(4)", "verdict": "regressed", "gated": true, "seeds": [1, 2, 3],
     "difference": 0.05, "low": 0.03, "high": 0.07, "p": 0.001},
    {"encoding": "b", "task": "t", "model": "m", "metric": "nll", "eval_len": 32,
     "verdict": "inconclusive", "gated": true, "seeds": [1, 2, 3], "difference": 0.01, "low": null,
     "high": null, "p": null, "seeds_needed": 7, "why": "a | b"},
    {"encoding": "c", "task": "t", "model": "m", "metric": "nll", "eval_len": 32,
     "verdict": "equivalent", "gated": true, "seeds": [1, 2, 3], "difference": 0.0, "low": -0.001,
     "high": 0.001, "p": 0.9},
    {"encoding": "d", "task": "t", "model": "m", "metric": "nll", "eval_len": 32,
     "verdict": "regressed", "gated": true, "suppressed": "by x until 2027", "seeds": 3}],
   "cells": [{"encoding": "a", "task": "t", "model": "m", "seed": 2, "before": "ok",
     "after": "crash", "reason": "died <&>", "worse": true}], "notes": ["a note"]})json");
  return read_verdicts(folder / "v.json");
}

// What MLPerf's checker asks of any benchmark: one submission, initialised before the run, blocks
// and validations that open and close in turn, a status at the end.
TEST(Exports, MlperfLogsAreCoursesOfTraining) {
  std::vector<Json> records;
  const auto trained = [&](const std::string& split, const std::string& metric, int step,
                           double value, double wall) {
    Json r = record_of(metric, 1, value);
    r.update({{"part", "train"}, {"split", split}, {"step", step}, {"wall_s", wall}});
    r["ts"] = "2026-11-26T10:00:00Z";
    records.push_back(std::move(r));
  };
  trained("train", "nll", 5, 2.0, 1.0), trained("val", "nll", 10, 1.5, 2.0);
  trained("val", "acc", 10, 0.25, 2.0);
  trained("train", "nll", 15, 1.2, 3.0), trained("val", "nll", 20, 1.0, 4.0);
  records.push_back(record_of("nll", 1, 3.0));
  records.push_back(failed(2));
  std::vector<ExportedRun> runs = runs_of(records);
  runs[0].configs["c1"] = {{"train", {{"batch", 8}, {"steps", 20}, {"train_len", 16}}}};
  const Scratch folder;
  ASSERT_EQ(write_mlperf(runs, folder / "logs"), 2u);
  std::string keys, status;
  std::int64_t time = 0, begin = 0, length = 0;
  const fs::path series = folder / "logs/run1" / file_name_of("a, \"b\"_t<1>_m");
  for (const std::string& line : split(trim(read_file(series / "result_0.txt")), '\n')) {
    ASSERT_TRUE(line.starts_with(":::MLLOG ")) << line;
    const Json event = Json::parse(line.substr(9));
    EXPECT_GE(event["time_ms"], time);
    time = event["time_ms"];
    const std::string key = event["key"];
    if (key.starts_with("submission") || key.starts_with("opt_")) continue;
    keys += key;
    if (event["metadata"].contains("samples_count"))
      keys += fmt::format("({})", event["metadata"]["samples_count"].get<int>());
    keys += ' ';
    if (key == "run_start") begin = time;
    if (key == "run_stop") status = event["metadata"]["status"];
    if (key == "eval_length") length = event["metadata"]["eval_len"];
  }
  EXPECT_EQ(begin, 1795687196000);
  EXPECT_EQ(status, "success");
  EXPECT_EQ(length, 32);
  EXPECT_EQ(keys,
            "cache_clear init_start seed global_batch_size max_sequence_length max_steps "
            "train_samples init_stop run_start block_start(0) train_loss(40) block_stop(80) "
            "eval_start(80) eval_accuracy(80) eval_stop(80) eval_acc(80) block_start(80) "
            "train_loss(120) block_stop(160) eval_start(160) eval_accuracy(160) eval_stop(160) "
            "run_stop(160) eval_length ");
  EXPECT_THAT(read_file(series / "result_1.txt"), HasSubstr("\"status\":\"aborted\""));
}

TEST(Exports, JunitFailsWhatFailed) {
  const Scratch folder;
  const Verdicts v = some_verdicts(folder);
  const std::string xml = junit_xml(runs_of({record_of("nll", 1, 2), failed(2)}), &v);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"run1\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("crash: died by SIGSEGV &amp; more"));
  EXPECT_THAT(xml, HasSubstr("classname=\"s.t&lt;1&gt;\""));
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("regressed, difference +0.05 (0.03 to 0.07), p 0.001, 3 seeds"));
  EXPECT_THAT(xml, HasSubstr("7 seeds would decide"));
}

TEST(Exports, CommentsSayTheImportantFirst) {
  const Scratch folder;
  const std::string c = comment_markdown(some_verdicts(folder));
  EXPECT_TRUE(c.starts_with("<!-- pesuite -->\n### regressed: 1 regressed"));
  EXPECT_LT(c.find("**regressed** | t · a · m · nll at 32, last(4)"), c.find("inconclusive |"));
  EXPECT_THAT(c, HasSubstr("a \\| b; 7 seeds would decide"));
  EXPECT_THAT(c, HasSubstr("1 series did not change"));
  EXPECT_THAT(c, HasSubstr("suppressed: by x until 2027"));
  EXPECT_THAT(c, HasSubstr("**new failure**: t · a · m · s2: was ok and is crash"));
  Verdicts many = some_verdicts(folder);
  many.series.resize(5000, many.series[0]);
  EXPECT_LT(comment_markdown(many).size(), 65'536u);
  EXPECT_THAT(comment_markdown(many), HasSubstr("more, which the report has"));
}

TEST(Exports, VerdictsThatAreNoneAreRefused) {
  const Scratch folder;
  for (const char* text : {"", "[]", "{}", R"({"schema": "pesuite.comparison/1"})",
                           R"({"schema": "pesuite.comparison/1", "series": [{"verdict": 3}]})"}) {
    write_file_atomic(folder / "v.json", text);
    EXPECT_THROW(read_verdicts(folder / "v.json"), Error) << text;
  }
}

std::vector<Json> training(double shift, const std::vector<int>& seeds, double scatter = 0) {
  std::vector<Json> out;
  for (const int seed : seeds)
    for (int step = 10; step <= 100; step += 10) {
      Json j = record_of("nll", seed, 0);
      j["part"] = "train", j["split"] = "train", j["step"] = step;
      j["value"] = 5.0 / step + 0.01 * seed + shift + scatter * (seed % 2 == 0 ? 1 : -1);
      out.push_back(j);
    }
  return out;
}

TEST(Curves, AreHeldToThoseOfBefore) {
  const Scratch folder;
  const std::vector<Curve> reference = curves_of(training(0, {1, 2, 3, 4, 5}));
  ASSERT_EQ(reference.size(), 1u);
  EXPECT_EQ(reference[0].steps.size(), 10u);
  write_file_atomic(folder / "c.json", to_json(reference).dump());
  const std::vector<Curve> read = read_curves(folder / "c.json");
  using Kind = CurveVerdict::Kind;
  const auto verdict = [&](double shift, double scatter, std::vector<int> seeds) {
    return compare_curves(read, curves_of(training(shift, seeds, scatter)), 0.01).at(0).kind;
  };
  EXPECT_EQ(verdict(0, 0, {1, 2, 3, 4, 5}), Kind::identical);
  EXPECT_EQ(verdict(0.001, 0.001, {1, 2, 3, 4, 5}), Kind::equivalent);
  EXPECT_EQ(verdict(0.05, 0.001, {1, 2, 3, 4, 5}), Kind::slower);
  EXPECT_EQ(verdict(-0.05, 0.001, {1, 2, 3, 4, 5}), Kind::faster);
  EXPECT_EQ(verdict(0.05, 0.001, {1, 2}), Kind::inconclusive);
  EXPECT_EQ(verdict(0.01, 0.02, {1, 2, 3, 4, 5}), Kind::inconclusive);
  EXPECT_EQ(compare_curves(read, {}, 0.01).at(0).kind, Kind::missing);
  write_file_atomic(folder / "c.json", "{\"schema\": \"pesuite.curves/1\", \"curves\": [{}]}");
  EXPECT_THROW(read_curves(folder / "c.json"), Error);
}

}  // namespace
}  // namespace pesuite::testing
