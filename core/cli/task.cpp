// task check: the self-test that every task must pass.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "model/task_check.h"

namespace pesuite::cli {

namespace {

int check_one(const Catalog& catalog, const std::string& text, int length) {
  const Task task(catalog, parse_expression(text, "task"), length, length * 3 / 2);
  CheckOptions options;
  options.lengths = {length, length * 3 / 2};
  int failed = 0;
  fmt::print("{}\n", task.text());
  for (const Finding& f : check_task(task, options)) {
    fmt::print("  {:<8}{:<22}{}\n",
               f.skipped  ? "skipped"
               : f.passed ? "passed"
                          : "FAILED",
               f.check, f.detail);
    failed += f.passed ? 0 : 1;
  }
  return failed;
}

}  // namespace

int task_verb(const std::vector<std::string>& words) {
  Arguments a("task check [NAME...]",
              "Tries what tasks promise: their oracle is always right, cheap shortcuts stay at "
              "chance, the chance level is\n"
              "true, the optimum is the entropy of the law, examples follow from their index "
              "alone, training and test share\n"
              "none. Names may carry options.");
  a.flags()("length", po::value<int>()->default_value(64), "tokens of the examples");
  a.positional("action");
  a.positional("name", -1);
  if (!a.parse(words)) return 0;
  a.require("action", "'check'");
  if (a.text("action") != "check")
    fail(Exit::usage, "there is no 'task {}'; known is 'task check'", a.text("action"));
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  std::vector<std::string> names = a.texts("name");
  const bool all = names.empty();
  if (all) names = catalog.task_names();
  int failed = 0;
  for (const std::string& n : names) {
    try {
      failed += check_one(catalog, n, a.count("length", 1));
    } catch (const Error& e) {
      if (!all) throw;
      fmt::print("{}\n  skipped: {}\n", n, e.what());  // e.g. a corpus that needs the user's text
    }
  }
  if (failed > 0) fmt::print("\n{} check{} failed\n", failed, failed == 1 ? "" : "s");
  return failed > 0 ? static_cast<int>(Exit::plugin) : 0;
}

}  // namespace pesuite::cli
