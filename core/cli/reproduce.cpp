// reproduce: computes a run again and compares.
#include "run/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/find_run.h"

namespace pesuite::cli {

namespace {

Json to_json(const fs::path& run, const Reproduction& r) {
  Json different = Json::array();
  for (const OtherNumber& d : r.different)
    different.push_back({{"cell", d.cell},
                         {"what", d.what},
                         {"before", d.before},
                         {"now", d.now},
                         {"promised", d.promised}});
  return {{"schema", "pesuite.reproduction/1"},
          {"run", run.string()},
          {"same", r.different.empty()},
          {"cells", r.cells},
          {"digest", r.digest_before},
          {"digest_now", r.digest_now},
          {"different", different},
          {"notes", r.notes},
          {"folder", r.again.folder.string()}};
}

bool is_broken(const Reproduction& r) {
  return std::any_of(r.different.begin(), r.different.end(),
                     [](const OtherNumber& d) { return d.promised; });
}
int exit_code(const Reproduction& r) {
  return static_cast<int>(is_broken(r) ? Exit::determinism : Exit::done);
}

int print_result(const Reproduction& r) {
  for (const OtherNumber& d : r.different) fmt::print("{}\n", d.sentence());
  if (r.different.empty()) {
    fmt::print("reproduced: all numbers of {} are the same, {}\n", counted(r.cells, "cell"),
               r.digest_now);
    return 0;
  }
  fmt::print(
      "{}: {} of {} came out otherwise, the first number of each stands above; {} before, "
      "{} now; the second run lies in {}\n",
      is_broken(r) ? "not reproduced" : "not bit by bit, as level 'data' does not promise it",
      r.different.size(), counted(r.cells, "cell"), r.digest_before, r.digest_now,
      r.again.folder.string());
  return exit_code(r);
}

// The folder of a reproduction; emptied, but for one that was interrupted and goes on.
fs::path begin_in(const fs::path& out, const fs::path& run, bool resume) {
  const fs::path name = fs::weakly_canonical(run).filename();
  const fs::path folder = out / "reproduced" / name;
  if (!resume) fs::remove_all(folder);
  return folder;
}

int stop_code(const Reproduction& r, const std::string& run) {
  fmt::print(stderr, "stopped; 'pesuite reproduce {} --resume' goes on\n", run);
  return exit_code_of(r.again.stopped_by);
}

Arguments arguments_of_reproduce() {
  Arguments a(
      "reproduce RUN [flags]",
      "Plans the cells of a run exactly as its folder says, computes them again below "
      "OUT/reproduced, and\ncompares all numbers bit by bit. Exit code 0 where they are the same, "
      "8 where they are not: then\nthe first number of each cell that differs is printed. A plan "
      "that this program would make\notherwise is refused (5), with what differs. What is equal is "
      "removed again.");
  a.flags()("out", po::value<std::string>()->default_value("results"), "folder of the results")(
      "jobs,j", po::value<int>()->default_value(0), "cells at a time; 0: one a core")(
      "resume", po::bool_switch(), "go on with a reproduction that was stopped")(
      "json", po::bool_switch(), "the comparison as JSON on stdout")(
      "progress", po::value<std::string>()->default_value("auto"),
      join(progress_modes, ", ").c_str());
  a.choices("progress", progress_modes);
  a.positional("run");
  return a;
}

}  // namespace

int reproduce_verb(const std::vector<std::string>& words) {
  Arguments a = arguments_of_reproduce();
  if (!a.parse(words)) return 0;
  a.require("run", "the run");
  const fs::path run = find_run(a.text("run"), a.text("out"));
  RunOptions options;
  options.out = begin_in(a.text("out"), run, a.flag("resume"));
  options.jobs = a.count("jobs"), options.plugin_path = a.plugin_path();
  options.progress = parse_progress(a.text("progress"));
  options.command = {"pesuite", "reproduce", a.text("run")};
  const Reproduction r = reproduce(run, options);
  for (const std::string& n : r.notes) fmt::print(stderr, "note: {}\n", n);
  if (r.again.stopped_by != 0 || r.again.left > 0) return stop_code(r, a.text("run"));
  std::error_code ignored;
  if (r.different.empty()) fs::remove_all(options.out, ignored);
  if (!a.flag("json")) return print_result(r);
  fmt::print("{}\n", to_json(run, r).dump(1));
  return exit_code(r);
}

}  // namespace pesuite::cli
