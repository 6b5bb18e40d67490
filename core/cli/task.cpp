// task check: the self-test that every task must pass.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/isolate.h"
#include "base/json.h"
#include "base/text.h"
#include "check/task_check.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/steps.h"

namespace pesuite::cli {

namespace {

Task make(const Catalog& catalog, const std::string& text, int length) {
  return {catalog, parse_expression(text, "task"), length, length * 3 / 2};
}

CheckOptions check_options(int length) {
  CheckOptions options;
  options.lengths = {length, length * 3 / 2};
  return options;
}

// Of a task, which is made and asked in a process of its own: it may crash.
std::vector<Finding> findings_of(const Catalog& catalog, const std::string& text, int length,
                                 const CheckOptions& options) {
  constexpr double patience = 3600;  // seconds
  const Isolated asked = run_isolated(
      [&] {
        const Steps steps("checking " + text);
        Json out = Json::array();
        for (const Finding& f : check_task(make(catalog, text, length), options))
          out.push_back({f.check, f.passed, f.detail, f.skipped});
        return out.dump(-1, ' ', false, Json::error_handler_t::replace);
      },
      patience);
  if (asked.end == Isolated::End::threw) throw Error(static_cast<Exit>(asked.code), asked.text);
  if (asked.end != Isolated::End::returned)
    fail(Exit::plugin, "task '{}' {} while it was checked; its library is at fault", text,
         asked.text);
  std::vector<Finding> findings;
  for (const Json& f : Json::parse(asked.text)) findings.push_back({f[0], f[1], f[2], f[3]});
  return findings;
}

int failures(const std::vector<Finding>& findings) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return !f.passed; }));
}

void print_finding(const Finding& f) {
  fmt::print("  {:<8}{:<22}{}\n",
             f.skipped  ? "skipped"
             : f.passed ? "passed"
                        : "FAILED",
             f.check, f.detail);
}

int check_one(const Catalog& catalog, const std::string& text, int length) {
  (void)catalog.task(parse_expression(text, "task").name);  // Error where there is none
  fmt::print("{}\n", text);
  std::fflush(stdout);
  const std::vector<Finding> findings = findings_of(catalog, text, length, check_options(length));
  for (const Finding& f : findings) print_finding(f);
  std::fflush(stdout);
  return failures(findings);
}

// A line, and what fails; of fewer examples.
int check_variant(const Catalog& catalog, const std::string& text, int length) {
  CheckOptions options = check_options(length);
  options.examples = 4096;
  const std::vector<Finding> findings = findings_of(catalog, text, length, options);
  const int failed = failures(findings);
  const auto skipped =
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.skipped; });
  fmt::print("{}  {} passed, {} skipped, {} failed\n", text,
             std::ssize(findings) - skipped - failed, skipped, failed);
  for (const Finding& f : findings)
    if (!f.passed) print_finding(f);
  std::fflush(stdout);
  return failed;
}

// The task with each of its options that is a choice or a flag at each value but the default, the
// others at theirs.
std::vector<std::string> variants(const pes_card& card) {
  std::vector<std::string> out;
  for (const pes_option* const* o = card.options; o != nullptr && *o != nullptr; ++o) {
    const pes_option& option = **o;
    std::vector<std::string> values;
    if (option.type == PES_CHOICE) values = split(option.choices, '|');
    if (option.type == PES_BOOL) values = {"true", "false"};
    for (const std::string& v : values)
      if (v != option.value) out.push_back(fmt::format("{}({}={})", card.name, option.name, v));
  }
  return out;
}

int check_all(const Catalog& catalog, int length) {
  int failed = 0;
  const auto attempt = [&](const std::string& text, auto check) {
    try {
      failed += check(catalog, text, length);
      return true;
    } catch (const Error& e) {  // e.g. a corpus that needs the user's text
      const bool crashed = e.code() == Exit::plugin;
      fmt::print("{}\n  {}: {}\n", text, crashed ? "FAILED" : "skipped", e.what());
      failed += crashed;
      return false;
    }
  };
  const std::vector<std::string> names = catalog.task_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    fmt::print(stderr, "task {} of {}: {}\n", i + 1, names.size(), names[i]);
    if (!attempt(names[i], check_one)) continue;
    for (const std::string& v : variants(make(catalog, names[i], length).card()))
      attempt(v, check_variant);
  }
  return failed;
}

}  // namespace

int task_verb(const std::vector<std::string>& words) {
  Arguments a("task check [TASK...]",
              "Tries what tasks promise: their oracle is always right, cheap shortcuts stay at "
              "chance, the chance level is\n"
              "true, the optimum is the entropy of the law, examples follow from their index "
              "alone, training and test share\n"
              "none. Names may carry options.\n"
              "Without names: all tasks, with each value of their choices and flags.");
  a.flags()("length", po::value<int>()->default_value(64), "tokens of the examples");
  a.positional("action");
  a.positional("task", -1);
  if (!a.parse(words)) return 0;
  a.require("action", "'check'");
  if (a.text("action") != "check")
    fail(Exit::usage, "there is no 'task {}'; known is 'task check'", a.text("action"));
  const Catalog catalog = catalog_of(a);
  const int length = a.count("length", 1);
  int failed = a.has("task") ? 0 : check_all(catalog, length);
  for (const std::string& n : a.texts("task")) failed += check_one(catalog, n, length);
  if (failed > 0) fmt::print("\n{} check{} failed\n", failed, failed == 1 ? "" : "s");
  return failed > 0 ? static_cast<int>(Exit::plugin) : 0;
}

}  // namespace pesuite::cli
