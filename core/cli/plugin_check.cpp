// plugin check: the conformance test of plugin libraries.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "check/plugin_check.h"
#include "cli/arguments.h"
#include "cli/plugin.h"
#include "run/progress.h"

namespace pesuite::cli {

namespace {

checks::Settings settings_of(const Arguments& a) {
  checks::Settings s;
  s.strictness = a.count("strictness", 1);
  if (s.strictness > 10) fail(Exit::usage, "--strictness {}: goes from 1 to 10", s.strictness);
  s.encodings = a.texts("encoding");
  s.tasks = a.texts("task");
  s.checks = a.texts("check");
  s.time_limit = a.get<double>("time-limit");
  s.tolerance = a.get<double>("tolerance");
  s.duration = a.get<double>("duration", 0);
  if (s.time_limit <= 0 || s.tolerance <= 0 || s.duration < 0)
    fail(Exit::usage, "--time-limit, --tolerance and --duration want positive numbers");
  s.seed = a.get<std::uint64_t>("seed");
  if (a.has("reproduce")) s.reproduce = a.get<std::uint64_t>("reproduce");
  // fuzzing for longer than a check may take is what was asked for
  s.time_limit = std::max(s.time_limit, 1.5 * s.duration);
  return s;
}

void print_finding(const checks::Finding& f, std::string& subject, bool color) {
  if (f.subject != subject) fmt::print("\n{}\n", subject = f.subject);
  const bool bad = checks::is_bad(f.outcome);
  const std::string_view mark = !color                                  ? ""
                                : bad                                   ? "\x1b[1;31m"
                                : f.outcome == checks::Outcome::skipped ? "\x1b[2m"
                                                                        : "\x1b[32m";
  std::string name(checks::outcome_name(f.outcome));
  if (bad)
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  fmt::print("  {}{:<10}{}{:<16} {}\n", mark, name, color ? "\x1b[0m" : "", f.check, f.detail);
  std::fflush(stdout);
}

// A name that nothing has would prove nothing and pass. Error (usage) with the first such.
void refuse_unknown(const checks::Settings& s, const std::vector<checks::Report>& reports) {
  const auto some = [](const std::vector<std::string>& names, const std::string& pattern) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& n) { return glob_match(pattern, n); });
  };
  std::vector<std::string> encodings, tasks, tried;
  for (const checks::Report& r : reports) {
    encodings.insert(encodings.end(), r.encodings.begin(), r.encodings.end());
    tasks.insert(tasks.end(), r.tasks.begin(), r.tasks.end());
    for (const checks::Finding& f : r.findings) tried.push_back(f.check);
  }
  const auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? "none" : join(names, ", ");
  };
  for (const std::string& e : s.encodings)
    if (!some(encodings, e.substr(0, e.find('('))))
      fail(Exit::usage, "--encoding {}: there is none of that name; there are: {}", e,
           listed(encodings));
  for (const std::string& t : s.tasks)
    if (!some(tasks, t))
      fail(Exit::usage, "--task {}: there is none of that name; there are: {}", t, listed(tasks));
  for (const std::string& c : s.checks)
    if (!some(tried, c))
      fail(Exit::usage,
           "--check {}: nothing of that name was tried; 'pesuite plugin check --list' shows all, "
           "with the strictness that each begins at",
           c);
}

void add_check_flags(Arguments& a) {
  a.flags()("strictness", po::value<int>()->default_value(5),
            "1 to 10; from 6 on also every other value of each choice, from 7 on some numbers of "
            "each option, from 8 on more fuzzing")(
      "encoding", po::value<std::vector<std::string>>()->composing(),
      "only encodings of this name or pattern; may carry options")(
      "task", po::value<std::vector<std::string>>()->composing(),
      "only tasks of this name or pattern")("check",
                                            po::value<std::vector<std::string>>()->composing(),
                                            "only checks of this name or pattern")(
      "only-failed", po::bool_switch(), "print nothing of what passed or was skipped")(
      "json", po::bool_switch(), "findings as JSON on stdout")(
      "junit", po::value<std::string>(), "findings as JUnit XML into this file, for CI servers")(
      "time-limit", real_value(30),
      "seconds of computing for one check; five times that by the clock")(
      "tolerance", real_value(1), "factor of every numerical tolerance")(
      "seed", po::value<std::uint64_t>()->default_value(1), "of fuzzing")(
      "duration", po::value<double>(), "seconds of fuzzing for each encoding")(
      "reproduce", po::value<std::uint64_t>(),
      "run the one round of fuzzing that a finding named, and nothing else")(
      "list", po::bool_switch(), "list the checks");
}

}  // namespace

int plugin_check(const std::vector<std::string>& words) {
  Arguments a("plugin check LIBRARY... [flags]",
              "Proves what plugin libraries promise: each check runs in a process of its own, with "
              "a time limit, and\npasses, fails, crashes, times out, or is skipped for a reason. "
              "Exit code 4 when anything is wrong.\n--list shows all checks.");
  add_check_flags(a);
  a.positional("library", -1);
  if (!a.parse(words)) return 0;
  if (a.flag("list")) {
    fmt::print("{}", plain_table(checks::list_of_checks()));
    return 0;
  }
  a.require("library", "a plugin file (X.plugin.so)");

  checks::Settings settings = settings_of(a);
  const bool json = a.flag("json"), only_failed = a.flag("only-failed"), color = use_color(stdout);
  std::string subject;
  if (!json)
    settings.progress = [&](const checks::Finding& f) {
      if (!only_failed || checks::is_bad(f.outcome)) print_finding(f, subject, color);
    };
  std::vector<checks::Report> reports;
  for (const std::string& file : a.texts("library")) {
    if (!json) fmt::print("{}{}\n", reports.empty() ? "" : "\n", file);
    std::fflush(stdout);
    subject.clear();
    reports.push_back(checks::check_library(file, settings));
    if (reports.back().findings.empty() && !json)
      fmt::print("  nothing in it is asked for by --encoding, --task or --check\n");
  }
  if (a.has("junit")) write_file_atomic(a.text("junit"), checks::junit(reports));
  if (json)
    fmt::print("{}\n",
               checks::to_json(reports).dump(1, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("\n{}\n", checks::summary(reports));
  const bool sound = std::all_of(reports.begin(), reports.end(),
                                 [](const checks::Report& r) { return r.sound(); });
  if (!sound) return static_cast<int>(Exit::plugin);
  refuse_unknown(settings, reports);
  return 0;
}

}  // namespace pesuite::cli
