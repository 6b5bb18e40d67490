// Reports from records alone: what tables say, what they never hide, figures that cannot be harmed.
#include "report/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <utility>

#include "analysis/numbers.h"
#include "base/error.h"
#include "cell/record.h"
#include "report/document.h"
#include "report/lines.h"
#include "report/renderer.h"
#include "report/renderers/latex.h"
#include "report/renderers/markdown.h"
#include "report/tables.h"
#include "report/terminal.h"
#include "tests/report/report_fixture.h"

namespace pesuite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Report, ShowsMeansAndExtremesOverSeedsBesideTheOptimum) {
  nats("a", 1, 64, std::log(6.0)), nats("a", 1, 128, std::log(12.0));
  nats("a", 2, 64, std::log(8.0)), nats("a", 2, 128, std::log(8.0));
  const std::string p = page();
  // Of perplexity, the mean is that of nats: sqrt(6 * 8).
  EXPECT_THAT(row(p, "Perplexity", "a"),
              ElementsAre("a", "6.93 [6.00, 8.00]", "9.80 [8.00, 12.00]"));
  EXPECT_THAT(row(p, "Perplexity", "*optimum*")[1], HasSubstr("4.48"));
  EXPECT_THAT(row(p, "Perplexity relative to the training length (64)", "a"),
              ElementsAre("a", "1.414 [1.000, 2.000]"));
  EXPECT_THAT(row(p, "Regret, nats per token", "a")[1], HasSubstr("0.4356"));
}

TEST(ReportFiles, AreOneForEachTaskWhateverItIsCalled) {
  RunData run;
  run.models = {"b_c", "c"};
  for (const auto& [task, model] :
       {std::pair{"a_b", "c"}, std::pair{"a", "b_c"}, std::pair{"accuracy_a", "c"}}) {
    TaskData t;
    t.task = task, t.model = model, t.train_length = 64;
    run.tasks.push_back(t);
  }
  const auto name = [&](std::size_t task, const std::string& kind) {
    return file_name(run, run.tasks[task], kind);
  };
  EXPECT_EQ(name(0, "cost"), "cost_a_b_c");
  EXPECT_EQ(name(1, "cost"), "cost_a_b_c_2");
  EXPECT_EQ(name(0, "cost"), "cost_a_b_c") << "asked again";
  run.tasks[0].task = "a";
  EXPECT_EQ(name(0, "learning_accuracy"), "learning_accuracy_a_c");
  EXPECT_EQ(name(2, "learning"), "learning_accuracy_a_c_2");
  EXPECT_NE(maps_name("e", "a_b", "m", 1, 64, "eval"), maps_name("e_a", "b", "m", 1, 64, "eval"));
  EXPECT_NE(maps_name("e", "lag", "m", 1, 64, "eval"), maps_name("e", "lag+", "m", 1, 64, "eval"));
}

TEST_F(Report, KeepsInfinitiesAndCountsLostSeeds) {
  for (const int seed : {1, 2, 3}) nats("good", seed, 64, 2), nats("good", seed, 128, 2);
  nats("inf", 1, 64, 2), nats("inf", 2, 64, 2), nats("inf", 3, 64, 2);
  nats("inf", 1, 128, 3), nats("inf", 2, 128, INFINITY), nats("inf", 3, 128, 3);
  nats("lost", 1, 64, 2), nats("lost", 1, 128, 2), nats("lost", 2, 64, 2), nats("lost", 2, 128, 2);
  failure("lost", 3, "crash", "crashed with SIGSEGV after step 300");
  const std::string p = page();
  EXPECT_EQ(row(p, "Perplexity", "inf")[2], "∞ [20.09, ∞]");
  EXPECT_THAT(p, HasSubstr("| lost (1 of 3 crash) |"));
  EXPECT_THAT(p, HasSubstr("crashed with SIGSEGV after step 300"));
  EXPECT_THAT(p, HasSubstr("9 cells: 8 done, 1 failed"));
  EXPECT_THAT(read_file(folder_ / "tables/length_corpus_non_overlapping.csv"), HasSubstr("inf"));
}

// The share of what a longer context offers is a number where it offers something: in most seeds.
TEST_F(Report, SpeaksOfUseOfContextWhereThereIsSome) {
  const auto told = [&](int seeds_that_gain) {
    lines_.clear();
    for (const int seed : {1, 2, 3})
      for (const int length : {64, 128}) {
        const Json at = {{"eval_len", length}, {"protocol", "sliding(16)"}};
        add(record("a", seed, "nll", 1.6, at));
        add(record("a", seed, "optimum", length > 64 && seed <= seeds_that_gain ? 1.4 : 1.5, at));
      }
    return page().find("Use of context") != std::string::npos;
  };
  EXPECT_FALSE(told(0));
  EXPECT_FALSE(told(1));
  EXPECT_TRUE(told(2));
  EXPECT_TRUE(told(3));
}

TEST_F(Report, SaysWhatIsAtChance) {
  task_ = "problem";
  for (const int seed : {1, 2}) {
    accuracy("learns", seed, 64, 1.0, 0.96, 1.0), accuracy("learns", seed, 128, 0.8, 0.71, 0.87);
    accuracy("never", seed, 64, 0.5, 0.4, 0.6), accuracy("never", seed, 128, 0.45, 0.36, 0.55);
  }
  const std::string p = page();
  EXPECT_THAT(p, HasSubstr("**Not learned at the training length** (wanted: accuracy of 95 % in 80 "
                           "% of the seeds): `never` (accuracy 50.0 %, at chance)."));
  EXPECT_THAT(p, HasSubstr("at chance"));
  const std::string said = write_report(folder_).screen;
  EXPECT_THAT(said, HasSubstr("50.0 [50.0, 50.0] ~"));
  EXPECT_THAT(said, Not(HasSubstr("80.0 [80.0, 80.0] ~")));
  EXPECT_THAT(said, HasSubstr("\nchance  "));
}

// A mean above the criterion is not learned where too few seeds reach it: the sentence says both.
TEST_F(Report, SaysHowManySeedsLearned) {
  task_ = "problem";
  for (const int seed : {1, 2, 3}) {
    accuracy("all", seed, 64, 1.0, 0.96, 1.0), accuracy("all", seed, 128, 0.9, 0.85, 0.95);
    const double at_start = seed == 3 ? 0.9 : 1;
    accuracy("most", seed, 64, at_start, at_start - 0.02, at_start);
    accuracy("most", seed, 128, 0.8, 0.71, 0.87);
  }
  EXPECT_THAT(page(), HasSubstr("(wanted: accuracy of 95 % in 80 % of the seeds): `most` (accuracy "
                                "96.7 %, learned in 2 of 3 seeds)."));
}

// Of a run that went on, the first report may have had what the last has not.
TEST_F(Report, RemovesWhatOnlyAnEarlierOneHad) {
  for (const int seed : {1, 2})
    for (const char* e : {"a", "b"}) nats(e, seed, 64, 2), nats(e, seed, 128, 3);
  const std::string ended = std::exchange(lines_, "");
  task_ = "other";
  for (const int length : {64, 128}) nats("a", 1, length, 2);
  page();
  const fs::path table = folder_ / "tables/length_other_non_overlapping.csv";
  ASSERT_TRUE(fs::exists(table));
  std::size_t figures = 0;
  for (const auto& file : fs::directory_iterator(folder_ / "figures"))
    figures += file.path().filename().string().find("other") != std::string::npos ? 1 : 0;
  ASSERT_GT(figures, 0u);
  for (const char* own : {"figures/mine.svg", "figures/mine.tsv", "tables/mine.csv"})
    write_file_atomic(folder_ / own, "mine");

  lines_ = ended;
  page();
  EXPECT_TRUE(fs::exists(folder_ / "tables/length_corpus_non_overlapping.csv"));
  for (const char* folder : {"figures", "tables"})
    for (const auto& file : fs::directory_iterator(folder_ / folder))
      EXPECT_THAT(file.path().filename().string(), Not(HasSubstr("other")));
  for (const char* own : {"figures/mine.svg", "figures/mine.tsv", "tables/mine.csv"})
    EXPECT_EQ(read_file(folder_ / own), "mine");
}

// The families of tasks stand in the plan; where no plan does, a task is its own.
TEST_F(Report, AveragesRanksOverTheFamiliesOfThePlan) {
  Json cells = Json::array();
  for (const char* task : {"copy", "reverse", "addition"}) {
    task_ = task;
    for (const int seed : {1, 2, 3})
      for (const char* e : {"a", "b"}) {
        accuracy(e, seed, 64, 1, 0.97, 1);
        const double x = (*e == 'a') == (task_ != "addition") ? 0.9 : 0.7;
        accuracy(e, seed, 128, x, x - 0.05, x + 0.05);
        cells.push_back({{"encoding", e},
                         {"task", task},
                         {"family", task_ == "addition" ? "arithmetic" : "algorithmic"},
                         {"model", "nano"},
                         {"seed", seed},
                         {"config", {{"train", {{"train_len", 64}}}}},
                         {"evals", Json::array()}});
      }
  }
  EXPECT_THAT(page(), HasSubstr("| a | 1.33 | 1.33 |"));
  write_file_atomic(folder_ / "plan.json", Json{{"cells", cells}}.dump());
  EXPECT_THAT(page(), HasSubstr("| a | 1.33 | 1.50 |"));
}

TEST_F(Report, ShowsErrorsByDistance) {
  task_ = "memory";
  const auto errors = [&](int seed, double near, double far) {
    for (const int length : {64, 128}) {
      accuracy("a", seed, length, (near + far) / 2, 0.1, 0.9);
      const auto at = [&](double value, Json coords) {
        coords.update({{"eval_len", length}, {"bucket", "recall"}});
        add(record("a", seed, "acc", value, coords));
      };
      at((near + far) / 2, Json::object());
      at(near, {{"dist_lo", 2}, {"dist_hi", 4}});
      at(near, {{"dist_lo", 4}, {"dist_hi", 8}});
      at(far, {{"dist_lo", 8}, {"dist_hi", 16}});
      // of one seed alone, and of few targets: no mean of an encoding
      if (seed == 1) at(0, {{"dist_lo", 16}, {"dist_hi", 32}});
      Json few =
          record("a", seed, "acc", 0,
                 {{"eval_len", length}, {"bucket", "recall"}, {"dist_lo", 32}, {"dist_hi", 64}});
      few["count"] = 9;  // 18 of both
      add(few);
    }
  };
  errors(1, 1, 0.5), errors(2, 0.98, 0.25);
  const std::string p = page();
  EXPECT_THAT(row(p, "What must be recalled: error by distance", "128 (2x)"),
              ElementsAre("128 (2x)", "a", "31.75 [25.00, 38.50]", "1.00", "1.00", "62.50"));
  EXPECT_THAT(p, HasSubstr("| setting | encoding | all | 2–3 | 4–7 | 8–15 |\n"));
  EXPECT_THAT(p, HasSubstr("](figures/recall_memory.svg)"));
  EXPECT_THAT(read_file(folder_ / "tables/recall_memory.csv"),
              AllOf(HasSubstr("a,memory,nano,64,,128,128 (2x),acc,8,16,2,0.25,"),
                    HasSubstr("a,memory,nano,64,,128,128 (2x),acc,32,64,2,0,9\n")));
  const auto judged = write_report(folder_, {{"acc(a, 2x, recall) < 70%"}, {"svg"}}).verdicts;
  EXPECT_THAT(judged.dump(), Not(HasSubstr("not recorded")));
}

// The suite has the names and the plan the values, also where an evaluation is for every task.
TEST_F(Report, NamesAxisValuesAsTheSuiteDoes) {
  task_ = "sum";
  add(record("a", 1, "acc", 0.5, {{"eval_len", 64}, {"operands", 1}}));
  write_file_atomic(folder_ / "suite.resolved.toml",
                    "[[eval]]\nlengths = [64]\naxes = {operands = ['full']}\n");
  const Json cell = {{"encoding", "a"},
                     {"task", "sum"},
                     {"model", "nano"},
                     {"seed", 1},
                     {"config", {{"train", {{"train_len", 64}}}}},
                     {"evals", {{{"eval_len", 64}, {"axes", {{"operands", {1}}}}}}}};
  write_file_atomic(folder_ / "plan.json", Json{{"cells", {cell}}}.dump());
  EXPECT_THAT(page(), HasSubstr("| 64 (1x), operands full | in range | a |"));
}

// A plan sorts what stands before an example; the suite's order is its own.
TEST_F(Report, NamesFillsByTheirLengthAndNotByTheirOrder) {
  task_ = "sum";
  add(record("a", 1, "acc", 0.5, {{"eval_len", 64}, {"fill", 64}}));
  add(record("a", 1, "acc", 0.5, {{"eval_len", 64}, {"fill", 192}}));
  write_file_atomic(folder_ / "suite.resolved.toml",
                    "[[eval]]\nlengths = [64]\naxes = {fill = ['3x', '1x']}\n");
  const Json cell = {{"encoding", "a"},
                     {"task", "sum"},
                     {"model", "nano"},
                     {"seed", 1},
                     {"config", {{"train", {{"train_len", 64}}}}},
                     {"evals", {{{"eval_len", 64}, {"axes", {{"fill", {64, 192}}}}}}}};
  write_file_atomic(folder_ / "plan.json", Json{{"cells", {cell}}}.dump());
  const TaskData t = read_run(written()).tasks[0];
  EXPECT_EQ(t.label("fill", 64), "1x");
  EXPECT_EQ(t.label("fill", 192), "3x");
}

TEST_F(Report, WeighsTasksAsTheSuiteSays) {
  for (const auto& [task, in, beyond] : {std::tuple{"copy", 1.0, 0.5}, {"sort", 0.8, 0.1}}) {
    task_ = task;
    for (const int seed : {1, 2}) {
      accuracy("a", seed, 64, in, 0, 1), accuracy("a", seed, 128, beyond, 0, 1);
      for (const int length : {64, 128})  // whole examples count, where they are scored
        if (task_ == "sort")
          add(record("a", seed, "em", length == 64 ? 0.6 : 0.1 * seed, {{"eval_len", length}}));
    }
  }
  EXPECT_THAT(page(), Not(HasSubstr("Weighted score")));
  write_file_atomic(folder_ / "suite.resolved.toml",
                    "name = 't'\n[[task]]\ntask = 'copy'\nweight = 3\n[[task]]\ntask = 'sort'\n"
                    "weight = 1\n");
  const std::string p = page();
  EXPECT_THAT(p, HasSubstr("| encoding | in range | beyond | copy × 3 | sort × 1 |"));
  // (3 * 0.5 + 0.1 seed) / 4
  EXPECT_THAT(
      row(p, "Weighted score", "a"),
      ElementsAre("a", "90.0 [90.0, 90.0]", "41.2 [40.0, 42.5]", "100.0 → 50.0", "60.0 → 15.0"));
}

// Whoever writes most tokens right and hardly any answer is ahead by accuracy alone.
TEST_F(Report, ComparesByTheScoreThatTheSuiteNames) {
  task_ = "sort";
  for (const int seed : {1, 2, 3, 4, 5}) {
    const double own = 0.002 * seed;
    for (const auto& [encoding, acc, em] :
         {std::tuple{"fluent", 0.96, 0.1}, {"exact", 0.93, 0.9}}) {
      accuracy(encoding, seed, 64, 0.98 + own, 0.97, 1);
      accuracy(encoding, seed, 128, acc - own, 0.9, 1);
      add(record(encoding, seed, "em", 0.97 + own, {{"eval_len", 64}}));
      add(record(encoding, seed, "em", em + 100 * own * own, {{"eval_len", 128}}));
    }
  }
  EXPECT_THAT(page(), HasSubstr("only `fluent` kept its accuracy within 5 points to 2x"));
  write_file_atomic(folder_ / "suite.resolved.toml",
                    "name = 't'\n[[task]]\ntask = 'sort'\nscore = 'em'\n");
  const std::string p = page();
  EXPECT_THAT(p, HasSubstr("| sort | fluent | fails from 2x | 97.6 % | -87 |"));
  EXPECT_THAT(p, HasSubstr("At 2x `exact` is best with 90.4 %; `fluent` has 10.4 %."));
  EXPECT_THAT(p, HasSubstr("**Exact match (%) by evaluation length**"));
  EXPECT_THAT(p, HasSubstr("![sort · exact match](figures/exact_match_sort.svg)"));
  EXPECT_THAT(p, Not(HasSubstr("figures/accuracy_sort.svg")));
}
// With one target an example accuracy says the same, and nothing else is recorded.
TEST_F(Report, FallsBackToAccuracyWhereNoExactMatchIsRecorded) {
  task_ = "sum";
  for (const int seed : {1, 2, 3})
    for (const int length : {64, 128}) accuracy("a", seed, length, 0.99, 0.9, 1);
  const std::string by_accuracy = page();
  write_file_atomic(folder_ / "suite.resolved.toml",
                    "name = 't'\n[[task]]\ntask = 'sum'\nscore = 'em'\n");
  EXPECT_EQ(page(), by_accuracy);
}

TEST_F(Report, SurvivesDamagedRecords) {
  nats("a", 1, 64, 2);
  const std::string good = page();
  lines_ += "garbage\n{\"a\": 1}\n{\"cell\":\"x\",\"metric\":\"nll\"}\n{\"cell\":\"x\",\"me";
  const ReportResult damaged = write_report(written());
  EXPECT_EQ(page(), good);
  EXPECT_GE(damaged.notes.size(), 2U);
}

TEST_F(Report, OfNothingIsASentence) {
  try {
    write_report(folder_);
    FAIL() << "a folder without records";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::data);
    EXPECT_THAT(e.what(), HasSubstr("records.jsonl is not there"));
  }
  lines_ = "\n";
  EXPECT_THROW(write_report(written()), Error);
}

// Copied elsewhere it still says how it is written anew.
TEST_F(Report, NamesNoFolderThatMayBeGone) {
  nats("plain", 1, 64, 2);
  const std::string whole = page(), name = fs::path(folder_).filename().string();
  EXPECT_THAT(whole, HasSubstr("`pesuite report .` in this folder writes all else anew"));
  for (const fs::path& same : {folder_ / ".", folder_ / ""}) {
    write_report(same);
    EXPECT_EQ(read_file(folder_ / "report.md") + read_file(folder_ / "details.md"), whole) << same;
  }
}

TEST_F(Report, DrawsWhateverAnEncodingIsCalled) {
  const std::string wild = "\"x\" `touch harm` @a_b^c {$\\n} %d";
  for (const int length : {64, 128}) nats("plain", 1, length, 2), nats(wild, 1, length, 2.5);
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const ReportResult r = write_report(written());
  fs::current_path(before);
  EXPECT_FALSE(fs::exists(folder_ / "harm"));
  EXPECT_FALSE(fs::exists(folder_ / "figures/harm"));
  ASSERT_GE(r.figures.size(), 2U);
  for (const fs::path& f : r.figures) {
    EXPECT_THAT(read_file(f), HasSubstr("</svg>"));
    fs::path data = f;
    EXPECT_TRUE(fs::exists(data.replace_extension(".tsv"))) << "the data beside the figure";
  }
}

// Where a task lacks an encoding, those that are there keep their colours.
TEST_F(Report, OneColourPerEncodingInAllFigures) {
  for (const int length : {64, 128})
    for (const char* e : {"a", "b", "c"}) nats(e, 1, length, 2);
  task_ = "other";
  for (const int length : {64, 128}) nats("c", 1, length, 2);
  write_report(written());
  const auto styles = styles_of(read_run(folder_));
  const std::string third = styles[2].colour;
  EXPECT_THAT(read_file(folder_ / "figures/perplexity_corpus_non_overlapping.gp"),
              HasSubstr(third));
  const std::string other = read_file(folder_ / "figures/perplexity_other_non_overlapping.gp");
  EXPECT_THAT(other, HasSubstr(third));
  EXPECT_THAT(other, Not(HasSubstr(styles[0].colour)));
}

TEST_F(Report, FiguresStandAboveTheirTablesAlsoWithoutTheTrainingLength) {
  nats("a", 1, 128, 2), nats("a", 1, 256, 3);
  const std::string p = page();
  EXPECT_EQ(p.find("relative to the training length"), std::string::npos);
  EXPECT_LT(p.find("figures/regret_"), p.find("**Perplexity by evaluation length**"));
  EXPECT_LT(p.find("figures/perplexity_"), p.find("**Perplexity**"));
}

TEST_F(Report, PageOfManyTasksIsShortAndNothingIsLost) {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const std::vector<std::string> encodings = {"flat", "rising", "poor", "odd", "last"};
  std::string report, details;
  for (int task = 0; task < 20; ++task) {
    task_ = fmt::format("task{}", task);
    for (std::size_t e = 0; e < encodings.size(); ++e)
      for (const int seed : {1, 2, 3})
        for (const int length : {64, 128, 256}) {
          const double lost = 0.1 * static_cast<double>(e) * (length / 64 - 1) + 0.001 * seed;
          accuracy(encodings[e], seed, length, std::max(0.5, 0.99 - lost), 0.4, 1);
        }
    if (task != 0 && task != 3 && task != 19) continue;
    report = read_file(write_report(written()).file);
    details = read_file(folder_ / "details.md");
    EXPECT_LE(lines(report), 120) << task + 1 << " tasks";
    const std::string table = "**Accuracy (%) by evaluation length**";
    EXPECT_EQ(report.find(table) != std::string::npos, task == 0) << "it has room for one task";
    EXPECT_EQ(details.find(table) != std::string::npos, task != 0);
  }
  EXPECT_THAT(report,
              HasSubstr("| [task7](details.md#task7) | 64 | 5 of 5 | 98.8 % (5 encodings) | "
                        "256 (4x) | 98.8 % (flat) to 50.0 % (3 encodings) |"));
  EXPECT_THAT(report, HasSubstr("| task | flat | rising | poor | odd | last |"));
  EXPECT_THAT(report, HasSubstr("| task7 (4x) | 0 ?"));
  EXPECT_THAT(details, HasSubstr("| task7 | flat | "));
  for (int task = 0; task < 20; ++task)
    EXPECT_THAT(details, HasSubstr(fmt::format("## task{}\n\n", task)));
  std::size_t tables = 0;
  for (std::size_t at = 0; (at = details.find("**Accuracy (%) by", at)) != std::string::npos; ++at)
    ++tables;
  EXPECT_EQ(tables, 20U);
}

TEST_F(Report, PageOfManyEncodingsIsShortToo) {
  for (const char* task : {"a", "b"}) {
    task_ = task;
    for (int e = 0; e < 40; ++e)
      for (const int seed : {1, 2, 3})
        for (const int length : {64, 128})
          nats(fmt::format("e{}", e), seed, length, 1.5 + 0.001 * seed + 0.01 * e * length / 64);
  }
  const std::string report = read_file(write_report(written()).file);
  EXPECT_LE(std::count(report.begin(), report.end(), '\n'), 120);
  EXPECT_THAT(report, HasSubstr("| encoding | a (2x) | b (2x) |"));
}

// A slide is short: a heading, then words, a figure, or some rows of a table; what is left out is
// in the notes.
TEST(Documents, BecomeSlides) {
  Document d;
  d.heading(1, "suite", Depth::screen);
  d.text("Who wins?", Paragraph::Kind::quote);
  d.heading(2, "Answer", Depth::screen);
  Figure drawn, lost;
  drawn.name = "f", drawn.title = "loss", drawn.caption = "Loss -- by length.";
  lost.name = "lost", lost.title = "not drawn";
  d.figures({drawn, lost});
  Table t;
  t.rows = {{"encoding", "value"}};
  for (int i = 0; i < 13; ++i) t.rows.push_back({fmt::format("e{}", i), "1"});
  d.table(t);
  d.text(rich("{} wins.", strong("rope")));
  std::vector<Text> claims;
  for (int i = 0; i < 5; ++i)
    claims.push_back(
        rich("{} holds: {}: 1 against 2.", strong(fmt::format("H{}", i)), code("a < b")));
  d.list(claims);
  d.list({rich("{}: every observation", link("records.jsonl", "records.jsonl"))});
  d.heading(3, "Verdicts", Depth::evidence);
  d.text("hidden");
  std::string slides;
  for (const Renderer& r : renderers())
    if (r.when == Renderer::When::asked) slides = r.pages(d, {{"f", "<svg/>"}}).at("slides.md");
  const std::vector<std::string> words = {
      "# suite\n\nWho wins?",
      "# Answer\n\n**rope** wins.",
      "# Answer\n\n![loss](figures/f.svg)",
      "| e11 | 1 |\n\n---\n\n# Answer\n\n| encoding | value |",
      "- **H3** holds\n\n<!-- H0 holds: a < b: 1 against 2. -->",
      "# Answer\n\n- **H4** holds\n"};
  std::size_t at = 0;
  for (const std::string& w : words) {
    at = slides.find(w, at);
    ASSERT_NE(at, std::string::npos) << w << "\n" << slides;
  }
  EXPECT_THAT(slides, HasSubstr("<!-- Loss - - by length. -->"));
  for (const char* left_out : {"lost", "records.jsonl", "hidden", "Verdicts"})
    EXPECT_THAT(slides, Not(HasSubstr(left_out)));
}

TEST_F(Report, FitsATerminal) {
  for (int e = 0; e < 12; ++e)
    for (int length = 64; length <= 64 * 64; length *= 2)
      for (const int seed : {1, 2, 3})
        nats(fmt::format("rope => scaled(factor={}, with=resonance)", e), seed, length,
             2 + e * length / 500.0);
  for (const std::string& line : split(write_report(written()).screen, '\n'))
    EXPECT_LE(display_width(line), 100U) << line;
}

TEST(ReportNumbers, AreWrittenAsPeopleReadThem) {
  EXPECT_EQ(perplexity_text(std::log(6.344)), "6.34");
  EXPECT_EQ(perplexity_text(std::log(123456)), "123456");
  EXPECT_EQ(perplexity_text(std::log(2e7)), "2.00e+07");
  EXPECT_EQ(perplexity_text(5000), "e^5000");
  EXPECT_EQ(perplexity_text(INFINITY), "∞");
  EXPECT_EQ(percent_text(1), "100.0");
  EXPECT_EQ(percent_text(0.9998), "99.98") << "not all";
  EXPECT_EQ(signed_nats_text(-0.00001), "0.0000");
  EXPECT_EQ(signed_percent_text(-0.489), "-48.9");
  EXPECT_NEAR(t95(1), 12.7062, 1e-4);
  EXPECT_NEAR(t95(4), 2.7764, 1e-4);
}

TEST(ReportNumbers, SummaryLeavesNoSeedOut) {
  const Spread s =
      summarize({{1, 1.0, ""}, {2, 3.0, ""}, {3, Number::none, "diverged"}, {4, 2.0, ""}});
  EXPECT_EQ(s.n, 3U);
  EXPECT_EQ(s.of, 4U);
  EXPECT_DOUBLE_EQ(s.mean, 2);
  EXPECT_TRUE(std::isnan(s.t_low)) << "three seeds have no interval";
  EXPECT_EQ(spread_text(s, nats_text), "2.0000 [1.0000, 3.0000] (1 of 4 diverged)");
}
TEST(ReportNumbers, AMeanHasAnIntervalFromFiveSeedsThatDiffer) {
  const Spread s = summarize({{1, 1, ""}, {2, 3, ""}, {3, 2, ""}, {4, 2, ""}, {5, 2, ""}});
  EXPECT_NEAR(s.t_high - s.mean, 2.7764 * std::sqrt(0.5 / 5), 1e-4);
  const Spread same = summarize({{1, 2, ""}, {2, 2, ""}, {3, 2, ""}, {4, 2, ""}, {5, 2, ""}});
  EXPECT_TRUE(std::isnan(same.t_low)) << "equal seeds say nothing of how much seeds vary";
}

// Words with styles become what each renderer makes of them.
TEST(Documents, KnowNoMarkup) {
  const Text t = rich("{} beats {} by {:.2f} at {}", strong("a*b"), "c|d_e", 0.5, code("x => y"));
  EXPECT_EQ(t.plain(), "a*b beats c|d_e by 0.50 at x => y");
  EXPECT_EQ(markdown(t), "**a\\*b** beats c|d_e by 0.50 at `x => y`");
  EXPECT_EQ(latex(t), "\\textbf{a*b} beats c|d\\_e by 0.50 at \\texttt{x =$>$ y}");
  const Table table{"T", "ends at 5 %", {{"name", "1x"}, {"<b>", strong("∞")}}, 1};
  EXPECT_EQ(markdown(table),
            "**T**\n\n| name | 1x |\n|---|---:|\n| \\<b> | **∞** |\n\nends at 5 %\n");
  EXPECT_EQ(latex({table}, "t"),
            "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{T. ends at 5 \\%}\n"
            "\\label{tab:t}\n\\begin{tabular}{lr}\n\\toprule\nname & 1x \\\\\n\\midrule\n"
            "$<$b$>$ & \\textbf{$\\infty$} \\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}

// "none has 58 %" would read as a sentence without a subject.
TEST(Documents, SetNamesApartInTheTerminal) {
  Document d;
  d.text(rich("{} has {} %", code("none"), 58));
  d.list({rich("again: {}", code("pesuite run"))});
  d.table({"", rich("{}: all", code("rope")), {{"encoding"}, {code("none")}}, 1});
  EXPECT_EQ(terminal(d),
            "`none` has 58 %\n\n- again: `pesuite run`\n\nencoding\nnone\n\n`rope`: all\n\n");
}

TEST(Documents, FoldEvidence) {
  Document d;
  d.heading(1, "title", Depth::screen);
  d.heading(2, "both");
  d.text("open");
  d.heading(3, "why", Depth::evidence);
  d.text("folded");
  d.heading(2, "answer", Depth::screen);
  d.text("first");
  EXPECT_EQ(markdown(d.at(Depth::screen), {}), "# title\n\n## answer\n\nfirst\n\n");
  for (const Renderer& r : renderers()) {
    if (!r.pages) continue;
    auto pages = r.pages(d, {});
    if (!pages.contains("report.md")) continue;
    EXPECT_EQ(pages["report.md"],
              "# title\n\n## both\n\nopen\n\nMore: [details.md](details.md#both).\n\n"
              "## answer\n\nfirst\n\n");
    EXPECT_EQ(pages["details.md"], "# title\n\n## both\n\n### why\n\nfolded\n\n");
    return;
  }
  FAIL() << "nobody writes report.md";
}

// Each picture is titled by what it shows, and its colour is that of its name in every run.
TEST_F(Report, FiguresSayWhatTheyShow) {
  for (const int length : {64, 128}) nats("rope", 1, length, 2), nats("alibi", 1, length, 3);
  const ReportResult r = write_report(written(), {{}, {"svg", "pdf", "png"}});
  if (r.figures.empty()) GTEST_SKIP() << "gnuplot is not here";
  const std::string svg = read_file(folder_ / "figures/answer.svg");
  EXPECT_THAT(svg, HasSubstr("<title>change of loss over length</title>"));
  EXPECT_THAT(svg, HasSubstr("<desc>Left: loss at the training length."));
  EXPECT_GT(fs::file_size(folder_ / "figures/answer.pdf"), 1000U);
  EXPECT_GT(fs::file_size(folder_ / "figures/answer.png"), 1000U);
  const auto styles = styles_of(read_run(folder_));
  RunData other = read_run(folder_);
  std::swap(other.encodings[0], other.encodings[1]);
  std::swap(other.expressions[0], other.expressions[1]);
  EXPECT_EQ(styles_of(other)[1].colour, styles[0].colour);
  EXPECT_NE(styles[0].colour, styles[1].colour);
}

TEST(Figures, LabelsKeepApart) {
  const std::vector<double> at = spread_out({0.5, 0.5, 0.52, 1, 0}, 0.1);
  std::vector<double> sorted = at;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 0.0999);
  EXPECT_GE(sorted.front(), 0);
  EXPECT_LE(sorted.back(), 1);
  EXPECT_LT(at[0], at[2]) << "in the order of the lines";
}

TEST(Figures, ColoursAreDistinct) {
  std::set<std::pair<std::string, int>> all;
  for (std::size_t i = 0; i < 36; ++i) {
    const SeriesStyle s = series_style(i);
    EXPECT_TRUE(all.insert({s.colour, s.marker}).second) << i;
  }
}

}  // namespace
}  // namespace pesuite::testing
