// Suites as users write them: what is read, what is refused and where, plans and filters.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "plan/plan.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

namespace fs = std::filesystem;

const std::string sound = R"toml(schema = "pesuite.suite/1"
name = "x"
[defaults]
seeds = [1, 2]
[model.micro]
preset = "micro"
[train]
budget = "40 steps"
batch = 8
[[encoding]]
expr = "rope"
[[encoding]]
id = "rope500"
expr = "rope(base=500)"
[[task]]
id = "corpus"
task = "toylag"
train_len = 32
[[task]]
task = "kback_copy"
train_len = 16
[[eval]]
task = "corpus"
lengths = ["1x", "4x"]
examples = 4
[[eval]]
task = "kback_copy"
lengths = [16, 32]
examples = 8
)toml";

class Suites : public ::testing::Test {
 protected:
  fs::path write(const std::string& text, const std::string& name = "x.toml") {
    write_file_atomic(folder_ / name, text);
    return folder_ / name;
  }
  Suite load(const std::string& text, const SuiteChoices& c = {}) {
    return load_suite(write(text), c);
  }
  Plan plan(const std::string& text, const SuiteChoices& c = {}) {
    Problems found;
    const Suite s = load_suite(write(text), c, found);
    return make_plan(s, {PESUITE_TEST_PLUGINS}, Store(folder_ / "store"), found);
  }
  // The problems of a suite, without the folder's name.
  std::string problems(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& e) {
      std::string text = e.what();
      for (std::size_t at; (at = text.find(folder_.string() + "/")) != std::string::npos;)
        text.erase(at, folder_.string().size() + 1);
      return text;
    }
    return "";
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  const Scratch folder_;
};

TEST_F(Suites, ASoundOneIsPlanned) {
  const Plan p = plan(sound);
  ASSERT_EQ(p.cells.size(), 8u);
  EXPECT_EQ(p.cells[0].label(), "rope·corpus·micro·s1");
  EXPECT_TRUE(p.cells[0].config.encoding.starts_with("rope(base=10000, layout=half, features=0"));
  EXPECT_TRUE(p.cells[2].config.encoding.starts_with("rope(base=500, layout=half, features=0"));
  EXPECT_EQ(p.cells[0].config.max_length, 32) << "neither hangs on the longest";
  EXPECT_EQ(p.cells[0].longest, 128);
  EXPECT_EQ(p.cells[0].config.model.vocabulary, 32);
  EXPECT_EQ(p.cells[4].config.model.outputs(), 50);
  EXPECT_FALSE(p.cells[4].config.model.tied) << "classes are no tokens";
  EXPECT_EQ(p.cells[0].evals.size(), 2u);
  EXPECT_NE(p.cells[0].id, p.cells[1].id);
  EXPECT_EQ(p.cells[0].series, p.cells[1].series) << "a series is a cell without its seed";
  EXPECT_NE(p.cells[0].series, p.cells[2].series);
  EXPECT_GT(p.cells[0].seconds, 0);
  EXPECT_EQ(plan(sound).cells[3].id, p.cells[3].id) << "ids are stable";
}

TEST_F(Suites, AllProblemsAreReportedAtOnceWithTheirPlace) {
  std::string text =
      replaced(sound, "batch = 8", "batchh = 8\noptimizer = {lr = \"fast\", betas = [0.9]}");
  text = replaced(text, "seeds = [1, 2]", "seeds = [1, 1]");
  text = replaced(text, "budget = \"40 steps\"", "budget = \"40 stepps\"");
  text = replaced(text, "preset = \"micro\"", "preset = \"mikro\"");
  EXPECT_EQ(
      problems([&] { load(text); }),
      "x.toml:4:1: 'defaults.seeds' names a seed twice\n"
      "x.toml:10:14: 'train.optimizer.lr' must be a number, not \"fast\"\n"
      "x.toml:10:27: 'train.optimizer.betas' must be two numbers in [0, 1)\n"
      "x.toml:8:1: 'train.budget' is \"40 stepps\", which is no stretch of training: write "
      "300, \"300 steps\", "
      "\"3%\", \"20M tokens\" or \"1e15 FLOPs\"\n"
      "x.toml:9:1: unknown key 'train.batchh', did you mean 'batch'?\n"
      "x.toml:6:1: 'model.micro.preset' is 'mikro': there is no model preset 'mikro', did "
      "you mean 'micro'?; known are micro, nano, sandbox, tinystories-28m, tiny, small, medium, "
      "large, pythia-160m");
}

TEST_F(Suites, NoTrainingIsLongerThanCanBeCounted) {
  for (const char* budget : {"1e300 steps", "1e300 tokens", "9e99N tokens", "1e300 FLOPs"})
    EXPECT_EQ(problems([&] {
                load(replaced(sound, "budget = \"40 steps\"",
                              "budget = \"" + std::string(budget) + "\""));
              }),
              "x.toml:8:1: 'train.budget' is \"" + std::string(budget) +
                  "\", which no machine gets to the end of");
}

TEST_F(Suites, SyntaxErrorsHaveALine) {
  EXPECT_EQ(problems([&] { load("name = \n"); }).substr(0, 9), "x.toml:1:");
  EXPECT_EQ(
      problems([&] { load("name = \"x\"\n"); }),
      "x.toml: a suite needs at least one model\nx.toml: a suite needs at least one encoding\n"
      "x.toml: a suite needs at least one task");
}

TEST_F(Suites, UnknownNamesPointAtTheirLine) {
  EXPECT_EQ(
      problems([&] { plan(replaced(sound, "expr = \"rope\"", "expr = \"ropr\"")); }),
      "x.toml:11:1: encoding 'ropr': unknown encoding 'ropr' at column 1, did you mean 'rope'?");
  EXPECT_EQ(problems([&] { plan(replaced(sound, "rope(base=500)", "rope(bass=500)")); }),
            "x.toml:14:1: encoding 'rope' has no option 'bass', did you mean 'base'?");
  EXPECT_EQ(problems([&] { plan(replaced(sound, "rope(base=500)", "rope(base=500")); }),
            "x.toml:14:1: encoding 'rope(base=500': expected ')' at column 14");
  EXPECT_EQ(problems([&] { plan(replaced(sound, "task = \"toylag\"", "task = \"toylog\"")); }),
            "x.toml:17:1: there is no task 'toylog', did you mean 'toylag'?");
  EXPECT_EQ(problems([&] { load(replaced(sound, "task = \"corpus\"", "task = \"corpse\"")); }),
            "x.toml:23:1: 'eval' is for task 'corpse', which is not in the suite, did you mean "
            "'corpus'?");
  EXPECT_EQ(problems([&] { load(replaced(sound, "id = \"rope500\"", "id = \"rope\"")); }),
            "x.toml:14:1: encoding id 'rope' is used twice; give one of them another id");
  EXPECT_EQ(problems([&] { load(replaced(sound, "lengths = [16, 32]", "lengths = [\"2y\"]")); }),
            "x.toml:28:1: 'eval.kback_copy.lengths' holds '2y'; write whole tokens (256, at most "
            "16777216), a multiple "
            "of the training length (\"4x\") or a range (\"1..20\", \"8..4x:8\")");
}

TEST_F(Suites, ProblemsOfTheFileAndOfPluginsAreReportedTogether) {
  const std::string text = replaced(sound, "expr = \"rope\"", "expr = \"ropr\"");
  EXPECT_EQ(
      problems([&] { plan(replaced(text, "batch = 8", "batchh = 8")); }),
      "x.toml:9:1: unknown key 'train.batchh', did you mean 'batch'?\n"
      "x.toml:11:1: encoding 'ropr': unknown encoding 'ropr' at column 1, did you mean 'rope'?");
  SuiteChoices c;
  c.set = {"train.stepps=3"};
  EXPECT_EQ(problems([&] { plan(sound, c); }),
            "--set train.stepps: unknown key 'train.stepps', did you mean 'steps'?");
}

TEST_F(Suites, EncodingsThatDoNotReadATasksPositionsAreNoted) {
  const auto notes = [&](const std::string& encoding) {
    return plan(
               "defaults = {seeds = [1]}\nmodel = {micro = {}}\n[[encoding]]\nexpr = \"" +
               encoding +
               "\"\n[[task]]\ntask = \"addition\"\noptions = {coupled_ids = true}\ntrain_len = 17\n"
               "[[eval]]\nlengths = [17]\nexamples = 4\n")
        .notes;
  };
  EXPECT_THAT(notes("rope"),
              ::testing::Contains(::testing::HasSubstr("does not read the positions")));
  for (const char* reads : {"learned", "rope + learned"})
    EXPECT_THAT(notes(reads),
                ::testing::Not(::testing::Contains(::testing::HasSubstr("positions"))))
        << reads;
}

TEST_F(Suites, TwinsAreRefused) {
  EXPECT_EQ(
      problems([&] { plan(replaced(sound, "rope(base=500)", "rope(base=10000)")); }),
      "x.toml:14:1: encoding 'rope500' is the same as encoding 'rope'; leave one of them out");
}

TEST_F(Suites, WhatIsMissingHasItsOwnExitCode) {
  const auto code = [&](const std::string& text) {
    try {
      plan(text);
    } catch (const Error& e) {
      return e.code();
    }
    return Exit::done;
  };
  EXPECT_EQ(code(replaced(sound, "expr = \"rope\"", "expr = \"ropr\"")), Exit::plugin);
  EXPECT_EQ(code(replaced(sound, "task = \"toylag\"",
                          "task = \"text\"\noptions = {path = \"/nonexistent\"}")),
            Exit::data);
  EXPECT_EQ(code(replaced(sound, "seeds = [1, 2]", "seeds = [1, 2]\nbackend = \"cuda\"")),
            Exit::device);
}

TEST_F(Suites, TheLaterOfTwoWordsForTheSameCounts) {
  SuiteChoices c;
  c.set = {"train.steps=7", "train.lr=0.5"};
  EXPECT_EQ(plan(sound, c).cells[0].config.train.steps, 7);
  EXPECT_EQ(plan(sound, c).cells[0].config.train.optimizer.lr, 0.5);
  c.set = {"train.steps=7", "train.budget=\"9 steps\"", "train.lr=0.5", "train.optimizer.lr=0.25"};
  EXPECT_EQ(plan(sound, c).cells[0].config.train.steps, 9);
  EXPECT_EQ(plan(sound, c).cells[0].config.train.optimizer.lr, 0.25);
  EXPECT_EQ(problems([&] { plan(replaced(sound, "batch = 8", "batch = 8\nsteps = 3")); }),
            "x.toml:10:1: 'train.steps' says the same as 'budget'; leave one of them out");
}

TEST_F(Suites, ExtendsProfilesAndSetLieOnTop) {
  write(sound, "base.toml");
  const std::string top = R"(extends = ["base.toml"]
name = "top"
[train]
batch = 4
[task.corpus]
train_len = 64
[profile.ci]
defaults = {seeds = [7]}
[profile.ci.train]
budget = "3 steps"
)";
  const Suite plain = load(top);
  EXPECT_EQ(plain.name, "top");
  EXPECT_EQ(plain.tasks[0].train.batch, 4);
  EXPECT_EQ(plain.tasks[0].train.budget.value, 40);
  EXPECT_EQ(plain.tasks[0].train_length, 64);
  EXPECT_EQ(plain.tasks[1].train_length, 16);
  EXPECT_FALSE(plain.resolved.contains("profile"));
  const Suite ci =
      load(top, {.profile = "ci",
                 .set = {"train.batch=2", "task.corpus.options.document=777", "name=renamed"},
                 .seeds = {},
                 .only = {}});
  EXPECT_EQ(ci.seeds, std::vector<std::uint64_t>{7});
  EXPECT_EQ(ci.tasks[0].train.budget.value, 3);
  EXPECT_EQ(ci.tasks[0].train.batch, 2);
  EXPECT_EQ(ci.name, "renamed");
  EXPECT_EQ(ci.tasks[0].expression.options.at("document"), "777");
  EXPECT_EQ(problems([&] { load(top, {.profile = "big", .set = {}, .seeds = {}, .only = {}}); }),
            "--profile big: the suite has no such profile; it has ci");
  EXPECT_EQ(problems([&] {
              load(top, {.profile = "",
                         .set = {"task.corpsu.train_len=3", "train.bach=3", "nonsense"},
                         .seeds = {},
                         .only = {}});
            }),
            "--set task.corpsu.train_len: there is no task 'corpsu', did you mean 'corpus'?\n"
            "--set nonsense: wants KEY=VALUE, e.g. --set train.steps=100\n"
            "--set train.bach: unknown key 'train.bach', did you mean 'batch'?");
  EXPECT_EQ(problems([&] { load("extends = [\"x.toml\"]\n"); }),
            "x.toml: extends itself, directly or through others");
}

TEST_F(Suites, LengthsAndMixturesArePartOfACell) {
  const std::string corpus = replaced(sound, "batch = 8", R"(batch = 8
lengths = {kind = "growing", min = 4, stride = 2, over = "25%", per = "step"})");
  const TrainConfig train = plan(corpus).cells[0].config.train;
  EXPECT_EQ(train.lengths.kind, LengthKind::growing);
  EXPECT_EQ(train.lengths.least, 4);
  EXPECT_EQ(train.lengths.stride, 2);
  EXPECT_EQ(train.lengths.over, 10) << "a quarter of 40 steps";
  EXPECT_TRUE(train.lengths.per_step);
  EXPECT_EQ(train_from_json(to_json(train)).lengths, train.lengths);
  EXPECT_NE(plan(corpus).cells[0].id, plan(sound).cells[0].id);
  EXPECT_FALSE(to_json(plan(sound).cells[0].config).contains("mix")) << "ids of before stay";

  const auto mixed = [&](const std::string& with) {
    SuiteChoices c;
    c.only = {"task=corpus"};
    c.set = {"train.mix=[" + with + "]"};
    return plan(sound, c).cells.at(0).config;
  };
  const CellConfig own = mixed(R"({task = "flipflop", share = 0.25})");
  EXPECT_EQ(own.model.vocabulary, 32 + 5) << "24 and 5 symbols behind the 8 shared ids";
  ASSERT_EQ(own.mix.size(), 1u);
  EXPECT_TRUE(own.mix[0].task.starts_with("flipflop"));
  EXPECT_EQ(own.mix[0].share, 0.25);
  EXPECT_EQ(cell_identity(cell_from_json(to_json(own))), cell_identity(own));
  EXPECT_EQ(mixed(R"({task = "flipflop", share = 0.25, alphabet = "same"})").model.vocabulary, 32);
  EXPECT_NE(cell_id(own), cell_id(mixed(R"({task = "flipflop", share = 0.5})")));
  for (const auto& [with, what] :
       {std::pair{R"({task = "parity", share = 0.5})", "only tasks that predict tokens"},
        std::pair{R"({task = "flipflop", share = 1})", "must lie between 0 and 1"},
        std::pair{R"({task = "flipflap", share = 0.5})", "flipflap"},
        std::pair{R"({task = "flipflop", share = 0.5, alphabet = "all"})", "alphabet"},
        std::pair{R"({task = "selective_copy", share = 0.5})",
                  "--set train.mix: task 'selective_copy': items=16 take at least 35 tokens"}})
    EXPECT_THAT(problems([&] { mixed(with); }), ::testing::HasSubstr(what));
}

// A cell with something before its examples: in training, and in evaluation as `axes`.
std::string with_something_before(const std::string& task, const std::string& axes,
                                  const std::string& train) {
  return fmt::format(R"(
model = {{micro = {{}}}}
encoding = [{{expr = "rope"}}]
[[task]]
task = "{}"
train_len = 23
[train]
steps = 40
{}
[[eval]]
lengths = ["1x", 43]
axes = {{{}}}
examples = 10
)",
                     task, train, axes);
}

// FILL before examples: drawn in training, asked for by evaluation as the axis `fill`.
TEST_F(Suites, FillPushesExamplesBack) {
  const auto planned = [&](const std::string& task, const std::string& fill,
                           const std::string& train = "fill = 4") {
    return plan(with_something_before(task, "fill = " + fill, train));
  };
  const Plan p = planned("copy", R"([0, "1x", "3x"])");
  const PlannedCell& cell = p.cells.at(0);
  EXPECT_EQ(cell.config.train.lengths.fill, 4);
  EXPECT_EQ(train_from_json(to_json(cell.config.train)).lengths, cell.config.train.lengths);
  EXPECT_EQ(cell.longest, 43 + 69);
  ASSERT_EQ(cell.evals.size(), 2u);
  EXPECT_EQ(cell.evals[0].config.axes.at(0).values, (std::vector<double>{0, 23, 69}));
  EXPECT_THAT(plan_table(p, {}, 1), ::testing::HasSubstr("0 to 4 FILL before each example"));
  EXPECT_THAT(p.notes, ::testing::IsEmpty());
  EXPECT_THAT(planned("copy", "[23]", "").notes,
              ::testing::Contains(::testing::HasSubstr("which training never shows")));
  const double plain = planned("copy", "[0]", "").cells[0].eval_flops;
  EXPECT_GT(cell.eval_flops, 3 * plain) << "longer rows cost more";
  for (const auto& [task, fill, train, what] :
       {std::tuple{"toylag", "[23]", "", "'axes' names 'fill', but task '*' is a corpus"},
        std::tuple{"toylag", "[0]", "fill = 4", "before examples of task 'toylag': it is a corpus"},
        std::tuple{"kback_copy", "[23]", "", "has symbols of its own in place of FILL"},
        std::tuple{"copy", "[\"far\"]", "", "'axes.fill' holds 'far'"},
        std::tuple{"copy", "[-3]", "", "'axes.fill' holds '-3'"},
        std::tuple{"copy", "[]", "", "'eval.0.axes.fill' holds no value to evaluate at"}})
    EXPECT_THAT(problems([&] { planned(task, fill, train); }), ::testing::HasSubstr(what));
}

// Solved examples before examples, the same way.
TEST_F(Suites, SolvedExamplesStandBeforeExamples) {
  const auto planned = [&](const std::string& task, const std::string& shots,
                           const std::string& train = "shots = 3") {
    return plan(with_something_before(task, "shots = " + shots, train));
  };
  const Plan p = planned("copy", "[0, 3]");
  const PlannedCell& cell = p.cells.at(0);
  EXPECT_EQ(cell.config.train.lengths.shots, 3);
  EXPECT_EQ(train_from_json(to_json(cell.config.train)).lengths, cell.config.train.lengths);
  EXPECT_EQ(cell.longest, 43 + 3 * 23);
  EXPECT_EQ(cell.evals.at(0).config.axes.at(0).values, (std::vector<double>{0, 3}));
  EXPECT_THAT(plan_table(p, {}, 1), ::testing::HasSubstr("0 to 3 solved examples before each"));
  EXPECT_THAT(p.notes, ::testing::IsEmpty());
  EXPECT_THAT(planned("copy", "[3]", "").notes,
              ::testing::Contains(::testing::HasSubstr("which training never does")));
  for (const auto& [task, shots, train, what] :
       {std::tuple{"toylag", "[3]", "", "'axes' names 'shots', but task '*' is a corpus"},
        std::tuple{"toylag", "[0]", "shots = 1",
                   "no solved ones can stand before examples of task"},
        std::tuple{"even_pairs", "[3]", "", "answers with classes"},
        std::tuple{"copy", "[2.5]", "", "'axes.shots' holds '2.5'"}})
    EXPECT_THAT(problems([&] { planned(task, shots, train); }), ::testing::HasSubstr(what));
}

// What cannot be trained on is said when the suite is planned, at its line, and what is trained on
// is said as well.
TEST_F(Suites, LengthsAndMixturesAreTriedBeforeTheyRun) {
  const auto planned = [&](const std::string& lengths, const std::string& encoding = "rope") {
    return plan(fmt::format(R"(
model = {{micro = {{}}}}
encoding = [{{expr = "{}"}}]
eval = [{{lengths = ["1x"]}}]
[train]
steps = 40
mix = [{{task = "toylag", share = 0.75}}]
[[task]]
task = "addition"
train_len = 35
train.lengths = {}
)",
                            encoding, lengths));
  };
  const auto says = [&](const std::string& lengths, const std::string& what) {
    EXPECT_THAT(problems([&] { planned(lengths); }), ::testing::HasSubstr(what)) << lengths;
  };
  says(R"({min = 5})", ".toml:11:18: task 'addition', example 0 of length 5: ");
  says(R"({min = 36})",
       ".toml:11:18: lengths of training begin at 36 tokens, above the training length 35");
  says(R"({min = 8, over = "5%", kind = "grow"})",
       "is 'grow', which is none of fixed, uniform, growing");
  says(R"({min = 8, stride = 0})", "is 0, outside 1 ..");

  const Plan p = planned(R"({kind = "growing", min = 8, stride = 3})");
  EXPECT_THAT(plan_table(p, {}, 1),
              ::testing::HasSubstr("training of addition reads 25 % addition(pad=true, "));
  EXPECT_THAT(plan_table(p, {}, 1),
              ::testing::HasSubstr("; lengths 8 to 35 by 3, growing in 20 steps"));
  // Shorter examples cost less: 20 steps of 14.75 tokens an example in the mean, 20 of 21.5.
  const double flops = planned(R"({kind = "fixed"})").cells[0].train_flops;
  EXPECT_NEAR(p.cells[0].train_flops / flops, (20 * 14.75 + 20 * 21.5) / (40 * 35), 1e-12);

  // A switch to longer examples asks the mixed tasks for them too, and shares its trunk.
  const std::string growing = R"({kind = "growing", min = 8, stride = 3})";
  const Plan longer = planned(growing, "rope -> yarn(scale=4) @ 90%, length 140");
  EXPECT_EQ(longer.cells[0].config.mix[0].max_length, 140);
  EXPECT_EQ(train_of(longer.cells[0].config).length, 140);
  EXPECT_EQ(train_of(longer.cells[0].config).lengths.kind, LengthKind::growing);
  ASSERT_EQ(longer.trunks.size(), 1u);
  EXPECT_EQ(longer.trunks[0].config.model.vocabulary, longer.cells[0].config.model.vocabulary);
}

TEST_F(Suites, LongEvaluationsTakeMemory) {
  const auto memory = [&](const char* length) {
    return plan(fmt::format(R"(
model = {{micro = {{}}}}
encoding = [{{expr = "rope"}}]
task = [{{task = "parity", train_len = 32}}]
eval = [{{lengths = [{}], examples = 2}}]
)",
                            length))
        .cells[0]
        .memory;
  };
  EXPECT_EQ(memory("64"), memory("32")) << "training takes more";
  EXPECT_GT(memory("65536"), 2 * memory("32"));
}

// A plan that left out validations said 41 seconds of a suite of few steps that took 20 minutes.
TEST_F(Suites, ValidationsArePlannedFor) {
  const auto planned = [&](int steps, const char* every, const char* more = "") {
    return plan(fmt::format(R"(
model = {{micro = {{}}}}
encoding = [{{expr = "rope"}}]
task = [{{task = "toylag", train_len = 32}}]
eval = [{{lengths = ["1x"]}}]
[train]
steps = {}
batch = 4
eval_every = {}
validation_examples = 24
{}
)",
                            steps, every, more));
  };
  const auto validations = [](const Plan& p) {
    const PlannedCell& c = p.cells[0];
    const double steps = static_cast<double>(c.config.train.steps);
    return c.validation_flops / (c.train_flops / (3 * steps * 4)) / 24;
  };
  EXPECT_DOUBLE_EQ(validations(planned(10, "5")), 2);
  EXPECT_DOUBLE_EQ(validations(planned(11, "5")), 3) << "the last step has one too";
  EXPECT_DOUBLE_EQ(validations(planned(9, "100")), 1);
  EXPECT_DOUBLE_EQ(validations(planned(10, "5", "mix = [{task = \"addition\", share = 0.5}]")), 4)
      << "of each task";
  const Plan p = planned(10, "1"), few = planned(10, "10");
  EXPECT_GT(p.cells[0].seconds, few.cells[0].seconds);
  EXPECT_THAT(plan_table(p, {}, 8), ::testing::HasSubstr(" left with 1 at a time"))
      << "one cell is computed once";
}

TEST_F(Suites, AxesAreNamedByLabels) {
  const std::string text =
      replaced(replaced(sound, "task = \"kback_copy\"\ntrain_len = 16",
                        "task = \"shift_pattern\"\ntrain_len = 64"),
               "task = \"kback_copy\"\nlengths = [16, 32]",
               "task = \"shift_pattern\"\naxes = {window = [\"start\", \"end\"]}\nlengths = [64]");
  const Plan p = plan(text);
  EXPECT_EQ(p.cells[4].evals[0].config.axes[0].values, (std::vector<double>{0, 2}));
  EXPECT_EQ(
      problems([&] { plan(replaced(text, "\"end\"", "\"ende\"")); }),
      "x.toml:28:1: 'axes.window' holds 'ende'; known are start, mid, end, did you mean 'end'?");
}

TEST_F(Suites, FiltersChooseCells) {
  const auto count = [&](std::vector<std::string> only) {
    return plan(sound, {.profile = "", .set = {}, .seeds = {}, .only = std::move(only)})
        .cells.size();
  };
  EXPECT_EQ(count({"encoding=rope"}), 4u);
  EXPECT_EQ(count({"encoding=rope*"}), 8u);
  EXPECT_EQ(count({"encoding=rope & seed=2"}), 2u);
  EXPECT_EQ(count({"task in (corpus, kback_copy)", "task!=kback_copy", "seed!=1"}), 2u);
  EXPECT_EQ(plan(sound + "[sweep]\nexclude = [\"task=corpus & seed=2\"]\n").cells.size(), 6u);
  EXPECT_EQ(plan(sound + "[sweep]\ninclude = [\"seed=2\", \"task=corpus\"]\n").cells.size(), 6u);
  EXPECT_EQ(problems([&] { count({"seed=99"}); }),
            "filter 'seed=99': the suite has no seed '99'; it has 1, 2");
  EXPECT_EQ(problems([&] {
              count({"seed=1", "seed=2"});
            }),
            "no cell is left: the filters exclude all of them");
  EXPECT_EQ(problems([&] { count({"sed=1"}); }),
            "filter 'sed=1', column 1: a cell has no 'sed', did you mean 'seed'?; a filter reads "
            "'encoding=rope* & seed=42' or 'task in (a, b)'");
  EXPECT_EQ(problems([&] { count({"seed=1 & x"}); }),
            "filter 'seed=1 & x', column 10: 'x' is no condition; a filter reads 'encoding=rope* & "
            "seed=42' or 'task in (a, b)'");
}

TEST_F(Suites, TooShortDocumentsAreRefusedAtPlanning) {
  EXPECT_EQ(problems([&] {
              plan(replaced(sound, "lengths = [\"1x\", \"4x\"]",
                            "lengths = [\"8x\"]\nprotocol = \"sliding(16)\"\naxes = {}"),
                   {.profile = "",
                    .set = {"task.corpus.options={document=256}"},
                    .seeds = {},
                    .only = {}});
            }),
            "x.toml:24:1: corpus 'toylag(document=256)' has documents of 256 tokens, and the "
            "windows at length 256 reach 288: "
            "raise its option 'document' or shorten the evaluation");
}

TEST(Extents, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_extent("300")->value, 300);
  EXPECT_EQ(parse_extent("300 steps")->unit, Extent::Unit::steps);
  EXPECT_EQ(parse_extent("2.4B tokens")->value, 2.4e9);
  EXPECT_EQ(parse_extent("3%")->value, 0.03);
  EXPECT_EQ(parse_extent("1e15 FLOPs")->unit, Extent::Unit::flops);
  EXPECT_FALSE(parse_extent("soon"));
  TrainSettings t;
  t.batch_tokens = 16384;
  t.budget = {Extent::Unit::tokens, 20e6};
  const TrainConfig c = t.resolve(256, 1e6, 0);
  EXPECT_EQ(c.batch, 64);
  EXPECT_EQ(c.steps, 1221);
  EXPECT_EQ(c.schedule.warmup, 37);
  t.budget = {Extent::Unit::flops, 3e6 * 16384 * 50};
  EXPECT_EQ(t.resolve(256, 1e6, 0).steps, 50);
  t.budget = *parse_extent("20N tokens");
  EXPECT_EQ(t.budget.text(), "20N tokens");
  EXPECT_EQ(t.resolve(256, 1e6, 16384 * 3).steps, 60);
  t.schedule.kind = ScheduleKind::wsd;  // the trunk is as long as the longest branch
  t.schedule.branches = {*parse_extent("50"), *parse_extent("100"), *parse_extent("80")};
  const TrainConfig trunk = t.resolve(256, 1e6, 0);
  EXPECT_EQ(trunk.steps, 100);
  EXPECT_EQ(trunk.schedule.kind, ScheduleKind::constant);
  EXPECT_EQ(trunk.schedule.warmup, 3);
}

TEST(Plan, ShortCellsShareADevice) {
  const auto share = [](double seconds, double memory) {
    Plan plan;
    plan.cells.resize(3);
    for (PlannedCell& c : plan.cells) c.seconds = seconds, c.memory = memory;
    plan.cells[2].state = PlannedCell::State::done;  // takes no time any more
    plan.cells[2].seconds = 1e6;
    return cells_a_device(plan);
  };
  EXPECT_EQ(share(1, 1e9), 4);
  EXPECT_EQ(share(8, 1e9), 2);
  EXPECT_EQ(share(100, 1e9), 1);
  EXPECT_EQ(share(1, 5e9), 2);
  EXPECT_EQ(share(1, 5e10), 1);
  EXPECT_EQ(cells_a_device(Plan()), 1);
}

TEST(Plan, StepsOfADeviceTakeALeastTime) {
  PlannedCell c;
  c.trains = true;
  c.config.train.steps = 1000;
  estimate_cost(c, {1e30, 0}, false);
  EXPECT_NEAR(c.seconds, 0, 1e-9);
  estimate_cost(c, {1e30, 1e-3}, false);
  EXPECT_NEAR(c.seconds, 1e-3 * 1000 * model_of(c.config).layers, 1e-9);
  estimate_cost(c, {1e30, 0, 1.5}, false);
  EXPECT_NEAR(c.seconds, 1.5, 1e-9);
}

}  // namespace
}  // namespace pesuite::testing
