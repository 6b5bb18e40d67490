// The suites that come with the program, in each of their profiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "backend/factory.h"
#include "base/file.h"
#include "data/tokenize.h"
#include "hf/export.h"
#include "plan/plan.h"
#include "tests/precision.h"
#include "tests/scratch.h"
#include "tests/support.h"

namespace pesuite::testing {
namespace {

namespace fs = std::filesystem;

// Of the first cell of each task: every point of its evaluations' axes.
void expect_examples(const Plan& plan, const Catalog& catalog, const std::string& where) {
  std::set<std::string> seen;
  for (const PlannedCell& cell : plan.cells) {
    if (!seen.insert(cell.task).second) continue;
    const CellConfig& c = cell.config;
    const Task task(catalog, parse_expression(c.task, "task"), c.train.length, cell.longest,
                    cell.reach);
    for (const CellEval& e : cell.evals) {
      if (e.probe || task.is_corpus()) continue;
      std::int64_t points = 1;
      for (const EvalAxis& a : e.config.axes) points *= std::ssize(a.values);
      for (std::int64_t i = 0; i < points; ++i) {
        const Task::Request r = request_of(task, e.config, PES_SPLIT_TEST, i, e.length, 1);
        std::vector<std::int32_t> tokens(task.tokens(r)), targets(task.tokens(r));
        EXPECT_NO_THROW(task.sample(r, tokens, targets))
            << where << ": task " << cell.task << ", length " << e.length << ", point " << i;
      }
    }
  }
}

// What the suites of real text read, as small as it can be: folders of tokens where the test runs.
class TokenFolders {
 public:
  TokenFolders() : before_(fs::current_path()) {
    std::string lines;
    for (int i = 0; i < 60; ++i)
      lines += fmt::format("{{\"text\": \"{}{}\"}}\n", i, std::string(5000, 'x'));
    write_file_atomic(folder_ / "text.jsonl", lines);
    data::TokenizeOptions o;
    o.paths = {folder_ / "text.jsonl"}, o.tokenizer = "bytes", o.drop_near = false;
    o.validation_share = 0.45, o.filler_share = 0.1;
    const std::atomic<bool> stop{false};
    data::Manifest m;
    for (const char* name : {"real_text", "slimpajama", "fineweb", "tinystories"})
      data::tokenize(
          o, folder_ / name / "tokens", stop, [](const data::TokenizeProgress&) {}, m);
    data::tokenize(
        o, folder_ / "tokens", stop, [](const data::TokenizeProgress&) {}, m);
    make_model();
    fs::current_path(folder_);
  }
  ~TokenFolders() { fs::current_path(before_); }

 private:
  // A model as if it had been trained elsewhere.
  void make_model() const {
    const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
    ModelConfig c = preset("micro").config;
    c.vocabulary = c.classes = 512;
    const auto backend = open_backend("cpu", {});
    Model model(*backend, c, compose(catalog, "rope", shape_of(c, 64, 64)), 1);
    hf::write_checkpoint(folder_ / "model", hf::config_for(catalog, c, "rope", 64, {}), model);
  }

  fs::path before_;
  Scratch folder_;
};

TEST(ShippedSuites, AreSoundInEveryProfile) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "plans hundreds of suites, each with processes of its own: ten minutes here";
#endif
  const TokenFolders folders;
  const std::regex profile(R"(\n\[profile\.(\w+)\])");
  const Catalog catalog = open_catalog({PESUITE_TEST_PLUGINS});
  for (const auto& item : fs::recursive_directory_iterator(PESUITE_TEST_DIR "/../suites")) {
    if (item.path().extension() != ".toml") continue;
    std::vector<SuiteChoices> choices(1);
    const std::string text = read_file(item.path());
    for (std::sregex_iterator m(text.begin(), text.end(), profile), end; m != end; ++m)
      choices.emplace_back().profile = (*m)[1];
    for (const SuiteChoices& c : choices) {
      const std::string where = item.path().filename().string() + " " + c.profile;
      Suite s = load_suite(item.path(), c);
      EXPECT_NE(s.about, "") << where;
      if (s.precision == Precision::bf16 && !has_bf16()) s.precision = Precision::fp32;
      const Plan plan = make_plan(s, {PESUITE_TEST_PLUGINS}, Store("/nonexistent"));
      EXPECT_FALSE(plan.cells.empty()) << where;
      expect_examples(plan, catalog, where);
    }
  }
}

}  // namespace
}  // namespace pesuite::testing
